/// How the daemon ends, by the numbers of sysexits.h.
package enum ExitCode: Int32, Hashable, Sendable {
    case ok = 0
    /// The command line is wrong.
    case usage = 64
    /// No socket can be had.
    case unavailable = 69
    /// The state directory cannot be written to.
    case cannotCreate = 73
    /// `--check` or `--print-config` found errors. The daemon itself starts in spite of them.
    case configuration = 78
}
