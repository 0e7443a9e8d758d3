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
