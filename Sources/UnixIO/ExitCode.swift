/// The exit codes of the programs, with the numbers of sysexits.h where there is one.
package enum ExitCode: Int32, Hashable, Sendable {
    case success = 0
    /// Not found, or refused.
    case refused = 1
    /// The daemon fails or is not reachable. Only `issuectl health` exits with it.
    case failing = 2
    /// The command line is invalid.
    case usage = 64
    /// The daemon is not reachable, or cannot serve its socket.
    case unavailable = 69
    /// The state directory cannot be created or written to.
    case cannotCreate = 73
    /// A temporary failure.
    case tryAgain = 75
    /// The configuration has errors. Only `--check` and `--print-config` exit with it.
    case configuration = 78
}

/// An error in a command line.
package struct UsageError: Error, Hashable, Sendable {
    package var message: String

    package init(_ message: String) {
        self.message = message
    }
}
