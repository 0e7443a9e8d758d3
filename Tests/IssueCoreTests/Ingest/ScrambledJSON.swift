import IssueProtocol

/// Writes a JSON value in unusual ways: with escapes, white space, unknown members and duplicate keys.
struct ScrambledJSON {
    var traffic: SeededGenerator
    /// Whether values may have the wrong type.
    var isWrong = false

    init(seed: UInt64, isWrong: Bool = false) {
        traffic = SeededGenerator(seed: seed)
        self.isWrong = isWrong
    }

    mutating func text(of value: JSONValue) -> String {
        space() + body(of: value, isRecord: true) + space()
    }

    private mutating func body(of value: JSONValue, isRecord: Bool) -> String {
        if isWrong, traffic.happens(oneIn: 30) { return odd() }
        switch value {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .integer(let number): return String(number)
        case .number(let text): return text
        case .string(let text): return string(text)
        case .array(let elements):
            let parts = elements.map { space() + body(of: $0, isRecord: false) + space() }
            return "[" + (parts.isEmpty ? space() : parts.joined(separator: ",")) + "]"
        case .object(let members):
            var parts: [String] = []
            for member in members.shuffled(using: &traffic) {
                if isRecord, traffic.happens(oneIn: 12) {
                    // The first of two equal keys is ignored, but its value must be valid.
                    parts.append(self.member(member.key, traffic.happens(oneIn: 2) ? .null : member.value))
                }
                if isRecord, traffic.happens(oneIn: 20) { parts.append(self.member("unknown", [1, ["a": nil]])) }
                parts.append(self.member(member.key, member.value))
                if isRecord, traffic.happens(oneIn: 40), member.key != "message" {
                    parts.append(self.member(member.key, .null))
                }
            }
            return "{" + (parts.isEmpty ? space() : parts.joined(separator: ",")) + "}"
        }
    }

    private mutating func member(_ key: String, _ value: JSONValue) -> String {
        let isRecord = key == "source" || key == "app"
        return space() + string(key) + space() + ":" + space() + body(of: value, isRecord: isRecord) + space()
    }

    private mutating func odd() -> String {
        ["null", "1", "1.5", "true", "\"x\"", "[]", "{}", "[1]", "[{}]", "{\"a\":1}", "99999999999999999999"][
            Int(traffic.number(below: 11))]
    }

    private mutating func space() -> String {
        traffic.happens(oneIn: 6) ? [" ", "\n", "\t", "\r", "  "][Int(traffic.number(below: 5))] : ""
    }

    private mutating func string(_ text: String) -> String {
        let rate: Int64 = traffic.happens(oneIn: 3) ? 4 : 400
        var output = "\""
        for scalar in text.unicodeScalars {
            if scalar.value < 0x20 || scalar == "\"" || scalar == "\\" || traffic.happens(oneIn: rate) {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16, uppercase: traffic.happens(oneIn: 2))
                    output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            } else {
                output.unicodeScalars.append(scalar)
            }
        }
        return output + "\""
    }
}
