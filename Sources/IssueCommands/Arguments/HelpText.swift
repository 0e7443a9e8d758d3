/// Generates the help from the specifications of the commands, so that it is always up to date.
enum HelpText {
    /// The width in columns.
    static let width = 80

    /// Returns the help of one command of `program`.
    static func text(
        of command: CommandSpecification, common: [OptionSpecification], program: String = "issuectl"
    ) -> String {
        var blocks = [
            "Usage: \(program) \(command.name) [OPTION...]\(command.operands.usage)",
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

    /// Returns the help of `program` as a whole.
    static func text(
        of commands: [CommandSpecification], common: [OptionSpecification], program: String = "issuectl"
    ) -> String {
        let widest = commands.map(\.name.count).max() ?? 0
        let list = commands.map { "  \(Fitting.pad($0.name, to: widest))  \($0.summary)" }
        return [
            "Usage: \(program) [OPTION...] COMMAND [ARGUMENT...]",
            "Report issues to the issue daemon of this host, and query them.",
            "Commands:\n" + list.joined(separator: "\n"),
            block("Options", common, indent: column(of: common)),
            "Run \(program) COMMAND --help or \(program) help COMMAND for more about a command.",
            """
            Exit status:
              0   success
              1   not found, or refused, or a fault was found; the manual page has the details
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
            // An option that is too long for the column is on a line of its own.
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

    /// Returns the column at which the descriptions of options start.
    private static func column(of options: [OptionSpecification]) -> Int {
        min(30, (options.map { usage(of: $0).count }.max() ?? 0) + 2)
    }
}

/// The manual page of a command, in roff with the man macros. Like the help, it is generated from the specification.
///
/// `scripts/install` writes the pages with the hidden command `__manual`.
enum ManualPage {
    /// The hidden command. With the name of a command and a date, it prints the page; otherwise, the names of all
    /// commands.
    static let command = "__manual"

    /// Returns the page of a command.
    ///
    /// - Parameter date: The date in the footer, such as `2026-11-23`.
    static func text(of command: CommandSpecification, common: [OptionSpecification], date: String) -> String {
        let name = "issuectl-\(command.name)"
        var lines = [
            ".TH \(literal(name.uppercased())) 1 \(date) \"issued\" \"User Commands\"",
            ".SH NAME",
            sentences("\(name) \u{2013} \(lowercasedFirst(command.summary))").replacing("\u{2013}", with: "\\-"),
            ".SH SYNOPSIS", ".B issuectl \(literal(command.name))", ".RI [ OPTION \" ...]\"",
        ]
        if command.operands != .none { lines.append(literal(String(command.operands.usage.dropFirst()))) }
        lines += [".SH DESCRIPTION", sentences(command.summary + ".")]
        for note in command.notes { lines += [".PP", sentences(note)] }
        lines.append(".SH OPTIONS")
        for section in command.sections + [("Common options", common)] where !section.options.isEmpty {
            lines.append(".SS \(literal(section.title))")
            for option in section.options {
                lines += [".TP", ".B \(usage(of: option))", sentences(option.summary + ".")]
            }
        }
        if !command.examples.isEmpty {
            lines += [".SH EXAMPLES", ".EX"] + command.examples.map(literal) + [".EE"]
        }
        lines += [
            ".SH EXIT STATUS", "See", ".BR issuectl (1).",
            ".SH SEE ALSO", ".BR issuectl (1),", ".BR issued (8)",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func usage(of option: OptionSpecification) -> String {
        let short = option.short.map { "\\-\($0), " } ?? ""
        return short + literal(option.spelling) + (option.placeholder.map { "\\fR \\fI\(literal($0))" } ?? "")
    }

    /// Escapes and wraps a text. Each sentence starts a new line, as roff requires for correct spacing.
    private static func sentences(_ text: String) -> String {
        literal(text).replacing(". ", with: ".\n").split(separator: "\n")
            .flatMap { Fitting.wrap(String($0), to: HelpText.width) }.map { line($0[...]) }.joined(separator: "\n")
    }

    /// Escapes the characters that roff would interpret.
    private static func literal(_ text: String) -> String {
        line(text.replacing("\\", with: "\\e").replacing("-", with: "\\-")[...])
    }

    /// Escapes a period or an apostrophe at the beginning of a line, because roff would take the line for a request.
    private static func line(_ text: Substring) -> String {
        text.hasPrefix(".") || text.hasPrefix("'") ? "\\&\(text)" : String(text)
    }

    private static func lowercasedFirst(_ text: String) -> String {
        text.prefix(1).lowercased() + text.dropFirst()
    }
}
