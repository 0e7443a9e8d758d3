/// A version that is made of numbers, as `2.10.1-beta.2+7`, so that it comes before or after another one.
struct Release: Comparable {
    /// One part between dots: a number of any length, or a word, which comes behind all numbers.
    private enum Part: Comparable {
        case number(length: Int, digits: String)
        case word(String)

        init(_ text: Substring) {
            if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
                let digits = text.drop { $0 == "0" }
                self = .number(length: digits.utf8.count, digits: String(digits))
            } else {
                self = .word(String(text))
            }
        }

        static let zero = Part("0")

        var isNumber: Bool {
            if case .number = self { true } else { false }
        }
    }

    private let numbers: [Part]
    /// What it lacks to be the release itself; empty for the release.
    private let before: [Part]
    private let behind: [Part]

    /// Reads a version; nothing where it does not begin with numbers only.
    init?(_ text: String) {
        let parts = text.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
        let halves = (parts.first ?? "").split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        var release = halves.first ?? ""
        if release.hasPrefix("v") || release.hasPrefix("V") { release = release.dropFirst() }
        var numbers = Self.parts(release)
        guard numbers.allSatisfy(\.isNumber) else { return nil }
        while numbers.count > 1, numbers.last == .zero { numbers.removeLast() }
        self.numbers = numbers
        before = halves.count > 1 ? Self.parts(halves[1]) : []
        behind = parts.count > 1 ? Self.parts(parts[1]) : []
    }

    private static func parts(_ text: Substring) -> [Part] {
        text.split(separator: ".", omittingEmptySubsequences: false).map { Part($0) }
    }

    static func < (left: Self, right: Self) -> Bool {
        if left.numbers != right.numbers { return left.numbers.lexicographicallyPrecedes(right.numbers) }
        if left.before != right.before {
            if left.before.isEmpty || right.before.isEmpty { return right.before.isEmpty }
            return left.before.lexicographicallyPrecedes(right.before)
        }
        return left.behind.lexicographicallyPrecedes(right.behind)
    }
}
