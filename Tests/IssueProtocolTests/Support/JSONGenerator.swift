import IssueProtocol

/// Generates JSON values, and spellings of them with white space and escapes where allowed.
struct JSONGenerator {
    var chance: SeededGenerator

    init(seed: UInt64) {
        chance = SeededGenerator(seed: seed)
    }

    mutating func value(depth: Int = 0) -> JSONValue {
        switch Int.random(in: 0..<(depth < 5 ? 9 : 6), using: &chance) {
        case 0: return .null
        case 1: return .bool(.random(using: &chance))
        case 2: return .integer(chance.pick([0, 1, -1, .max, .min, .random(in: -5000...5000, using: &chance)]))
        case 3: return .number(chance.pick(["0.5", "-1.25", "1e10", "2.5E-3", "-0.0", "123456789.125", "1E+2", "0e0"]))
        case 4, 5: return .string(string())
        case 6: return .array((0..<count()).map { _ in value(depth: depth + 1) })
        default:
            var keys: Set<String> = []
            return .object(
                (0..<count()).compactMap { _ in
                    let key = string()
                    // Duplicate keys are tested separately.
                    guard keys.insert(key).inserted else { return nil }
                    return JSONValue.Member(key, value(depth: depth + 1))
                })
        }
    }

    mutating func string() -> String {
        let alphabets = [
            "abcdefghijklmnopqrstuvwxyz", " \"\\/\u{8}\u{C}\n\r\t", "äöüßéñ", "日本語漢字", "😀🎉𝄞", "\u{0}\u{1F}\u{7F}",
        ]
        var text = ""
        for _ in 0..<chance.pick([0, 1, 3, 7, 8, 9, 15, 16, 17, 40]) {
            let alphabet = chance.oneIn(3) ? chance.pick(alphabets) : alphabets[0]
            text.unicodeScalars.append(chance.pick(Array(alphabet.unicodeScalars)))
        }
        return text
    }

    /// Returns one of the many spellings of a value.
    mutating func spelling(of value: JSONValue) -> String {
        let text =
            switch value {
            case .null: "null"
            case .bool(let flag): flag ? "true" : "false"
            case .integer(let number): String(number)
            case .number(let spelling): spelling
            case .string(let string): spelling(of: string)
            case .array(let elements): "[" + space() + elements.map { spelling(of: $0) }.joined(separator: ",") + "]"
            case .object(let members):
                "{" + space()
                    + members.map { spelling(of: $0.key) + space() + ":" + spelling(of: $0.value) }
                    .joined(separator: ",") + "}"
            }
        return space() + text + space()
    }

    private mutating func spelling(of string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += chance.oneIn(2) ? "\\\(scalar)" : escapes(of: scalar)
            case "\n": text += chance.oneIn(2) ? "\\n" : escapes(of: scalar)
            case "/": text += chance.oneIn(2) ? "\\/" : "/"
            case "\u{0}"..."\u{1F}": text += escapes(of: scalar)
            default: text += chance.oneIn(5) ? escapes(of: scalar) : String(scalar)
            }
        }
        return text + "\""
    }

    private mutating func escapes(of scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16, uppercase: chance.oneIn(2))
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }

    private mutating func space() -> String {
        chance.oneIn(4) ? chance.pick([" ", "\n", "\t", "\r\n", "  "]) : ""
    }

    private mutating func count() -> Int { chance.pick([0, 1, 2, 3, 5]) }
}

extension JSONValue {
    /// Returns the object with one member set. It replaces all members with the same key, or is appended.
    func with(_ key: String, _ value: JSONValue) -> JSONValue {
        var members = asObject ?? []
        let index = members.firstIndex { $0.key == key } ?? members.count
        members.removeAll { $0.key == key }
        members.insert(Member(key, value), at: index)
        return .object(members)
    }
}
