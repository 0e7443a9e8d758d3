import UnixIO

/// The description of a command for the parser and the help.
struct CommandSpecification: Sendable {
    var name: String
    /// The description in the list of commands, without a full stop.
    var summary: String
    var operands = OperandRule.none
    /// Whether an operand may be empty, because it is part of a message.
    var acceptsEmptyOperands = false
    /// The shell completions of the operands, in order. If a command takes any number of operands, the last element
    /// applies to all further ones.
    var operandSources: [ValueSource] = []
    /// The shell completions of the operands after an action such as `rule remove`. They replace `operandSources`.
    var sourcesByAction: [String: ValueSource] = [:]
    /// The options by heading, in the order of the help.
    var sections: [(title: String, options: [OptionSpecification])] = []
    /// Whether the command has the option `--timeout`.
    var hasTimeout = true
    /// Paragraphs after the options.
    var notes: [String] = []
    var examples: [String] = []

    /// Returns the note for commands or actions that, like `CommandContext.forEach`, continue with the next argument if
    /// they can't process one.
    static func severalNote(_ actions: String) -> String {
        "If \(actions) can't process one of several arguments, such as an id that does not exist, the others are still "
            + "processed, and the exit status is 1."
    }

    var options: [OptionSpecification] { sections.flatMap(\.options) }
}

/// An option of the command line.
package struct OptionSpecification: Hashable, Sendable {
    /// The long form without dashes.
    package var name: String
    /// The letter of the short form; nil if there is none.
    package var short: Character?
    /// The placeholder of its value in the help; nil for an option without a value.
    package var placeholder: String?
    /// The shell completions of its value.
    package var source: ValueSource
    package var summary: String

    package init(
        _ name: String, short: Character? = nil, value placeholder: String? = nil, from source: ValueSource = .text,
        _ summary: String
    ) {
        self.name = name
        self.short = short
        self.placeholder = placeholder
        self.source = source
        self.summary = summary
    }

    /// The long form, as in help and messages.
    var spelling: String { "--\(name)" }
}

/// The shell completions of a value.
package enum ValueSource: Hashable, Sendable {
    /// Free text, such as a time or a number, which cannot be completed.
    case text
    case words([String])
    case files
    /// Names and ids that the daemon knows.
    case applications, groups, destinations, deadLetters, notifiers, silences, corrections
    /// Databases that were moved aside.
    case damagedDatabases
    /// Groups, and the messages and errors of the daemon.
    case explainable
}

/// The operands that a command accepts.
enum OperandRule: Equatable, Sendable {
    case none
    case optional(String)
    case one(String)
    case two(String, String)
    /// At least one.
    case several(String)
    case any(String)

    /// The form in the usage line.
    var usage: String {
        switch self {
        case .none: ""
        case .optional(let name): " [\(name)]"
        case .one(let name): " \(name)"
        case .two(let first, let second): " \(first) \(second)"
        case .several(let name): " \(name)..."
        case .any(let name): " [\(name)...]"
        }
    }

    /// Throws if there are too many or too few operands or, unless `acceptsEmpty` is `true`, if one of them is empty.
    func check(_ operands: [String], acceptsEmpty: Bool) throws(UsageError) {
        let (required, limit): ([String], Int) =
            switch self {
            case .none: ([], 0)
            case .optional: ([], 1)
            case .one(let name): ([name], 1)
            case .two(let first, let second): ([first, second], 2)
            case .several(let name): ([name], .max)
            case .any: ([], .max)
            }
        if operands.count > limit { throw UsageError("unexpected argument '\(operands[limit])'") }
        if operands.count < required.count { throw UsageError("missing argument \(required[operands.count])") }
        if !acceptsEmpty, let index = operands.firstIndex(of: "") {
            throw UsageError(name(at: index).map { "the argument \($0) is empty" } ?? "an argument is empty")
        }
    }

    /// Returns the name of the operand at an index; nil for `none` and `any`.
    private func name(at index: Int) -> String? {
        switch self {
        case .none, .any: nil
        case .optional(let name), .one(let name), .several(let name): name
        case .two(let first, let second): index == 0 ? first : second
        }
    }
}

/// The options that most commands have in common.
enum CommonOptions {
    static let socket = OptionSpecification(
        "socket", value: "PATH", from: .files, "The daemon's socket (default: ISSUED_SOCKET or a standard location)"
    )
    static let json = OptionSpecification("json", "Print one JSON document")
    static let lines = OptionSpecification("ndjson", "Print one JSON object per line, as results arrive")
    static let timeout = OptionSpecification(
        "timeout", value: "TIME", "Maximum time to wait for the reply to a query (default 30s)")
    /// The timeout of `health`, `metrics` and `doctor`. It is short, because they report a daemon that does not reply.
    static let shortTimeout = OptionSpecification(
        "timeout", value: "TIME", "Maximum time to wait for the daemon (default 5s)")
    static let color = OptionSpecification(
        "color", value: "WHEN", from: .words(ColorChoice.allCases.map(\.rawValue)),
        "Colour the output: auto, always or never")
    static let help = OptionSpecification("help", short: "h", "Show this help")
    /// Accepted only before the command, since `list` and other commands have an option `--version` for applications.
    static let version = OptionSpecification("version", "Show the version")

    private static let everywhere = [socket, timeout, json, lines, color, help]
    static let leading = everywhere + [version]

    /// Returns the common options of a command. Leaves out options that the command lacks or defines itself.
    static func added(to command: CommandSpecification) -> [OptionSpecification] {
        everywhere.filter { option in
            if option == timeout, !command.hasTimeout { return false }
            return !command.options.contains { $0.name == option.name }
        }
    }

    /// Returns all options of a command.
    static func all(of command: CommandSpecification) -> [OptionSpecification] {
        command.options + added(to: command)
    }
}
