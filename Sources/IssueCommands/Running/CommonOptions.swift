/// The options that every command has.
enum CommonOptions {
    static let socket = OptionSpecification(
        "socket", value: "PATH", "Where the daemon listens, instead of looking in the usual places and in ISSUED_SOCKET"
    )
    static let json = OptionSpecification("json", "Print one JSON document")
    static let lines = OptionSpecification("ndjson", "Print one JSON object a line, as it comes")
    static let color = OptionSpecification("color", value: "WHEN", "Colour the output: auto, always or never")
    static let help = OptionSpecification("help", short: "h", "Show this help")
    /// Only before the command: behind `list` it asks for versions of applications.
    static let version = OptionSpecification("version", "Show the version")

    static let everywhere = [socket, json, lines, color, help]
    static let leading = everywhere + [version]
}
