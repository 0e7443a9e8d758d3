import IssueProtocol

/// Finds the name that somebody may have meant.
enum NearestName {
    /// The nearest candidate, unless even that is far off.
    static func to(_ name: String, among candidates: some Sequence<String>) -> String? {
        // Nobody mistypes a name of that length, and the work grows with it.
        guard name.utf8.count <= 64 else { return nil }
        let wanted = name.lowercased()
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let letters = candidate.lowercased()
            let isPart = wanted.count >= 4 && letters.contains(wanted)
            let distance = isPart ? 2 : EditDistance.between(wanted, letters)
            guard distance <= max(1, max(wanted.count, letters.count) / 3) else { continue }
            if distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }
}
