import IssueProtocol

/// A reproducible random number generator.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
    }

    mutating func next() -> UInt64 {
        state = state &+ 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    private static let keys = [
        "a", "b", "c", "", ".", "a.b", "a.b.c", "b.", "message", "type", "x.metadata", "ключ", "\"", "\n",
        "metadata_type",
        String(repeating: "k", count: 300),
    ]

    mutating func members(depth: Int, width: Int) -> [JSONValue.Member] {
        let count = Int.random(in: 0...width, using: &self)
        return (0..<count).map { _ in
            let key = Self.keys.randomElement(using: &self) ?? ""
            return .init(key, value(depth: depth, width: width))
        }
    }

    private mutating func value(depth: Int, width: Int) -> JSONValue {
        switch Int.random(in: 0...(depth > 0 ? 7 : 5), using: &self) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &self))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &self))
        case 3: return .number(["0.5", "1e400", "-1E-7", "99999999999999999999"].randomElement(using: &self) ?? "0.5")
        case 4: return .string("text \u{1}\u{10FFFF}\"")
        case 5: return .string(String(repeating: "\u{0}é", count: Int.random(in: 0...20_000, using: &self)))
        case 6:
            let count = Int.random(in: 0...4, using: &self)
            return .array((0..<count).map { _ in value(depth: depth - 1, width: width / 2) })
        default: return .object(members(depth: depth - 1, width: width / 2))
        }
    }
}
