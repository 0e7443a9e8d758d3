import IssueCore
import IssueProtocol
import Testing

@Suite("A search text")
struct TextMatcherTests {
    private func parts(_ text: String) -> [String] {
        TextMatcher.parts(of: text).map { String(String.UnicodeScalarView($0)) }
    }

    private func matches(_ text: String, _ message: String) -> Bool {
        guard let matcher = TextMatcher(text) else { return true }
        var found: TextMatcher.Found = 0
        matcher.search(message, &found)
        return found == matcher.all
    }

    @Test(
        "A search text consists of words between white space and phrases in quotation marks",
        arguments: [
            ("", []), (" \t\n", []), ("a  b\u{0}c", ["a", "b", "c"]), ("\"a b\" c", ["a b", "c"]),
            ("\" a \"", [" a "]), ("\"\" a", ["a"]), ("open \"foo.txt\".", ["open", "foo.txt", "."]),
            ("5\" disk", ["5\"", "disk"]), ("key=\"a b\"", ["key=\"a", "b\""]), ("\"a b", ["\"a", "b"]), ("\"", ["\""]),
            ("\"a\"b c\"", ["a", "b", "c\""]),
        ] as [(String, [String])])
    func splits(text: String, expected: [String]) {
        #expect(parts(text) == expected)
    }

    @Test(
        "A search text matches words at any place, in any order and case, and phrases as written",
        arguments: [
            ("time", "Timed out", true), ("OUT", "Timed out", true), ("imed", "Timed out", true),
            ("out timed", "Timed out", true), ("\"out timed\"", "Timed out", false),
            ("\"timed out\"", "Timed out", true),
            ("\"timed  out\"", "Timed out", false), ("timed late", "Timed out", false), ("", "anything", true),
            ("ÉCHOUÉ", "Décodage échoué", true), ("größe", "GRÖẞE", true), ("ошибка", "ОШИБКА", true),
            ("İ", "i", false),
            ("k", "\u{212A}", false), ("\u{212A}", "k", false), ("å", "\u{212B}", true), ("ß", "ss", false),
            ("ⱥ", "Ⱥ", true), ("x\u{10400}", "X\u{10428}", true), ("日本", "日本語", true), ("👍", "a👍b", true),
            ("e", "é", false), ("\u{e9}", "e\u{301}", false), ("@[", "`{", false), ("a", "!", false),
        ])
    func matchesText(text: String, message: String, expected: Bool) {
        #expect(matches(text, message) == expected)
    }

    @Test("A search text contains the same term once, whatever its case")
    func repetitions() {
        #expect(TextMatcher("a A É é \"a\"")?.terms.count == 2)
    }

    /// Alphabets for texts that are similar to each other, with all kinds of letters.
    private static let alphabets: [[Unicode.Scalar]] = [
        Array("ab".unicodeScalars), Array("abAB \"0.".unicodeScalars), Array("aaaaaaab".unicodeScalars),
        Array("éÉaяЯжЖßẞåÅ\u{212B}kK\u{212A}θΘϴ日\u{10400}\u{10428}".unicodeScalars),
        Array("ⱥȺaAσΣςǆǅǄ".unicodeScalars),
    ]

    /// The lower case of each character by itself, as the search defines it.
    private static func lower(_ text: [Unicode.Scalar]) -> [Unicode.Scalar] {
        text.map { scalar in
            let lower = scalar.properties.lowercaseMapping.unicodeScalars
            guard lower.count == 1, let first = lower.first, first.isASCII == scalar.isASCII else { return scalar }
            return first
        }
    }

    private static func contains(_ text: [Unicode.Scalar], _ term: [Unicode.Scalar]) -> Bool {
        let (text, term) = (lower(text), lower(term))
        guard text.count >= term.count else { return false }
        return (0...text.count - term.count).contains { Array(text[$0..<$0 + term.count]) == term }
    }

    @Test(
        "A search text finds exactly the terms that a plain comparison finds, at every place of a text",
        arguments: 0..<5)
    func agrees(alphabet: Int) {
        var random = SeededGenerator(seed: UInt64(alphabet))
        let letters = Self.alphabets[alphabet]
        for _ in 0..<4000 {
            let term = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                letters.randomElement(using: &random) ?? "a"
            }
            let text = (0..<Int.random(in: 0...70, using: &random)).map { _ in
                letters.randomElement(using: &random) ?? "a"
            }
            let matcher = TextTerm(term)
            let bytes = Array(String(String.UnicodeScalarView(text)).utf8)
            let expected = Self.contains(text, term)
            #expect(
                matcher.occurs(in: bytes) == expected, "\(term) in \(text)")
            if expected { #expect(matcher.nextCandidate(in: bytes) != nil) }
        }
    }

    @Test("A search text is found by the fast search wherever it is in a long text")
    func places() {
        for word in ["x", "ab", "Needle in hay", "ошибка"] {
            let term = TextTerm(word.unicodeScalars)
            let upper = Array(word.uppercased().utf8)
            for place in 0..<150 {
                var bytes = [UInt8](repeating: UInt8(ascii: "-"), count: 150 + upper.count)
                bytes.replaceSubrange(place..<place + upper.count, with: upper)
                let end = bytes.count
                #expect(term.nextCandidate(in: bytes) == place)
                #expect(term.occurs(in: bytes, from: place, to: place + upper.count))
                #expect(!term.occurs(in: bytes, from: place, to: place + upper.count - 1))
                #expect(!term.occurs(in: bytes, from: place + 1, to: end))
            }
        }
    }

    @Test("A search text is found within bytes that are not well-formed UTF-8")
    func malformed() {
        let bytes: [UInt8] = [0xFF, 0xC3, 0x41, 0xE2, 0x82, 0xD0, 0x96, 0xED, 0xA0, 0x80, 0xF5, 0xC3]
        #expect(TextTerm("Aж".unicodeScalars).occurs(in: bytes) == false)
        #expect(TextTerm("a".unicodeScalars).occurs(in: bytes))
        #expect(TextTerm("ж".unicodeScalars).occurs(in: bytes))
    }

    @Test("A search text takes time in proportion to the searched text, also if the term almost matches everywhere")
    func linear() throws {
        // The term almost matches at every other place. Plain comparisons would take 10^9 steps.
        let bytes = Array(String(repeating: "ab", count: 1_000_000).utf8)
        let term = TextTerm((String(repeating: "ab", count: 511) + "aa").unicodeScalars)
        #expect(!term.occurs(in: bytes))
        // The fast search ends after a few comparisons. The search by characters then visits each byte once.
        #expect(try #require(term.nextCandidate(in: bytes)) < 100)
        #expect(term.occurs(in: bytes + bytes.prefix(1022) + Array("aa".utf8)))
    }
}

extension TextTerm {
    fileprivate func occurs(in bytes: [UInt8], from start: Int = 0, to end: Int? = nil) -> Bool {
        let span = bytes.span
        return occurs(in: span, from: start, to: end ?? span.count)
    }

    fileprivate func nextCandidate(in bytes: [UInt8]) -> Int? {
        let span = bytes.span
        return nextCandidate(in: span, from: 0, to: span.count)
    }
}
