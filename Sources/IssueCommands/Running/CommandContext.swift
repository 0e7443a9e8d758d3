import IssueBrowsing
import IssueProtocol
import Issues

/// What a command works with: all that is neither its arguments nor its own decision.
struct CommandContext {
    var environment: (String) -> String?
    var now: Timestamp
    var terminal: TerminalFacts
    var format: OutputFormat
    var painter: Painter
    var input: any CommandInput
    var output: any CommandOutput
    var files: FileSaving
    var reporting: ReportSurroundings
    var connect: () throws(CollectorConnectionError) -> any BrowserLink
    /// Whether a daemon has answered.
    var hasConnected: Flag

    final class Flag {
        var value = false
    }

    /// The width that tables fit into, or nothing where they may be as wide as they like.
    var width: Int? { terminal.tableWidth(environment) }

    /// A connection to the daemon.
    ///
    /// - Parameter notFound: What is said where there is not what was asked for.
    func collector(notFound: String? = nil) throws(CommandFailure) -> Collector {
        do throws(CollectorConnectionError) {
            return Collector(link: try connect()) { failure in
                if case .refused(.notFound) = failure, let notFound { return CommandFailure(.refused, notFound) }
                return CommandFailure(failure)
            }
        } catch {
            throw CommandFailure(error)
        }
    }

    func print(_ lines: [String]) throws(CommandFailure) {
        guard !lines.isEmpty else { return }
        try print(bytes: Array((lines.joined(separator: "\n") + "\n").utf8))
    }

    func print(_ line: String) throws(CommandFailure) {
        try print([line])
    }

    /// Prints one JSON text on a line of its own.
    func print(json: [UInt8]) throws(CommandFailure) {
        try print(bytes: TerminalSafeJSON.escape(json) + [UInt8(ascii: "\n")])
    }

    private func print(bytes: [UInt8]) throws(CommandFailure) {
        guard output.write(bytes) else { throw .nobodyReads }
    }

    /// Asks a person on the terminal whether to go on.
    func confirm(_ question: String) throws(CommandFailure) -> Bool {
        try print(bytes: Array("\(HarmlessText.line(question)) [y/N] ".utf8))
        var answer: [UInt8] = []
        while !answer.contains(UInt8(ascii: "\n")), let more = input.read() { answer += more }
        let word = String(decoding: answer, as: UTF8.self).lowercased().prefix { $0 != "\n" && $0 != "\r" }
        return word == "y" || word == "yes"
    }

    /// Says on the terminal how far something is; the next such line takes the place of this one, an empty one ends it.
    func tellProgress(_ text: String) {
        guard terminal.isTerminal, format == .human else { return }
        output.writeError(Array("\r\u{1B}[K\(HarmlessText.line(text))".utf8))
    }

    /// Says something on standard error, on one line.
    func warn(_ message: String) {
        output.writeError(Array("issuectl: \(HarmlessText.line(message))\n".utf8))
    }
}
