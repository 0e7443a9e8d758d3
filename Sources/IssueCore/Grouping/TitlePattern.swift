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

    /// Nil if the text is too long, matches every title, or begins with the control character that marks other
    /// stored forms of `SplitSelector`.
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
    func matches(_ title: String, work: inout Int) -> Bool {
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

    /// Returns the fingerprint of the group that this pattern splits off another group. It is the same on every host.
    package func fingerprint(splitting fingerprint: String) -> String {
        var hash = SipHash(key0: 4)
        hash.append(field: fingerprint)
        hash.append(field: text)
        return Fingerprint.hexadecimal(hash.finish())
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

/// Finds groups that may be the same issue: those whose titles differ in one word.
package enum MergeSuggestions {
    /// The attributes of a group that are compared.
    package struct Candidate: Sendable {
        package var group: GroupID
        package var title: String
        /// The other attributes of its fingerprint. They must be equal.
        package var context: String

        package init(group: GroupID, title: String, context: String) {
            self.group = group
            self.title = title
            self.context = context
        }
    }

    /// Two groups, and the words that differ.
    package struct Pair: Equatable, Sendable {
        package var groups: [GroupID]
        package var words: [String]
    }

    /// The maximum number of words of a title.
    private static let maxWords = 40

    /// Returns pairs of groups whose titles differ in one word, in the order of the candidates.
    ///
    /// Time and memory are linear in the number of words of all titles. Titles of fewer than three words are left out,
    /// because too little of them would be equal. Each group is only compared with the first group that has the same
    /// other words, so a thousand similar groups make a thousand pairs, not a million.
    ///
    /// - Parameter limit: The maximum number of pairs.
    package static func pairs(among candidates: [Candidate], limit: Int) -> [Pair] {
        /// For a title without one of its words, the first candidate, and the index of the omitted word. The key is a
        /// hash, because the texts themselves would take too much memory.
        var first: [UInt64: (candidate: Int32, omitted: Int32)] = [:]
        var pairs: [Pair] = []
        for (index, candidate) in candidates.enumerated() {
            let words = candidate.title.split(separator: " ")
            guard (3...maxWords).contains(words.count) else { continue }
            let hashes = words.map { hash($0) }
            let context = hash(candidate.context[...])
            for omitted in words.indices {
                var hash = SipHash(key0: 5)
                hash.append(context)
                for other in hashes.indices { hash.append(other == omitted ? 0 : hashes[other]) }
                let key = hash.finish()
                guard let known = first[key] else {
                    first[key] = (Int32(index), Int32(omitted))
                    continue
                }
                let other = candidates[Int(known.candidate)]
                let knownWords = other.title.split(separator: " ")
                guard Int(known.omitted) == omitted, other.context == candidate.context,
                    knownWords.count == words.count,
                    words.indices.allSatisfy({ (knownWords[$0] == words[$0]) == ($0 != omitted) })
                else { continue }
                pairs.append(
                    Pair(
                        groups: [other.group, candidate.group],
                        words: [String(knownWords[omitted]), String(words[omitted])]))
                if pairs.count == limit { return pairs }
            }
        }
        return pairs
    }

    private static func hash(_ text: Substring) -> UInt64 {
        var hash = SipHash(key0: 5)
        hash.append(field: String(text))
        return hash.finish()
    }
}
