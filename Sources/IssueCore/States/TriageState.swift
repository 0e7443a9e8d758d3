package import IssueProtocol

/// The state that a user has set for a group, and its effect on new records.
package struct TriageState: Equatable, Sendable {
    /// The effect of a record of the group.
    package enum Effect: Equatable, Sendable {
        /// The record is handled as usual.
        case none
        /// The record is stored and counted, but not sent or logged.
        case silence
        /// The record reopens a resolved group, or ends a mute by its version or by the number of occurrences.
        /// Operators are alerted.
        case regression
        /// The group is open again because its mute period has ended.
        case expiry
    }

    package private(set) var state: GroupState
    package private(set) var mutedUntil: IssueTimestamp?
    /// The newest version of the application when the state was set; nil unless only a newer version reopens the group.
    package private(set) var knownVersion: ApplicationVersion?
    /// The version that has the fix; nil unless only this version or a later one reopens the group.
    package private(set) var fixedIn: ApplicationVersion?
    /// The time at which the issue was resolved in the next deployment; nil unless that deployment is awaited. Until
    /// then, no record reopens the group.
    package private(set) var fixAwaitedSince: IssueTimestamp?
    /// The number of further occurrences after which a mute ends; nil if their number does not end it.
    package private(set) var occurrencesLeft: Int64?
    package private(set) var hasRegressed: Bool
    /// The user who last set the state or, after a regression, the previous state, with the time and the note; nil if
    /// no user did, or if it has changed automatically in another way since.
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
    ///   - knownVersion: The newest version of the application.
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

    /// Returns this state with the note of `present` if both are resolved or both are muted. This state must have been
    /// set by a user without a note. An open group has no note to keep: after a regression, its note belongs to the
    /// previous state.
    package func keepingNote(of present: TriageState) -> TriageState {
        guard let change else { return self }
        var present = present
        // A group whose mute has ended is only reopened a little later.
        _ = present.timePassed(to: change.time)
        guard state == present.state, state != .open else { return self }
        var kept = self
        kept.change?.note = present.change?.note
        return kept
    }

    /// `true` if the effect of a record depends on its version.
    package var dependsOnVersion: Bool { knownVersion != nil || fixedIn != nil }

    /// Applies a record of the group to the state and returns its effect.
    ///
    /// - Parameters:
    ///   - version: The version of the application that reported it.
    ///   - now: The wall time.
    ///   - history: The deployments of the application.
    ///   - count: The number of its occurrences.
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

extension SetStateParameters {
    /// Returns the name of a parameter that contradicts the others, or nil if they are consistent.
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

/// The ranges of rows during which a group was muted.
package struct MutedRows: Equatable, Sendable {
    private let stretches: [ClosedRange<RowID>]

    /// - Parameter stretches: The ranges, in ascending order and without overlaps.
    package init(_ stretches: [ClosedRange<RowID>] = []) {
        self.stretches = stretches
    }

    /// Returns `true` if the group was muted at a row.
    package func contains(_ row: RowID) -> Bool {
        let next = stretches.firstPosition { $0.upperBound >= row }
        return next < stretches.count && stretches[next].contains(row)
    }

    /// The last muted row; nil if the group was never muted.
    package var last: RowID? { stretches.last?.upperBound }
}

/// A version made of numbers, such as `2.10.1-beta.2+7`, which can be compared with others.
struct Release: Comparable {
    /// A part between dots: a number of any length, or a text. Texts sort after all numbers.
    private enum Part: Comparable {
        case number(length: Int, digits: String)
        case word(String)

        init(_ text: Substring) {
            if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
                let digits = text.drop { $0 == "0" }
                self = .number(length: digits.utf8.count, digits: String(digits))
            } else {
                self = .word(String(text))
            }
        }

        static let zero = Part("0")

        var isNumber: Bool {
            if case .number = self { true } else { false }
        }
    }

    private let numbers: [Part]
    /// The pre-release part; empty for the release itself.
    private let before: [Part]
    /// The part after the plus sign.
    private let behind: [Part]

    /// Parses a version. Nil unless its first part consists of numbers only.
    init?(_ text: String) {
        let parts = text.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
        let halves = (parts.first ?? "").split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        var release = halves.first ?? ""
        if release.hasPrefix("v") || release.hasPrefix("V") { release = release.dropFirst() }
        var numbers = Self.parts(release)
        guard numbers.allSatisfy(\.isNumber) else { return nil }
        while numbers.count > 1, numbers.last == .zero { numbers.removeLast() }
        self.numbers = numbers
        before = halves.count > 1 ? Self.parts(halves[1]) : []
        behind = parts.count > 1 ? Self.parts(parts[1]) : []
    }

    private static func parts(_ text: Substring) -> [Part] {
        text.split(separator: ".", omittingEmptySubsequences: false).map { Part($0) }
    }

    static func < (left: Self, right: Self) -> Bool {
        if left.numbers != right.numbers { return left.numbers.lexicographicallyPrecedes(right.numbers) }
        if left.before != right.before {
            if left.before.isEmpty || right.before.isEmpty { return right.before.isEmpty }
            return left.before.lexicographicallyPrecedes(right.before)
        }
        return left.behind.lexicographicallyPrecedes(right.behind)
    }
}

/// The version of an application. Versions have an order if their form allows it.
package struct ApplicationVersion: Hashable, Sendable {
    package var name: String?
    package var build: Int64?

    package init(name: String? = nil, build: Int64? = nil) {
        self.name = name
        self.build = build
    }

    /// The stored and displayed form: `2.0.0 (2500)`.
    package var text: String {
        let name = name ?? ""
        guard let build else { return name }
        return name.isEmpty ? "(\(build))" : "\(name) (\(build))"
    }

    package init(text: String) {
        var name = text[...]
        if text.hasSuffix(")"), let open = text.lastIndex(of: "("),
            let build = Int64(text[text.index(after: open)...].dropLast()), text.hasSuffix("(\(build))")
        {
            self.build = build
            name = text[..<open]
            if name.hasSuffix(" ") { name = name.dropLast() }
        }
        self.name = name.isEmpty ? nil : String(name)
    }

    /// Returns `true` if this version came out after another one.
    ///
    /// Numeric versions are compared numerically, and a pre-release (`2.0-beta`) precedes its release. If they are
    /// equal, the builds decide. Other version names have no order: any name other than the known one counts as newer.
    package func isNewer(than other: ApplicationVersion) -> Bool {
        switch (name, other.name) {
        case (nil, nil): return isLaterBuild(than: other, orElse: build != nil && other.build == nil)
        case (nil, _): return false
        case (_, nil): return true
        case (let own?, let known?):
            guard own != known else { return isLaterBuild(than: other, orElse: false) }
            guard let own = Release(own), let known = Release(known) else { return true }
            return own == known ? isLaterBuild(than: other, orElse: false) : known < own
        }
    }

    /// Returns `true` if this version precedes another one by its number or its build, `false` if it follows it or both
    /// are equal, and nil if they have no such order.
    package func precedes(_ other: ApplicationVersion) -> Bool? {
        let (own, other) = (spelledUniformly, other.spelledUniformly)
        if own.name == other.name {
            guard let build = own.build, let known = other.build else { return nil }
            return build < known
        }
        guard let number = own.name.flatMap(Release.init), let known = other.name.flatMap(Release.init) else {
            return nil
        }
        return number < known
    }

    private func isLaterBuild(than other: ApplicationVersion, orElse answer: Bool) -> Bool {
        guard let build, let known = other.build else { return answer }
        return build > known
    }

    /// Sets this to the newer of two versions. If they have no order, to `other`.
    package mutating func raise(to other: ApplicationVersion) {
        if other.isNewer(than: self) { self = other }
    }
}

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

/// Decides which open issues are resolved because they have not occurred for a while.
///
/// Like retention, it uses log time and closed ranges: a wall clock that is set wrong resolves nothing.
package struct QuietPeriod: Equatable, Sendable {
    /// How long an issue must not have occurred; zero to resolve none.
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

    /// Returns the log time before which the last record of a quiet issue was received; nil if there are none.
    package func end(at now: RecordLogInstant) -> RecordLogInstant? {
        duration > .zero ? now.advanced(by: .zero - duration) : nil
    }

    /// The known activity of a series of an issue.
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
    ///   - activities: The known activities of its series.
    ///   - range: The newest closed range whose last record came before the end of the quiet period.
    package static func resolves(
        _ state: GroupState, _ activities: some Collection<Activity>, quietThrough range: Int64
    ) -> Bool {
        guard state == .open, !activities.isEmpty else { return false }
        return activities.allSatisfy { !$0.mayBeOpen && $0.lastRange.map { $0 <= range } ?? false }
    }
}
