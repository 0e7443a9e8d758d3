/// All that the parser and help need to know of a command.
package struct CommandSpecification: Sendable {
    package var name: String
    /// One line for the list of commands.
    package var summary: String
    package var operands: OperandRule
    /// The options under their headings, in the order in which help shows them.
    package var sections: [Section]
    /// Sentences below the options.
    package var notes: [String]
    package var examples: [String]

    /// Options that belong together.
    package struct Section: Sendable {
        package var title: String
        package var options: [OptionSpecification]

        package init(_ title: String, _ options: [OptionSpecification]) {
            self.title = title
            self.options = options
        }
    }

    package init(
        _ name: String, _ summary: String, operands: OperandRule = .none, sections: [Section] = [],
        notes: [String] = [], examples: [String] = []
    ) {
        self.name = name
        self.summary = summary
        self.operands = operands
        self.sections = sections
        self.notes = notes
        self.examples = examples
    }

    var options: [OptionSpecification] { sections.flatMap(\.options) }
}

/// One option of the command line: how it is written, and what help says of it.
package struct OptionSpecification: Hashable, Sendable {
    package var name: String
    package var short: Character?
    /// What stands for its value in help; nothing for an option without one.
    package var placeholder: String?
    package var summary: String

    package init(_ name: String, short: Character? = nil, value placeholder: String? = nil, _ summary: String) {
        self.name = name
        self.short = short
        self.placeholder = placeholder
        self.summary = summary
    }

    /// As help and messages write it.
    var spelling: String { "--\(name)" }
}

/// How many words without a dash a command takes.
package enum OperandRule: Equatable, Sendable {
    case none
    case optional(String)
    case one(String)
    case any(String)

    /// As the usage line writes it.
    var usage: String {
        switch self {
        case .none: ""
        case .optional(let name): " [\(name)]"
        case .one(let name): " \(name)"
        case .any(let name): " [\(name)...]"
        }
    }
}

extension OperandRule {
    /// Fails when there are too many or too few.
    func check(_ operands: [String]) throws(UsageError) {
        let limit: Int
        switch self {
        case .none: limit = 0
        case .optional, .one: limit = 1
        case .any: limit = .max
        }
        if operands.count > limit { throw UsageError("'\(operands[limit])' is one argument too many") }
        if case .one(let name) = self, operands.isEmpty { throw UsageError("\(name) is missing") }
    }
}

/// Writes help from what the commands say of themselves, so that it can't fall behind them.
enum HelpText {
    static let width = 80

    /// The help of one command.
    static func text(of command: CommandSpecification, common: [OptionSpecification]) -> String {
        var blocks = [
            "Usage: issuectl \(command.name) [OPTION...]\(command.operands.usage)",
            Fitting.wrap(command.summary + ".", to: width).joined(separator: "\n"),
        ]
        let sections = command.sections + [CommandSpecification.Section("Common options", common)]
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

    /// The help of the program.
    static func text(of commands: [CommandSpecification], common: [OptionSpecification]) -> String {
        let widest = commands.map(\.name.count).max() ?? 0
        let list = commands.map { "  \(Fitting.pad($0.name, to: widest))  \($0.summary)" }
        return [
            "Usage: issuectl [OPTION...] COMMAND [ARGUMENT...]",
            "Reports issues to the issue daemon of this host, and asks it what became of them.",
            "Commands:\n" + list.joined(separator: "\n"),
            block("Options", common, indent: column(of: common)),
            "More about a command: issuectl COMMAND --help",
            """
            Exit codes:
              0   done
              1   not found, or refused; or, of status and repair, a fault is left
              64  the command line is wrong
              69  no daemon answers
              75  not now: try again
            """,
        ].joined(separator: "\n\n") + "\n"
    }

    private static func block(_ title: String, _ options: [OptionSpecification], indent: Int) -> String {
        var lines = ["\(title):"]
        for option in options {
            let left = usage(of: option)
            var summary = Fitting.wrap(option.summary, to: width - indent)
            // A name too long for the column has a line to itself.
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
