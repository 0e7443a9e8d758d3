import UnixIO

/// The description of a command for the parser and the help.
struct CommandSpecification: Sendable {
    var name: String
    /// The line in the list of commands.
    var summary: String
    var operands = OperandRule.none
    /// The shell completions of each operand, in order. The last element is for all further operands.
    var operandSources: [ValueSource] = []
    /// The shell completions of the operands after an action such as `rule remove`. They replace `operandSources`.
    var sourcesByAction: [String: ValueSource] = [:]
    /// The options by heading, in the order of the help.
    var sections: [(title: String, options: [OptionSpecification])] = []
    /// `false` for a command that waits as long as necessary, so that it has no `--timeout`.
    var hasTimeout = true
    /// Paragraphs after the options.
    var notes: [String] = []
    var examples: [String] = []

    var options: [OptionSpecification] { sections.flatMap(\.options) }
}

/// An option of the command line.
package struct OptionSpecification: Hashable, Sendable {
    package var name: String
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
    /// Free text, such as a time or a number: there is nothing to complete.
    case text
    case words([String])
    case files
    /// Names that the daemon knows.
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

    /// Throws if there are too many or too few operands.
    func check(_ operands: [String]) throws(UsageError) {
        let limit: Int
        switch self {
        case .none: limit = 0
        case .optional, .one: limit = 1
        case .two: limit = 2
        case .several, .any: limit = .max
        }
        if operands.count > limit { throw UsageError("unexpected argument '\(operands[limit])'") }
        switch self {
        case .one(let name) where operands.isEmpty, .several(let name) where operands.isEmpty:
            throw UsageError("missing argument \(name)")
        default: break
        }
        if case .two(let first, let second) = self, operands.count < 2 {
            throw UsageError("missing argument \(operands.isEmpty ? first : second)")
        }
    }
}

/// Generates the help from the specifications of the commands, so that it is always up to date.
enum HelpText {
    static let width = 80

    /// Returns the help of a command.
    static func text(of command: CommandSpecification, common: [OptionSpecification]) -> String {
        var blocks = [
            "Usage: issuectl \(command.name) [OPTION...]\(command.operands.usage)",
            Fitting.wrap(command.summary + ".", to: width).joined(separator: "\n"),
        ]
        let sections = command.sections + [("Common options", common)]
        let indent = column(of: sections.flatMap(\.options))
        for section in sections where !section.options.isEmpty {
            blocks.append(block(section.title, section.options, indent: indent))
        }
        blocks += command.notes.map { Fitting.wrap($0, to: width).joined(separator: "\n") }
        if !command.examples.isEmpty {
            blocks.append("Examples:\n" + command.examples.map { "  \($0)" }.joined(separator: "\n"))
        }
        return blocks.joined(separator: "\n\n") + "\n"
    }

    /// Returns the help of the program.
    static func text(of commands: [CommandSpecification], common: [OptionSpecification]) -> String {
        let widest = commands.map(\.name.count).max() ?? 0
        let list = commands.map { "  \(Fitting.pad($0.name, to: widest))  \($0.summary)" }
        return [
            "Usage: issuectl [OPTION...] COMMAND [ARGUMENT...]",
            "Report issues to the issue daemon of this host, and query them.",
            "Commands:\n" + list.joined(separator: "\n"),
            block("Options", common, indent: column(of: common)),
            "Run issuectl COMMAND --help for more about a command.",
            """
            Exit status:
              0   success
              1   not found or refused; for status, repair, doctor and health also: a fault remains
              2   only for health: failing
              64  invalid command line
              69  the daemon is not reachable
              75  temporary failure: try again
            """,
        ].joined(separator: "\n\n") + "\n"
    }

    private static func block(_ title: String, _ options: [OptionSpecification], indent: Int) -> String {
        var lines = ["\(title):"]
        for option in options {
            let left = usage(of: option)
            var summary = Fitting.wrap(option.summary, to: width - indent)
            // A name that is too long for the column gets a line of its own.
            if left.count + 2 > indent {
                lines.append(left)
            } else {
                lines.append(Fitting.pad(left, to: indent) + summary.removeFirst())
            }
            lines += summary.map { String(repeating: " ", count: indent) + $0 }
        }
        return lines.joined(separator: "\n")
    }

    private static func usage(of option: OptionSpecification) -> String {
        let short = option.short.map { "-\($0), " } ?? "    "
        return "  \(short)\(option.spelling)\(option.placeholder.map { " \($0)" } ?? "")"
    }

    private static func column(of options: [OptionSpecification]) -> Int {
        min(30, (options.map { usage(of: $0).count }.max() ?? 0) + 2)
    }
}
