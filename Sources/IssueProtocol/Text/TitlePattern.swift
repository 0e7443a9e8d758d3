/// A pattern for titles of groups, in which `*` matches any text, including none.
package struct TitlePattern: Equatable, Sendable {
    /// The maximum length of a pattern, in bytes of UTF-8.
    package static let maxBytes = 200

    package let text: String
    /// The text before the first star, and the text after the last one. Without a star, `start` is the whole pattern.
    private let start: [UInt8]
    private let end: [UInt8]
    /// The texts between stars.
    private let middle: [SubsequenceSearch]
    private let hasStar: Bool

    /// Nil if the text is too long, matches every title, or begins with U+0001, which marks the daemon's
    /// other stored selectors.
    package init?(_ text: String) {
        let star = UInt8(ascii: "*")
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maxBytes, bytes.contains(where: { $0 != star }), bytes.first != 1 else { return nil }
        self.text = text
        let parts = bytes.split(separator: star, omittingEmptySubsequences: false).map(Array.init)
        hasStar = parts.count > 1
        start = parts[0]
        end = hasStar ? parts[parts.count - 1] : []
        middle = parts.dropFirst().dropLast().filter { !$0.isEmpty }.map { SubsequenceSearch($0) }
    }

    /// Returns `true` if the whole title matches.
    ///
    /// The writer calls this for each rule of an application when a new fingerprint arrives, so the time is linear in
    /// the length of the title, whatever title and pattern are.
    package func matches(_ title: String) -> Bool {
        var work = 0
        return matches(title, work: &work)
    }

    /// - Parameter work: Increased by the number of comparisons of bytes.
    package func matches(_ title: String, work: inout Int) -> Bool {
        let title = Array(title.utf8)
        work += start.count + end.count
        guard title.starts(with: start) else { return false }
        guard hasStar else { return title.count == start.count }
        var rest = title[start.count...]
        guard rest.count >= end.count, rest.suffix(end.count).elementsEqual(end) else { return false }
        rest = rest.dropLast(end.count)
        for search in middle {
            guard let found = search.firstEnd(in: rest, work: &work) else { return false }
            rest = rest[found...]
        }
        return true
    }
}

/// Finds a text within another one in linear time (Knuth, Morris and Pratt).
private struct SubsequenceSearch: Equatable, Sendable {
    private let text: [UInt8]
    /// For each position, the length of the longest proper prefix of `text` that ends there.
    private let borders: [UInt8]

    /// - Parameter text: The text to find; not empty, and at most as long as a pattern.
    init(_ text: [UInt8]) {
        self.text = text
        var borders = [UInt8](repeating: 0, count: text.count)
        var length = 0
        for index in text.indices.dropFirst() {
            while length > 0, text[index] != text[length] { length = Int(borders[length - 1]) }
            if text[index] == text[length] { length += 1 }
            borders[index] = UInt8(length)
        }
        self.borders = borders
    }

    /// Returns the end of the first occurrence; nil if there is none.
    func firstEnd(in bytes: ArraySlice<UInt8>, work: inout Int) -> Int? {
        var length = 0
        for index in bytes.indices {
            work += 1
            while length > 0, bytes[index] != text[length] {
                length = Int(borders[length - 1])
                work += 1
            }
            if bytes[index] == text[length] { length += 1 }
            if length == text.count { return index + 1 }
        }
        return nil
    }
}
