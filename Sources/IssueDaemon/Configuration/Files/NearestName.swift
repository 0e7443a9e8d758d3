/// Finds the name that somebody may have meant.
enum NearestName {
    /// The nearest candidate, unless even that is far off.
    static func to(_ name: String, among candidates: some Sequence<String>) -> String? {
        // Nobody mistypes a name of that length, and the work grows with it.
        guard name.utf8.count <= 64 else { return nil }
        let wanted = Array(name.lowercased())
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let letters = Array(candidate.lowercased())
            let isPart = wanted.count >= 4 && candidate.lowercased().contains(name.lowercased())
            let distance = isPart ? 2 : distance(from: wanted, to: letters)
            guard distance <= max(1, max(wanted.count, letters.count) / 3) else { continue }
            if distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// How many letters must be changed, added, removed or swapped with their neighbour.
    private static func distance(from source: [Character], to target: [Character]) -> Int {
        var before: [Int] = []
        var previous = Array(0...target.count)
        for row in source.indices {
            var current = [row + 1]
            for column in target.indices {
                let isSame = source[row] == target[column]
                var least = min(
                    previous[column] + (isSame ? 0 : 1), previous[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, source[row] == target[column - 1], source[row - 1] == target[column] {
                    least = min(least, before[column - 1] + 1)
                }
                current.append(least)
            }
            (before, previous) = (previous, current)
        }
        return previous[target.count]
    }
}
