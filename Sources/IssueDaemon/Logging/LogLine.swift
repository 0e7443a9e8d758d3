/// One event as one line, whatever is in it.
enum LogLine {
    /// A longer value is cut: it comes from outside as often as not.
    private static let valueLimit = 1024

    static func text(
        _ level: LogLevel, _ message: StaticString, _ fields: KeyValuePairs<String, String>, form: LogForm
    ) -> String {
        var line =
            switch form {
            case .journal: "<\(level.priority)>\(message)"
            case .plain: "issued: \(level.rawValue): \(message)"
            case .bare: "\(message)"
            }
        for (name, value) in fields { line += " \(name)=\(quoted(value))" }
        return form == .bare ? line : line + "\n"
    }

    private static func quoted(_ value: String) -> String {
        var text = ""
        var needsQuotes = value.isEmpty
        for scalar in value.unicodeScalars.prefix(valueLimit) {
            switch scalar {
            case "\"", "\\":
                text += "\\\(scalar)"
                needsQuotes = true
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case "\r": text += "\\r"
            case _ where mayDeceive(scalar):
                text += "\\u{\(String(scalar.value, radix: 16))}"
            case " ", "=":
                text.unicodeScalars.append(scalar)
                needsQuotes = true
            case _:
                text.unicodeScalars.append(scalar)
            }
        }
        if value.unicodeScalars.count > valueLimit { text += "…" }
        return needsQuotes || text.contains("\\") ? "\"\(text)\"" : text
    }

    /// What a terminal obeys, or what makes a line look like another or like two.
    private static func mayDeceive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        case _: false
        }
    }
}
