import IssueProtocol

/// Finds what somebody probably meant.
package enum NearestName {
    /// ` (did you mean X?)`, or nothing when no name is near.
    static func suggestion(for word: String, among names: [String]) -> String {
        find(word, among: names).map { " (did you mean \($0)?)" } ?? ""
    }

    /// The name that the fewest slips of the finger turn into the word.
    package static func find(_ word: String, among names: [String]) -> String? {
        // Nobody mistypes a name at this length, and the comparison costs the square of it.
        guard word.count <= 64 else { return nil }
        let word = word.lowercased()
        let bare = word.drop { $0 == "-" }
        guard !bare.isEmpty else { return nil }
        let rated = names.map { name in (name: name, distance: EditDistance.between(word, name.lowercased())) }
        guard let best = rated.min(by: { $0.distance < $1.distance }) else { return nil }
        if best.distance <= max(1, bare.count / 3) { return best.name }
        // Somebody who writes the start of a name, or more than the name, means it.
        guard bare.count >= 2 else { return nil }
        return names.first { $0.drop { $0 == "-" }.lowercased().hasPrefix(bare) }
    }
}
