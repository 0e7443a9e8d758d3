import IssueProtocol

extension TriageState {
    /// Returns the state of a group that two groups are merged into: the one that alerts sooner.
    ///
    /// An open group alerts sooner than a resolved one, and a resolved one sooner than a muted one. Of two resolved
    /// groups, it is the one that any record reopens, or else the older version. Of two muted ones, it is the one that
    /// ends earlier. If both are open, it is the one that has regressed, or else the one that a user has opened.
    package static func merged(_ first: TriageState, _ second: TriageState) -> TriageState {
        if first.state == .open, second.state == .open {
            guard first.hasRegressed == second.hasRegressed else { return first.hasRegressed ? first : second }
            return first.change == nil ? second : first
        }
        return second.alertsSooner(than: first) ? second : first
    }

    private func alertsSooner(than other: TriageState) -> Bool {
        guard state == other.state else { return urgency > other.urgency }
        switch state {
        case .open: return false
        case .resolved: return isOlderVersion(than: other)
        case .muted:
            guard mutedUntil == other.mutedUntil else {
                guard let mutedUntil else { return false }
                return other.mutedUntil.map { mutedUntil < $0 } ?? true
            }
            guard knownVersion != nil, other.knownVersion != nil else {
                return knownVersion != nil && other.knownVersion == nil
            }
            return isOlderVersion(than: other)
        }
    }

    private var urgency: Int {
        switch state {
        case .open: 2
        case .resolved: 1
        case .muted: 0
        }
    }

    /// Returns `true` if records of more versions end this state than end the other one.
    private func isOlderVersion(than other: TriageState) -> Bool {
        guard let known = other.knownVersion else { return false }
        return knownVersion.map { known.isNewer(than: $0) } ?? true
    }
}
