import IssueBrowsing

/// The options of every command.
enum CommonOptions {
    static let socket = OptionSpecification(
        "socket", value: "PATH", from: .files, "The daemon's socket (default: ISSUED_SOCKET or a standard location)"
    )
    static let json = OptionSpecification("json", "Print one JSON document")
    static let lines = OptionSpecification("ndjson", "Print one JSON object per line, as received")
    static let timeout = OptionSpecification(
        "timeout", value: "TIME", "Maximum time to wait for the reply to a query (default 30s)")
    /// The timeout of commands that also say whether the daemon replies: `health`, `metrics` and `doctor`.
    static let shortTimeout = OptionSpecification(
        "timeout", value: "TIME", "Maximum time to wait for the daemon (default 5s)")
    static let color = OptionSpecification(
        "color", value: "WHEN", from: .words(ColorChoice.allCases.map(\.rawValue)),
        "Colour the output: auto, always or never")
    static let help = OptionSpecification("help", short: "h", "Show this help")
    /// Only before the command: after `list`, this option selects application versions.
    static let version = OptionSpecification("version", "Show the version")

    private static let everywhere = [socket, timeout, json, lines, color, help]
    static let leading = everywhere + [version]

    /// Returns the common options of a command. Some commands have a timeout with another meaning, or none.
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

/// The format of the output.
package enum OutputFormat: Sendable {
    /// Tables and text for users.
    case human
    /// One JSON document.
    case json
    /// One JSON object per line, as received.
    case lines
}

/// The daemon's methods as called by the commands, with failures as messages for the user.
typealias Collector = BrowserSession<CommandFailure>

/// The properties of the terminal.
package struct TerminalInfo: Equatable, Sendable {
    /// `true` if standard output is a terminal.
    package var isTerminal: Bool
    package var columns: Int?
    package var rows: Int?
    /// `true` if standard input is a terminal.
    package var isInputTerminal = false

    /// `true` if a user types the input and sees the output.
    var isInteractive: Bool { isTerminal && isInputTerminal }

    /// Returns the width to which tables are cut; nil if the output is not a terminal and must not be cut.
    func tableWidth(_ environment: (String) -> String?) -> Int? {
        if let width = environment("COLUMNS").flatMap({ Int($0) }), width > 0 { return width }
        guard isTerminal else { return nil }
        return columns ?? 80
    }

    /// Returns the number of table rows that fit on a screen, with the heading and the prompt.
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

    /// Returns `true` if colours should be used. `auto` respects `NO_COLOR` (no-color.org) and `TERM=dumb`.
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
