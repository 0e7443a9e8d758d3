/// A pattern for titles of groups, in which `*` matches any text, including none.
package struct TitlePattern: Equatable, Sendable {
    /// The maximum length of a pattern, in bytes of UTF-8.
    package static let maxBytes = 200

    package let text: String
    private let bytes: [UInt8]

    /// Nil if the text is too long or matches every title.
    package init?(_ text: String) {
        bytes = Array(text.utf8)
        guard bytes.count <= Self.maxBytes, bytes.contains(where: { $0 != UInt8(ascii: "*") }) else { return nil }
        self.text = text
    }

    /// Returns `true` if the whole title matches.
    ///
    /// The time is at most proportional to the product of the lengths of title and pattern.
    package func matches(_ title: String) -> Bool {
        let title = Array(title.utf8)
        var (place, index) = (0, 0)
        /// Where matching continues after a mismatch: after the last star, with one more byte for it.
        var retry: (place: Int, index: Int)?
        while index < title.count {
            if place < bytes.count, bytes[place] == UInt8(ascii: "*") {
                retry = (place + 1, index)
                place += 1
            } else if place < bytes.count, bytes[place] == title[index] {
                (place, index) = (place + 1, index + 1)
            } else if let last = retry {
                retry = (last.place, last.index + 1)
                (place, index) = (last.place, last.index + 1)
            } else {
                return false
            }
        }
        return bytes[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }

    /// Returns the fingerprint of the group that this pattern splits off another group. It is the same on every host.
    package func fingerprint(splitting fingerprint: String) -> String {
        var hash = SipHash(key0: 4)
        hash.append(field: fingerprint)
        hash.append(field: text)
        return Fingerprint.hexadecimal(hash.finish())
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

    private struct Key: Hashable {
        var context: String
        var words: [Substring]
    }

    /// The maximum number of words of a title.
    private static let maxWords = 40

    /// Returns pairs of groups whose titles differ in one word, in the order of the candidates.
    ///
    /// The time is linear in the number of all words. Titles of fewer than three words are left out, because too little
    /// of them would be equal. A group is compared with the first group that has the other words only, so a
    /// thousand similar groups make a thousand pairs, not a million.
    ///
    /// - Parameter limit: The maximum number of pairs.
    package static func pairs(among candidates: [Candidate], limit: Int) -> [Pair] {
        var first: [Key: (candidate: Int, word: Substring)] = [:]
        var pairs: [Pair] = []
        for (index, candidate) in candidates.enumerated() {
            let words = candidate.title.split(separator: " ")
            guard (3...maxWords).contains(words.count) else { continue }
            for place in words.indices {
                var others = words
                others[place] = "\u{0}"
                let key = Key(context: candidate.context, words: others)
                guard let known = first[key] else {
                    first[key] = (index, words[place])
                    continue
                }
                guard known.word != words[place] else { continue }
                pairs.append(
                    Pair(
                        groups: [candidates[known.candidate].group, candidate.group],
                        words: [String(known.word), String(words[place])]))
                if pairs.count == limit { return pairs }
            }
        }
        return pairs
    }
}
