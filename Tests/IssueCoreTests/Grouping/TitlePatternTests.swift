import IssueProtocol
import Testing

@testable import IssueCore

@Suite("Patterns for titles, and suggestions")
struct TitlePatternTests {
    @Test(
        "A star stands for any text",
        arguments: [
            ("Invalid user * from <address>", "Invalid user ann from <address>", true),
            ("Invalid user * from <address>", "Invalid user  from <address>", true),
            ("Invalid user * from <address>", "Invalid user ann from", false),
            ("Invalid*", "Invalid user", true), ("Invalid*", "An invalid user", false),
            ("*user*", "user", true), ("a*b*c", "a b b c c", true), ("a*b*c", "a b b c d", false),
            ("exact", "exact", true), ("exact", "exactly", false), ("*ä*", "wäre", true),
        ])
    func matches(pattern: String, title: String, isMatch: Bool) throws {
        #expect(try #require(TitlePattern(pattern)).matches(title) == isMatch)
    }

    @Test("A pattern that is empty, matches everything or is too long is refused")
    func refused() {
        for text in ["", "*", "***", String(repeating: "a", count: 201)] { #expect(TitlePattern(text) == nil) }
        #expect(TitlePattern(String(repeating: "a", count: 200)) != nil)
    }

    @Test(
        "Matching takes time in proportion to title and pattern, whatever they are",
        arguments: [
            String(repeating: "a*", count: 99) + "b", "*" + String(repeating: "a", count: 198) + "b",
            "*" + String(repeating: "a", count: 197) + "b*", "*" + String(repeating: "ab", count: 98) + "aa*",
        ])
    func hostile(text: String) throws {
        let pattern = try #require(TitlePattern(text))
        for unit in ["a", "ab", "aab"] {
            let title = String(repeating: unit, count: 4000 / unit.utf8.count)
            var work = 0
            _ = pattern.matches(title, work: &work)
            #expect(work <= 2 * title.utf8.count + TitlePattern.maxBytes)
        }
    }

    @Test("Patterns match the same titles as an implementation that tries everything")
    func oracle() throws {
        func matches(_ pattern: Substring, _ title: Substring) -> Bool {
            guard let first = pattern.first else { return title.isEmpty }
            if first == "*" {
                return matches(pattern.dropFirst(), title) || !title.isEmpty && matches(pattern, title.dropFirst())
            }
            return title.first == first && matches(pattern.dropFirst(), title.dropFirst())
        }
        var random = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 1...7, using: &random)).map { _ in "ab*".randomElement(using: &random) ?? "a" })
            let title = String(
                (0..<Int.random(in: 0...9, using: &random)).map { _ in "ab".randomElement(using: &random) ?? "a" })
            guard let pattern = TitlePattern(text) else { continue }
            #expect(pattern.matches(title) == matches(text[...], title[...]), "\(text) \(title)")
        }
    }

    @Test("The fingerprint of a group that is split off depends on the pattern and on the original fingerprint")
    func fingerprints() throws {
        let first = SplitSelector.title(try #require(TitlePattern("a*")))
        let second = SplitSelector.title(try #require(TitlePattern("b*")))
        // Fingerprints are stored and sent, so they must be the same on every host and in every version.
        #expect(first.fingerprint(splitting: "f") == "c0582087f8a6977e")
        #expect(first.fingerprint(splitting: "f") != second.fingerprint(splitting: "f"))
        #expect(first.fingerprint(splitting: "f") != first.fingerprint(splitting: "g"))
    }

    private func pairs(_ titles: [String], contexts: [String] = [], limit: Int = 10) -> [MergeSuggestions.Pair] {
        MergeSuggestions.pairs(
            among: titles.enumerated().map { index, title in
                .init(
                    group: GroupID(rawValue: Int64(index)), title: title,
                    context: contexts.isEmpty ? "" : contexts[index])
            }, limit: limit)
    }

    @Test("A group is suggested for merging with the first whose title, of at least three words, differs in one word")
    func suggestions() {
        #expect(
            pairs(["user ann is gone", "user bob is gone", "disk is full", "user carl is gone"]) == [
                .init(groups: [0, 1], words: ["ann", "bob"]), .init(groups: [0, 3], words: ["ann", "carl"]),
            ])
        #expect(pairs(["user ann is gone", "user bob is here"]) == [])
        #expect(pairs(["user ann is gone", "user ann is gone again"]) == [])
        #expect(pairs(["a b", "a c"]) == [])
        #expect(pairs(["user ann is gone", "user bob is gone"], contexts: ["x", "y"]) == [])
        #expect(pairs((0..<100).map { "user u\($0) is gone" }, limit: 7).count == 7)
    }
}
