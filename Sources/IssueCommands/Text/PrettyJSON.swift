import IssueProtocol

/// JSON laid out for people, what is short on one line.
enum PrettyJSON {
    static func lines(_ value: JSONValue, width: Int) -> [String] {
        var lines: [String] = []
        append(value, before: "", after: "", depth: 0, width: width, to: &lines)
        return lines
    }

    private static func append(
        _ value: JSONValue, before: String, after: String, depth: Int, width: Int, to lines: inout [String]
    ) {
        let indent = String(repeating: "  ", count: depth)
        let short = indent + before + minified(value) + after
        switch value {
        case .null, .bool, .integer, .number, .string:
            lines.append(short)
        case .array(let elements):
            guard !fits(value, short, in: width) else { return lines.append(short) }
            lines.append(indent + before + "[")
            for (index, element) in elements.enumerated() {
                let comma = index == elements.count - 1 ? "" : ","
                append(element, before: "", after: comma, depth: depth + 1, width: width, to: &lines)
            }
            lines.append(indent + "]" + after)
        case .object(let members):
            guard !members.isEmpty else { return lines.append(short) }
            lines.append(indent + before + "{")
            for (index, member) in members.enumerated() {
                let comma = index == members.count - 1 ? "" : ","
                let key = minified(.string(member.key)) + ": "
                append(member.value, before: key, after: comma, depth: depth + 1, width: width, to: &lines)
            }
            lines.append(indent + "}" + after)
        }
    }

    private static func fits(_ value: JSONValue, _ text: String, in width: Int) -> Bool {
        guard case .array(let elements) = value else { return false }
        let isFlat = elements.allSatisfy { element in
            switch element {
            case .null, .bool, .integer, .number, .string: true
            case .array, .object: false
            }
        }
        return isFlat && DisplayWidth.of(text) <= width
    }

    private static func minified(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        writer.value(value)
        return HarmlessText.line(writer.text)
    }
}
