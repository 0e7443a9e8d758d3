import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// Completes an unfinished command line in a shell.
///
/// The scripts in `completions` run `issuectl __complete WORD...`, where the last word is the one to complete.
/// Commands, options and keywords come from the specifications of the commands, so that they are always up to date.
/// Names, such as those of groups, applications and destinations, come from the running daemon.
struct Completion {
    /// The name of the command that prints the candidates. The help does not list it.
    static let command = "__complete"

    /// The timeout for a reply of the daemon. It is short, because a user waits at the prompt.
    private static let timeout: Duration = .seconds(2)

    /// A word that can replace the unfinished word.
    struct Candidate: Equatable {
        var word: String
        var description: String

        /// The special candidate that makes the shell complete file names.
        static let files = Candidate(word: "", description: "files")

        /// The line that the scripts read. Descriptions can contain text from other users, so they are sanitized.
        var line: String { "\(word)\t\(TerminalSanitizer.line(description))\n" }
    }

    /// What the unfinished word is.
    private enum Position {
        case command
        case option([OptionSpecification])
        /// An operand or the value of an option. `prefix` is the part of the word before the value, such as `--app=`.
        case value(ValueSource, prefix: String)
    }

    /// The value of `--socket`; nil if it was not given.
    private(set) var socket: String?
    private let commands: [CommandSpecification]
    private let position: Position
    private let word: String

    /// Creates the completion of a command line.
    ///
    /// - Parameters:
    ///   - words: The words up to the cursor, without the program's name. The last one is unfinished and may be empty.
    ///   - commands: The commands of the program.
    init(_ words: ArraySlice<String>, commands: [CommandSpecification]) {
        let word = words.last ?? ""
        var line = FinishedWords(commands: commands)
        for finished in words.dropLast() { line.read(finished) }
        self.commands = commands
        self.word = word
        socket = line.socket
        position = line.position(of: word)
    }

    /// Returns the candidates for the unfinished word. Names that only the daemon knows are left out if it does not
    /// reply.
    ///
    /// - Parameter connect: Connects to the daemon.
    func candidates(_ connect: () throws(CollectorConnectionError) -> any BrowserLink) -> [Candidate] {
        switch position {
        case .command:
            let help = Candidate(word: "help", description: "Show the help of a command")
            return matching(commands.map { Candidate(word: $0.name, description: $0.summary) } + [help])
        case .option(let options):
            if word.count == 2, let option = options.first(where: { $0.short.map { "-\($0)" } == word }) {
                return [Candidate(word: word, description: option.summary)]
            }
            return matching(options.map { Candidate(word: $0.spelling, description: $0.summary) })
        case .value(.files, _):
            return [.files]
        case .value(let source, let prefix):
            // Other users choose names. As a separate word, a name such as "--socket=/tmp/x" would be read as an
            // option, so it is left out.
            let values = ((try? Self.values(of: source, connect)) ?? [])
                .filter { !prefix.isEmpty || !$0.word.hasPrefix("-") }
            return matching(values.map { Candidate(word: prefix + $0.word, description: $0.description) })
        }
    }

    /// Returns the candidates that begin with the unfinished word. Leaves out names with characters that a terminal
    /// could interpret.
    private func matching(_ candidates: [Candidate]) -> [Candidate] {
        candidates.filter { $0.word.hasPrefix(word) && TerminalSanitizer.line($0.word) == $0.word }
    }

    private static func values(
        of source: ValueSource, _ connect: () throws(CollectorConnectionError) -> any BrowserLink
    ) throws(CollectorConnectionError) -> [Candidate] {
        switch source {
        case .text, .files:
            return []
        case .words(let words):
            return words.map { Candidate(word: $0, description: "") }
        case .groups:
            return try groups(connect()).map { Candidate(word: $0.id, description: $0.title) }
        case .explainable:
            let entries = ExplainedEntry.all.map { Candidate(word: $0.name, description: $0.message ?? "") }
            return entries + ((try? values(of: .groups, connect)) ?? [])
        case .applications:
            var known: Set<String> = []
            return try groups(connect()).compactMap(\.app).filter { !$0.isEmpty && known.insert($0).inserted }
                .map { Candidate(word: $0, description: "") }
        case .destinations:
            let status: DaemonStatus = try ask(.status, Array("{}".utf8), connect())
            return status.destinations.map { Candidate(word: $0.name, description: $0.state.rawValue) }
        case .notifiers:
            let status: DaemonStatus = try ask(.status, Array("{}".utf8), connect())
            return status.notifiers.map { Candidate(word: $0.name, description: $0.state.rawValue) }
        case .silences:
            let reply: SilencesReply = try ask(.listSilences, Array("{}".utf8), connect())
            return reply.silences.map { Candidate(word: $0.id, description: $0.reason) }
        case .corrections:
            let reply: CorrectionsReply = try ask(.corrections, CorrectionsParameters().json, connect())
            return reply.corrections.map { Candidate(word: "\($0.id)", description: CorrectionText.change($0)) }
        case .damagedDatabases:
            let reply: RepairReply = try ask(.repair, RepairParameters(isDryRun: true).json, connect())
            return reply.files.map { Candidate(word: $0, description: "") }
        case .deadLetters:
            let reply: DeadLettersReply = try ask(.deadLetters, DeadLettersParameters(limit: 100).json, connect())
            return reply.deadLetters.map { Candidate(word: $0.record, description: "\($0.destination): \($0.reason)") }
        }
    }

    /// Returns the most recently active groups.
    private static func groups(_ link: any BrowserLink) throws(CollectorConnectionError) -> [IssueGroup] {
        let reply: ListReply = try ask(.list, ListParameters(order: .newest, limit: 500).json, link)
        return reply.groups
    }

    private static func ask<Reply: JSONCodable>(
        _ method: CollectorMethod, _ parameters: [UInt8], _ link: any BrowserLink
    ) throws(CollectorConnectionError) -> Reply {
        try BrowserReply(try link.call(method, parameters: parameters, timeout: timeout)).value
    }

    /// Parses the finished words of a command line. Unlike `ArgumentParser`, ignores errors.
    private struct FinishedWords {
        let commands: [CommandSpecification]
        var socket: String?
        private var command: CommandSpecification?
        /// The option whose value is the next word.
        private var pending: OptionSpecification?
        private var operands: [String] = []
        /// Whether options are still accepted. `--` after the command ends them.
        private var hasOptions = true
        /// Whether the command is unknown.
        private var isUnknown = false
        /// Whether the command is `help`.
        private var isHelp = false

        init(commands: [CommandSpecification]) {
            self.commands = commands
        }

        private var options: [OptionSpecification] {
            command.map { CommonOptions.all(of: $0) } ?? CommonOptions.leading
        }

        mutating func read(_ word: String) {
            if let option = pending {
                pending = nil
                if option == CommonOptions.socket { socket = word }
            } else if hasOptions, word == "--" {
                // Before the command, `--` ends only the common options.
                hasOptions = command == nil
            } else if hasOptions, word.hasPrefix("-"), word != "-" {
                read(option: word)
            } else if command != nil || isUnknown || isHelp {
                operands.append(word)
            } else {
                command = commands.first { $0.name == word }
                isHelp = word == "help"
                isUnknown = command == nil && !isHelp
            }
        }

        private mutating func read(option word: String) {
            if word.hasPrefix("--") {
                let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let option = options.first { $0.spelling == parts[0] }
                if parts.count == 1 {
                    pending = option?.placeholder == nil ? nil : option
                } else if option == CommonOptions.socket {
                    socket = String(parts[1])
                }
                return
            }
            for (index, letter) in word.enumerated().dropFirst() {
                guard let option = options.first(where: { $0.short == letter }), option.placeholder != nil else {
                    continue
                }
                // The value is the rest of the word or, if nothing follows the letter, the next word.
                if index == word.count - 1 { pending = option }
                return
            }
        }

        func position(of word: String) -> Position {
            if let pending { return .value(pending.source, prefix: "") }
            if hasOptions, word.hasPrefix("-"), !isUnknown, !isHelp {
                guard let equals = word.firstIndex(of: "=") else { return .option(options) }
                let option = options.first { $0.spelling == word[..<equals] }
                return .value(option?.source ?? .text, prefix: String(word[...equals]))
            }
            if isHelp { return .value(operands.isEmpty ? .words(commands.map(\.name)) : .text, prefix: "") }
            if isUnknown { return .value(.text, prefix: "") }
            guard let command else { return .command }
            return .value(source(of: command), prefix: "")
        }

        /// Returns the source of the candidates for the next operand.
        private func source(of command: CommandSpecification) -> ValueSource {
            // An action has at most two words.
            for count in stride(from: min(operands.count, 2), to: 0, by: -1) {
                let action = operands.prefix(count).joined(separator: " ")
                if let source = command.sourcesByAction[action] { return source }
            }
            let sources = command.operandSources
            switch command.operands {
            case .several, .any: return sources.dropFirst(operands.count).first ?? sources.last ?? .text
            default: return operands.count < sources.count ? sources[operands.count] : .text
            }
        }
    }
}
