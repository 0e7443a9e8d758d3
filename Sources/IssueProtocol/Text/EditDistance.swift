/// The edit distance of two strings, used for suggestions such as "did you mean …".
package enum EditDistance {
    /// Returns the number of insertions, deletions, replacements and swaps of adjacent characters that turn `left` into
    /// `right`.
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
                var least = min(last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    least = min(least, beforeLast[column - 1] + 1)
                }
                current.append(least)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
