import UnixIO

/// Where a command reads from; tests give it a text in pieces.
package protocol CommandInput: AnyObject {
    /// The bytes that have come since the last call, waiting for the first of them; nothing at the end.
    func read() -> [UInt8]?
}

/// Where a command writes; tests collect what comes.
package protocol CommandOutput: AnyObject {
    /// Writes to standard output and says whether somebody still reads it.
    func write(_ bytes: [UInt8]) -> Bool

    /// Writes to standard error, as far as that is possible.
    func writeError(_ bytes: [UInt8])
}

/// What is piped into the process.
final class StandardInput: CommandInput {
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

    func read() -> [UInt8]? {
        // A stream that can't be read is an empty one: the shell has said why.
        guard let stream = try? StandardStream.input.duplicate() else { return nil }
        while true {
            do throws(Errno) {
                let count = try stream.read(into: &buffer)
                return count > 0 ? Array(buffer[..<count]) : nil
            } catch .wouldBlock {
                guard (try? Readiness.wait(stream, for: .read)) != nil else { return nil }
            } catch {
                return nil
            }
        }
    }
}

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
