package import IssueProtocol

/// What somebody has said of a group, and what follows from it for the records that come.
package struct GroupStanding: Equatable, Sendable {
    /// What a record of the group means.
    package enum Effect: Equatable, Sendable {
        /// It goes the way of every record.
        case none
        /// It is stored and counted, and nobody is told.
        case silence
        /// The group is open again, since what was resolved is back: that must be told.
        case regression
        /// The group is open again, since the time is over for which it was muted.
        case expiry
    }

    package private(set) var state: GroupState
    package private(set) var mutedUntil: Timestamp?
    /// The newest version of the application that was known when it was said, where only a newer one is to undo it.
    package private(set) var knownVersion: ApplicationVersion?
    package private(set) var hasRegressed: Bool

    package init(
        _ state: GroupState = .open, mutedUntil: Timestamp? = nil, knownVersion: ApplicationVersion? = nil,
        hasRegressed: Bool = false
    ) {
        self.state = state
        self.mutedUntil = mutedUntil
        self.knownVersion = knownVersion
        self.hasRegressed = hasRegressed
    }

    /// A record of the group came in.
    package mutating func reported(by version: ApplicationVersion, at now: Timestamp) -> Effect {
        switch state {
        case .open:
            return .none
        case .resolved:
            guard knownVersion.map({ version.isNewer(than: $0) }) ?? true else { return .none }
            self = GroupStanding(hasRegressed: true)
            return .regression
        case .muted:
            if timePassed(to: now) { return .expiry }
            guard let knownVersion, version.isNewer(than: knownVersion) else { return .silence }
            self = GroupStanding(hasRegressed: true)
            return .regression
        }
    }

    /// Time has gone on; answers whether that has ended what was said.
    package mutating func timePassed(to now: Timestamp) -> Bool {
        guard state == .muted, let mutedUntil, mutedUntil <= now else { return false }
        self = GroupStanding()
        return true
    }
}
