/// The manual page of a command, in the man macros of roff. Like the help, it is made from the specification.
///
/// `scripts/install` writes the pages with the hidden command `__manual`.
enum ManualPage {
    /// The hidden command. Without arguments, it prints the names of all commands; with a command and a date, the page.
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

    /// Returns text in which each sentence starts a new line. roff needs this for the space between sentences.
    private static func sentences(_ text: String) -> String {
        literal(text).replacing(". ", with: ".\n").split(separator: "\n")
            .flatMap { Fitting.wrap(String($0), to: HelpText.width) }.map { line($0[...]) }.joined(separator: "\n")
    }

    /// Returns the text with all characters escaped that roff would interpret.
    private static func literal(_ text: String) -> String {
        line(text.replacing("\\", with: "\\e").replacing("-", with: "\\-")[...])
    }

    /// A period or an apostrophe at the beginning of a line would be a request.
    private static func line(_ text: Substring) -> String {
        text.hasPrefix(".") || text.hasPrefix("'") ? "\\&\(text)" : String(text)
    }

    private static func lowercasedFirst(_ text: String) -> String {
        text.prefix(1).lowercased() + text.dropFirst()
    }
}
