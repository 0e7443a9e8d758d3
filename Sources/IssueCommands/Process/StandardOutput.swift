import UnixIO

/// The two streams on which a process answers.
final class StandardOutput: CommandOutput {
    /// Whether something was lost on the way to somebody who wanted it.
    private(set) var hasFailed = false

    func write(_ bytes: [UInt8]) -> Bool {
        do throws(Errno) {
            try StandardStream.output.writeAll(bytes)
            return true
        } catch {
            // A reader who has gone is no fault; a full disk is one, and must not look like success.
            if error != .brokenPipe, !hasFailed {
                hasFailed = true
                writeError(Array("issuectl: can't write to standard output: \(error)\n".utf8))
            }
            return false
        }
    }

    func writeError(_ bytes: [UInt8]) {
        // There is nowhere left to complain to.
        try? StandardStream.error.writeAll(bytes)
    }
}
