/// Finds the name that a user probably meant.
package enum NearestName {
    /// Returns the most similar name; nil if none is similar enough, or if the word has more than 64 bytes.
    ///
    /// A word is similar to a name in any of these cases. The last case is used only if no name matches in another way.
    /// Case and leading hyphens do not count.
    ///
    /// - Few edits turn the word into the name: at most a third of the length of the longer one, or a single edit.
    /// - The word has at least four characters, and the name contains it.
    /// - The word has at least two characters, and the name begins with it.
    package static func find(_ word: String, among names: some Sequence<String>) -> String? {
        // No name is longer than 64 bytes, and the time grows with the length.
        guard word.utf8.count <= 64 else { return nil }
        let wanted = word.lowercased().drop { $0 == "-" }
        guard !wanted.isEmpty else { return nil }
        var best: (name: String, distance: Int)?
        var abbreviated: String?
        for name in names {
            let letters = name.lowercased().drop { $0 == "-" }
            let isPart = wanted.count >= 4 && letters.contains(wanted)
            let edits = EditDistance.between(String(wanted), String(letters))
            let distance = isPart ? min(edits, 2) : edits
            let limit = max(1, max(wanted.count, letters.count) / 3)
            if isPart || distance <= limit, distance < best?.distance ?? .max { best = (name, distance) }
            if abbreviated == nil, wanted.count >= 2, letters.hasPrefix(wanted) { abbreviated = name }
        }
        return best?.name ?? abbreviated
    }
}

/// The edit distance of two strings, used for suggestions such as "did you mean …".
package enum EditDistance {
    /// Returns the minimum number of insertions, deletions, replacements and swaps of adjacent characters that turn
    /// `left` into `right`, if no part of the text is edited twice.
    ///
    /// Takes time proportional to the product of the two lengths.
    package static func between(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let isSame = left[row] == right[column]
                var smallest = min(last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    smallest = min(smallest, beforeLast[column - 1] + 1)
                }
                current.append(smallest)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
