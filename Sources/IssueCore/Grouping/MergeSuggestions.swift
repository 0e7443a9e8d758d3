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
