import IssueCore
import IssueProtocol

/// The exact search finds a term in valid UTF-8 if and only if a plain comparison does. The fast search finds each term
/// that the exact search finds, in any bytes.
///
/// Input: the length of the term, the term, and the bytes to search.
enum SearchHarness {
    static func run(_ input: Span<UInt8>) {
        guard input.count > 1 else { return }
        let length = min(Int(input[0]), input.count - 1)
        let text = input.array(from: 1 + length)
        let bytes = input.array()[1..<1 + length]
        checkParts(String(decoding: bytes, as: UTF8.self))
        let written = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        guard !written.isEmpty else { return }
        let term = TextTerm(written)
        let found = term.occurs(in: text.span, from: 0, to: text.count)
        let shown = String(decoding: text, as: UTF8.self)
        // Bytes that are not UTF-8 have no case, and the plain search would replace them.
        if String(validating: text, as: UTF8.self) != nil {
            let lower = PlainSearch.lower(String(String.UnicodeScalarView(written)))
            require(
                found == PlainSearch.contains(PlainSearch.lower(shown), lower),
                "\(written) \(found ? "was" : "was not") found in \(shown)")
        }
        if found {
            require(
                term.nextCandidate(in: text.span, from: 0, to: text.count) != nil,
                "The fast search does not find \(written) in \(shown)")
        }
    }

    private static func checkParts(_ text: String) {
        let parts = TextMatcher.parts(of: text).map { String(String.UnicodeScalarView($0)) }
        require(parts == PlainSearch.terms(text), "\(text) has the parts \(parts)")
        require(
            (TextMatcher(parts.count > 16 ? "" : text)?.terms.count ?? 0) <= parts.count, "A search has too many terms")
    }
}

/// The search of texts, as `Documentation/WireProtocol.md` defines it, in the simplest way.
enum PlainSearch {
    /// Returns the terms of a search text. A term is a single word or a phrase.
    static func terms(_ text: String) -> [String] {
        var terms: [String] = []
        var rest = Array(text.unicodeScalars)[...]
        func take(_ count: Int) -> String {
            defer { rest = rest.dropFirst(count) }
            return String(String.UnicodeScalarView(rest.prefix(count)))
        }
        while let first = rest.first {
            if first.value <= 0x20 {
                _ = take(1)
            } else if first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") {
                _ = take(1)
                terms.append(take(end - rest.startIndex))
                _ = take(1)
            } else {
                terms.append(take(rest.prefix { $0.value > 0x20 }.count))
            }
        }
        return terms.filter { !$0.isEmpty }
    }

    /// Returns the scalars of a text. Each one whose lowercase form is a single scalar is replaced with it, unless only
    /// one of the two is ASCII.
    static func lower(_ text: String) -> [Unicode.Scalar] {
        text.unicodeScalars.map { scalar in
            let lower = scalar.properties.lowercaseMapping.unicodeScalars
            guard lower.count == 1, let first = lower.first, first.isASCII == scalar.isASCII else { return scalar }
            return first
        }
    }

    /// Returns `true` if `text` contains the scalars of `term`, one after the other.
    static func contains(_ text: [Unicode.Scalar], _ term: [Unicode.Scalar]) -> Bool {
        guard text.count >= term.count else { return false }
        return (0...text.count - term.count).contains { start in
            term.indices.allSatisfy { text[start + $0] == term[$0] }
        }
    }
}
