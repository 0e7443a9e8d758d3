/// Why the daemon ends before it serves anybody, and with which exit code.
struct DaemonFailure: Error {
    var code: ExitCode
    var sentence: String
}
