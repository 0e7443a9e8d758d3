package import IssueProtocol

/// The triage state of a group, and what a new record changes about it.
package struct TriageState: Equatable, Sendable {
    /// The effect of a new record of the group.
    package enum Effect: Equatable, Sendable {
        /// The record is handled as usual.
        case none
        /// The record is stored and counted, but neither forwarded nor announced.
        case silence
        /// The record reopens a resolved group, or its version or the number of occurrences ends a mute. Operators are
        /// alerted.
        case regression
        /// The group is open again because its mute period has ended.
        case expiry
    }

    package private(set) var state: GroupState
    package private(set) var mutedUntil: IssueTimestamp?
    /// The newest version of the application when the state was set, if the effect of a record depends on whether its
    /// version is newer; otherwise nil.
    package private(set) var knownVersion: ApplicationVersion?
    /// The version that has the fix, if only this version or a later one reopens the group; otherwise nil.
    package private(set) var fixedIn: ApplicationVersion?
    /// The time at which a user stated that the next deployment will resolve the issue, if no further version has been
    /// declared since; otherwise nil. While it is set, no record reopens the group.
    package private(set) var fixAwaitedSince: IssueTimestamp?
    /// The number of further occurrences after which a mute ends; nil if their number does not matter.
    package private(set) var occurrencesLeft: Int64?
    package private(set) var hasRegressed: Bool
    /// Who last set the state, when, and with which note. After a regression, it still describes the state before. Nil
    /// if no user has set the state, or if the state has since changed automatically in another way.
    package private(set) var change: IssueStateChange?

    package init(
        _ state: GroupState = .open, mutedUntil: IssueTimestamp? = nil, knownVersion: ApplicationVersion? = nil,
        fixedIn: ApplicationVersion? = nil, fixAwaitedSince: IssueTimestamp? = nil, occurrencesLeft: Int64? = nil,
        hasRegressed: Bool = false, change: IssueStateChange? = nil
    ) {
        self.change = change
        self.occurrencesLeft = occurrencesLeft
        self.state = state
        self.mutedUntil = mutedUntil
        self.knownVersion = knownVersion
        self.fixedIn = fixedIn
        self.fixAwaitedSince = fixAwaitedSince
        self.hasRegressed = hasRegressed
    }

    /// Creates the state that a user requests.
    ///
    /// - Parameters:
    ///   - parameters: Valid parameters.
    ///   - user: The id of the user who sets the state.
    ///   - knownVersion: The newest version of the application; empty if no version is known. May be nil unless
    ///     `untilNewerVersion` is `true`.
    ///   - now: The wall time.
    package init(
        _ parameters: SetStateParameters, by user: UInt32, knownVersion: ApplicationVersion?, at now: IssueTimestamp
    ) {
        self.init(
            parameters.state, mutedUntil: parameters.until,
            knownVersion: parameters.untilNewerVersion == true ? knownVersion : nil,
            fixedIn: parameters.resolvedIn.map { ApplicationVersion(text: $0) },
            fixAwaitedSince: parameters.isResolvedInNext == true ? now : nil, occurrencesLeft: parameters.untilCount,
            change: IssueStateChange(
                user: user, time: now, note: parameters.note.flatMap { $0.isEmpty ? nil : $0 }))
    }

    /// Returns this new state, with the note of the present state if both states are resolved or both are muted.
    ///
    /// The note of an open group is not kept, because after a regression it belongs to the state before. The new state
    /// must have been set by a user, without a note.
    package func keepingNote(of present: TriageState) -> TriageState {
        guard let change else { return self }
        var present = present
        // A mute may have ended although the store has not reopened the group yet.
        _ = present.timePassed(to: change.time)
        guard state == present.state, state != .open else { return self }
        var kept = self
        kept.change?.note = present.change?.note
        return kept
    }

    /// Whether the effect of a record depends on its version.
    package var dependsOnVersion: Bool { knownVersion != nil || fixedIn != nil }

    /// Applies a record of the group to the state and returns its effect.
    ///
    /// - Parameters:
    ///   - version: The version of the application that reported it.
    ///   - now: The wall time.
    ///   - history: The deployments of the application.
    ///   - count: The number of occurrences in the record.
    package mutating func reported(
        by version: ApplicationVersion, at now: IssueTimestamp, in history: DeploymentHistory = DeploymentHistory(),
        count: Int64 = 1
    ) -> Effect {
        switch state {
        case .open:
            return .none
        case .resolved:
            guard fixAwaitedSince == nil, fixedIn.map({ history.hasFix(version, of: $0) }) ?? true,
                knownVersion.map({ history.isNewer(version, than: $0) }) ?? true
            else { return .none }
            self = TriageState(hasRegressed: true, change: change)
            return .regression
        case .muted:
            if timePassed(to: now) { return .expiry }
            let left = occurrencesLeft.map { max(0, $0.clampedSum(-count)) }
            guard left == 0 || knownVersion.map({ history.isNewer(version, than: $0) }) ?? false else {
                occurrencesLeft = left
                return .silence
            }
            self = TriageState(hasRegressed: true, change: change)
            return .regression
        }
    }

    /// Opens the group if its mute period has ended, and returns `true` if it has.
    package mutating func timePassed(to now: IssueTimestamp) -> Bool {
        guard state == .muted, let mutedUntil, mutedUntil <= now else { return false }
        self = TriageState()
        return true
    }
}

extension TriageState {
    /// Returns the state of a group after another one is merged into it: the one of the two states that hides less.
    ///
    /// An open state takes precedence over a resolved one, and a resolved state over a muted one. Of two resolved
    /// states, the result is the one without `knownVersion` or, if both have one, the one with the older version;
    /// `fixedIn` and `fixAwaitedSince` are not compared. Of two mutes, it is the one whose period ends earlier. If
    /// neither ends earlier, it is the one with a `knownVersion` or, if both have one, the one with the older version;
    /// `occurrencesLeft` is not compared. Of two open states, it is the one that has regressed, or otherwise the one
    /// that a user has set.
    package static func merged(_ first: TriageState, _ second: TriageState) -> TriageState {
        if first.state == .open, second.state == .open {
            guard first.hasRegressed == second.hasRegressed else { return first.hasRegressed ? first : second }
            return first.change == nil ? second : first
        }
        return second.hidesLess(than: first) ? second : first
    }

    private func hidesLess(than other: TriageState) -> Bool {
        guard state == other.state else { return rank > other.rank }
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

    private var rank: Int {
        switch state {
        case .open: 2
        case .resolved: 1
        case .muted: 0
        }
    }

    /// Returns `true` if the other state has a `knownVersion`, and this state has an older version or none.
    private func isOlderVersion(than other: TriageState) -> Bool {
        guard let known = other.knownVersion else { return false }
        return knownVersion.map { known.isNewer(than: $0) } ?? true
    }
}

extension SetStateParameters {
    /// Returns the name of a parameter that is invalid or contradicts the others; nil if there is none.
    ///
    /// - Parameter now: The current wall time.
    package func invalidParameter(at now: IssueTimestamp) -> String? {
        if let until {
            guard state == .muted, until > now else { return "until" }
        }
        if let untilCount {
            guard state == .muted, (1...1_000_000_000).contains(untilCount) else { return "until_count" }
        }
        if let resolvedIn {
            guard state == .resolved, untilNewerVersion != true,
                (1...IssueDeployment.maxVersionBytes).contains(resolvedIn.utf8.count)
            else { return "resolved_in" }
        }
        if isResolvedInNext == true {
            guard state == .resolved, untilNewerVersion != true, resolvedIn == nil else { return "resolved_in_next" }
        }
        if let note, note.utf8.count > IssueStateChange.maxNoteBytes { return "note" }
        return untilNewerVersion == true && state == .open ? "until_newer_version" : nil
    }
}

/// The ranges of rows that were stored while a group was muted. The earliest ranges may be missing.
package struct MutedRows: Equatable, Sendable {
    private let ranges: [ClosedRange<RowID>]

    /// - Parameter ranges: The ranges, in ascending order and without overlaps.
    package init(_ ranges: [ClosedRange<RowID>] = []) {
        self.ranges = ranges
    }

    /// Returns `true` if a row is in one of the ranges.
    package func contains(_ row: RowID) -> Bool {
        let next = ranges.firstPosition { $0.upperBound >= row }
        return next < ranges.count && ranges[next].contains(row)
    }

    /// The end of the last range; nil without ranges. While the group is muted, the range has no end yet, so this is
    /// `RowID.max`.
    package var last: RowID? { ranges.last?.upperBound }
}

/// Decides which open issues are resolved because they have not occurred for a while.
///
/// Like retention, it uses closed ranges and log time, which a wrong wall clock changes by at most a day.
package struct QuietPeriod: Equatable, Sendable {
    /// The time without an occurrence after which an issue is resolved; zero for never.
    package let duration: Duration

    /// The minimum and maximum time between two checks.
    private static let intervals: ClosedRange<Duration> = .seconds(60)...(.seconds(3600))

    package init(_ duration: Duration) {
        self.duration = duration
    }

    /// The time between two checks; nil if issues are never resolved.
    package var interval: Duration? {
        duration > .zero ? min(max(duration / 10, Self.intervals.lowerBound), Self.intervals.upperBound) : nil
    }

    /// Returns the log time before which the last record of an issue must have been received for the issue to be
    /// resolved; nil if issues are never resolved.
    package func end(at now: RecordLogInstant) -> RecordLogInstant? {
        duration > .zero ? now.advanced(by: .zero - duration) : nil
    }

    /// What is known about the last records of one series of an issue.
    package struct Activity: Equatable, Sendable {
        /// The last closed range with a record of the series; nil if there is none.
        package var lastRange: Int64?
        /// Whether the open range may have a record of the series.
        package var mayBeOpen: Bool

        package init(lastRange: Int64?, mayBeOpen: Bool) {
            self.lastRange = lastRange
            self.mayBeOpen = mayBeOpen
        }
    }

    /// Returns `true` if an issue is to be resolved.
    ///
    /// - Parameters:
    ///   - state: The state of the issue.
    ///   - activities: The activity of each of its series.
    ///   - range: The newest closed range whose last record was received before `end(at:)`.
    package static func resolves(
        _ state: GroupState, _ activities: some Collection<Activity>, quietThrough range: Int64
    ) -> Bool {
        guard state == .open, !activities.isEmpty else { return false }
        return activities.allSatisfy { !$0.mayBeOpen && $0.lastRange.map { $0 <= range } ?? false }
    }
}

/// Limits how often an ordinary user changes issues and declares deployments.
///
/// Each change is a transaction of its own, for which all reports wait. A change of the grouping also ends the scans of
/// the destinations early. Without a limit, one user could therefore delay the forwarding of everyone's records.
package struct ChangeRateLimit: Sendable {
    package enum Kind: Int, CaseIterable, Sendable {
        /// A state of an issue, or a deployment.
        case state
        /// A correction of the grouping.
        case grouping

        /// The number of changes that are possible at once.
        package var burst: Int64 {
            switch self {
            case .state: 1000
            case .grouping: 100
            }
        }

        /// The time after which one more change is possible, once the burst is used up.
        package var interval: Duration {
            switch self {
            case .state: .milliseconds(100)
            case .grouping: .seconds(1)
            }
        }
    }

    private struct Key: Hashable {
        var kind: Kind
        var user: UInt32
    }

    /// The maximum number of entries in `fullAt`. When it is reached, entries whose whole burst is available are
    /// removed. If that frees no entry, the changes of users without an entry are not counted.
    private static let maxEntries = 4096

    /// The time at which the whole burst is available again, for each user and kind.
    private var fullAt: [Key: MonotonicInstant] = [:]

    package init() {}

    /// Counts a change, unless the user must wait.
    ///
    /// - Parameter user: The accountable user.
    /// - Returns: The time to wait; nil if the change is possible now.
    package mutating func take(_ kind: Kind, user: UInt32, at now: MonotonicInstant) -> Duration? {
        let key = Key(kind: kind, user: user)
        let next = max(fullAt[key] ?? now, now).advanced(by: kind.interval)
        let excess = now.duration(to: next) - kind.interval * Int(kind.burst)
        if excess > .zero { return excess }
        if fullAt.count >= Self.maxEntries { fullAt = fullAt.filter { $0.value > now } }
        if fullAt.count < Self.maxEntries || fullAt[key] != nil { fullAt[key] = next }
        return nil
    }
}

/// Limits how many changes by ordinary users are logged individually, so that no user can flood the log. Changes of
/// states, of the grouping and of deployments count.
///
/// Changes are counted in windows of one minute. The number of changes that were not logged in a window is reported
/// with the first change after the window.
package struct ChangeLogLimit: Sendable {
    /// The maximum number of logged changes of one user per minute.
    package static let perUser = 10
    /// The maximum number of logged changes of all users per minute.
    package static let perMinute = 60
    private static let window: Duration = .seconds(60)

    /// The start of the current window; nil before the first change.
    private var begin: MonotonicInstant?
    private var counts: [UInt32: Int] = [:]
    private var logged = 0
    private var leftOut = 0

    package init() {}

    /// Counts a change.
    ///
    /// - Parameters:
    ///   - user: The accountable user.
    ///   - now: The current time.
    /// - Returns: `isLogged` is `true` if the change is to be logged. `leftOut` is the number of changes that were not
    ///   logged in the last window; 0 unless this is the first change after it.
    package mutating func changed(by user: UInt32, at now: MonotonicInstant) -> (isLogged: Bool, leftOut: Int) {
        var earlier = 0
        if begin.map({ $0.advanced(by: Self.window) <= now }) ?? true {
            earlier = leftOut
            self = ChangeLogLimit()
            begin = now
        }
        // `counts` has at most one entry for each logged line.
        guard logged < Self.perMinute, counts[user, default: 0] < Self.perUser else {
            leftOut += 1
            return (false, earlier)
        }
        logged += 1
        counts[user, default: 0] += 1
        return (true, earlier)
    }
}
