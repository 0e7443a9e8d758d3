import UnixIO

/// The properties of the terminal.
package struct TerminalInfo: Equatable, Sendable {
    /// Whether standard output is a terminal.
    package var isTerminal: Bool
    /// The width of the terminal; nil if it is unknown.
    package var columns: Int?
    /// The height of the terminal; nil if it is unknown.
    package var rows: Int?
    /// Whether standard input is a terminal.
    package var isInputTerminal = false

    /// Whether a user types the input and sees the output.
    var isInteractive: Bool { isTerminal && isInputTerminal }

    /// Returns the maximum width of tables: `COLUMNS` if it is a positive number, otherwise the width of the terminal,
    /// or 80 if that is unknown. Returns nil if `COLUMNS` is not a positive number and the output is not a terminal.
    func tableWidth(_ environment: (String) -> String?) -> Int? {
        if let width = environment("COLUMNS").flatMap({ Int($0) }), width > 0 { return width }
        guard isTerminal else { return nil }
        return columns ?? 80
    }

    /// Returns the number of table rows that fit on a screen together with the heading, a note and the prompt, at
    /// least 5. Returns 50 if the output is not a terminal, or if the height is unknown or not positive. `LINES`
    /// overrides the height.
    func tableRows(_ environment: (String) -> String?) -> Int {
        let variable = environment("LINES").flatMap { Int($0) }
        guard isTerminal, let rows = variable ?? rows, rows > 0 else { return 50 }
        return max(5, rows - 3)
    }
}

/// When to use colours.
package enum ColorChoice: String, CaseIterable, Sendable {
    case auto
    case always
    case never

    /// Returns `true` if colours should be used. `auto` means on a terminal, unless `NO_COLOR` (no-color.org) is not
    /// empty or `TERM` is `dumb`.
    func applies(to terminal: TerminalInfo, _ environment: (String) -> String?) -> Bool {
        switch self {
        case .always: return true
        case .never: return false
        case .auto:
            let isUnwanted = environment("NO_COLOR").map { !$0.isEmpty } ?? false
            return terminal.isTerminal && !isUnwanted && environment("TERM") != "dumb"
        }
    }
}

/// The input of a command. Tests pass text in pieces.
package protocol CommandInput: AnyObject {
    /// Waits for input and returns the bytes that have arrived; nil at the end or after an error.
    func read() -> [UInt8]?
}

/// The output of a command. Tests collect it.
package protocol CommandOutput: AnyObject {
    /// Writes to standard output. Returns `false` if that fails, for example because the reader has closed it.
    func write(_ bytes: [UInt8]) -> Bool

    /// Writes to standard error. Errors are ignored.
    func writeError(_ bytes: [UInt8])
}

/// The standard input of the process.
final class StandardInput: CommandInput {
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

    func read() -> [UInt8]? {
        // A closed stream is treated as empty.
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

/// The standard output and error of the process.
final class StandardOutput: CommandOutput {
    /// Whether a write failed for a reason other than a pipe closed by its reader.
    private(set) var hasFailed = false

    func write(_ bytes: [UInt8]) -> Bool {
        do throws(Errno) {
            try StandardStream.output.writeAll(bytes)
            return true
        } catch {
            // It is not an error if the reader has closed the pipe. The first other error, such as a full disk, is
            // reported.
            if error != .brokenPipe, !hasFailed {
                hasFailed = true
                writeError(Array("issuectl: cannot write to standard output: \(error)\n".utf8))
            }
            return false
        }
    }

    func writeError(_ bytes: [UInt8]) {
        // An error cannot be reported anywhere.
        try? StandardStream.error.writeAll(bytes)
    }
}
