import IssueCore
import IssueProtocol
import Testing

@Suite("The triage state of a group")
struct TriageStateTests {
    private let noon = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000)

    /// Reports a record of each version and returns the effect of each.
    private func report(
        _ state: inout TriageState, _ versions: String..., at now: IssueTimestamp
    ) -> [TriageState.Effect] {
        versions.map { state.reported(by: ApplicationVersion(text: $0), at: now) }
    }

    @Test("A record of an open group changes nothing")
    func open() {
        var state = TriageState(hasRegressed: true)
        let effects = report(&state, "9", at: noon)
        #expect(effects == [.none])
        #expect(state == TriageState(hasRegressed: true))
    }

    @Test("The first record of a resolved group reopens it, and the next one has no effect")
    func resolved() {
        var state = TriageState(.resolved)
        let effects = report(&state, "", "", at: noon)
        #expect(effects == [.regression, .none])
        #expect(state == TriageState(hasRegressed: true))
    }

    @Test("A group resolved until a newer version stays resolved for records of known versions")
    func resolvedForVersions() {
        let initial = TriageState(.resolved, knownVersion: ApplicationVersion(text: "2.0 (7)"))
        var state = initial
        let known = report(&state, "1.9", "2.0 (7)", "2.0", "2.0 (6)", "", at: noon)
        #expect(known.allSatisfy { $0 == .none })
        #expect(state == initial)
        let newer = report(&state, "2.0 (8)", "2.0 (9)", at: noon)
        #expect(newer == [.regression, .none])
        #expect(state == TriageState(hasRegressed: true))
    }

    @Test("A group resolved in a version is reopened only by versions that have the fix")
    func resolvedIn() {
        let versions = ["2.3", "2.4", "2.3.1", "2.5"].map { ApplicationVersion(text: $0) }
        let history = DeploymentHistory(
            versions.enumerated().map { .init($1, at: noon.advanced(by: .seconds($0)), isObserved: false) })
        for (version, effect) in zip(versions, [.none, .regression, .none, .regression] as [TriageState.Effect]) {
            var state = TriageState(.resolved, fixedIn: versions[1])
            #expect(state.dependsOnVersion)
            let found = state.reported(by: version, at: noon, in: history)
            #expect(found == effect, "\(version.text)")
            #expect(
                state
                    == (effect == .none
                        ? TriageState(.resolved, fixedIn: versions[1]) : TriageState(hasRegressed: true)))
        }
    }

    @Test("A group resolved in the next deployment stays resolved until that is declared")
    func resolvedInNext() {
        let initial = TriageState(.resolved, fixAwaitedSince: noon)
        var state = initial
        let effects = report(&state, "1", "999", "", at: noon.advanced(by: .seconds(1_000_000)))
        #expect(effects == [.none, .none, .none])
        #expect(state == initial)
    }

    @Test("A group muted until a newer version follows the order of deployments")
    func mutedInOrder() {
        let known = ApplicationVersion(text: "def456")
        let history = DeploymentHistory(
            ["abc123", "def456", "c0ffee"].enumerated().map {
                .init(ApplicationVersion(text: $1), at: noon.advanced(by: .seconds($0)), isObserved: false)
            })
        var state = TriageState(.muted, knownVersion: known)
        let old = state.reported(by: ApplicationVersion(text: "abc123"), at: noon, in: history)
        #expect(old == .silence)
        let new = state.reported(by: ApplicationVersion(text: "c0ffee"), at: noon, in: history)
        #expect(new == .regression)
    }

    @Test("A mute until a number of occurrences ends as a regression with the occurrence that reaches the number")
    func mutedForCount() {
        var state = TriageState(.muted, occurrencesLeft: 5)
        for (count, effect, left) in [(1, .silence, 4), (3, .silence, 1), (1, .regression, nil), (1, .none, nil)]
            as [(Int64, TriageState.Effect, Int64?)]
        {
            let found = state.reported(by: ApplicationVersion(), at: noon, count: count)
            #expect(found == effect)
            #expect(state.occurrencesLeft == left)
        }
        #expect(state == TriageState(hasRegressed: true))
        // One record can have more occurrences than are left. A mute until a newer version or a number of occurrences
        // ends with whichever comes first.
        for (count, version, effect) in [
            (1_000_000_000, "1", .regression), (.max, "1", .regression), (1, "1", .silence), (1, "2", .regression),
        ] as [(Int64, String, TriageState.Effect)] {
            state = TriageState(.muted, knownVersion: ApplicationVersion(text: "1"), occurrencesLeft: 5)
            let found = state.reported(by: ApplicationVersion(text: version), at: noon, count: count)
            #expect(found == effect)
        }
        state = TriageState(.muted, mutedUntil: noon, occurrencesLeft: 1)
        let later = state.reported(by: ApplicationVersion(), at: noon)
        #expect(later == .expiry)
    }

    @Test("A requested state has the parts that its parameters name")
    func requested() {
        let known = ApplicationVersion(text: "1")
        let change = IssueStateChange(user: 7, time: noon)
        func state(_ parameters: SetStateParameters) -> TriageState {
            TriageState(parameters, by: 7, knownVersion: known, at: noon)
        }
        #expect(state(.init(group: "g", state: .open)) == TriageState(change: change))
        #expect(state(.init(group: "g", state: .open, note: "")) == TriageState(change: change))
        #expect(
            state(.init(group: "g", state: .muted, note: "Vendor"))
                == TriageState(.muted, change: IssueStateChange(user: 7, time: noon, note: "Vendor")))
        #expect(
            state(.init(group: "g", state: .muted, until: noon, untilNewerVersion: true))
                == TriageState(.muted, mutedUntil: noon, knownVersion: known, change: change))
        #expect(
            state(.init(group: "g", state: .muted, untilCount: 7))
                == TriageState(.muted, occurrencesLeft: 7, change: change))
        #expect(
            state(.init(group: "g", state: .resolved, resolvedIn: "2 (7)"))
                == TriageState(.resolved, fixedIn: ApplicationVersion(name: "2", build: 7), change: change))
        #expect(
            state(.init(group: "g", state: .resolved, isResolvedInNext: true))
                == TriageState(.resolved, fixAwaitedSince: noon, change: change))
    }

    @Test(
        "After a regression, the author and note of the state before are kept, but not after the end of a mute period"
    )
    func changes() {
        let change = IssueStateChange(user: 7, time: noon, note: "Vendor")
        for before in [TriageState(.resolved, change: change), TriageState(.muted, occurrencesLeft: 1, change: change)]
        {
            var state = before
            _ = report(&state, "1", at: noon)
            #expect(state == TriageState(hasRegressed: true, change: change))
        }
        var state = TriageState(.muted, mutedUntil: noon, change: change)
        let silence = report(&state, "1", at: noon.advanced(by: .milliseconds(-1)))
        #expect(silence == [.silence])
        #expect(state.change == change)
        _ = report(&state, "1", at: noon)
        #expect(state == TriageState())
    }

    @Test("The note of a mute is not kept once the mute has ended, even if the group is not yet open")
    func endedMute() {
        let present = TriageState(
            .muted, mutedUntil: noon, change: IssueStateChange(user: 7, time: noon, note: "Vendor"))
        func note(at time: IssueTimestamp) -> String? {
            TriageState(.muted, change: IssueStateChange(user: 8, time: time)).keepingNote(of: present).change?.note
        }
        #expect(note(at: noon.advanced(by: .milliseconds(-1))) == "Vendor")
        #expect(note(at: noon) == nil)
    }

    @Test("A muted group is silent until its mute period ends, and is then open as before")
    func muted() {
        var state = TriageState(.muted, mutedUntil: noon)
        let before = report(&state, "1", "2", at: noon.advanced(by: .milliseconds(-1)))
        #expect(before == [.silence, .silence])
        let then = report(&state, "1", "1", at: noon)
        #expect(then == [.expiry, .none])
        #expect(state == TriageState())
    }

    @Test("A mute without an end does not expire")
    func mutedForEver() {
        var state = TriageState(.muted)
        let last = IssueTimestamp(millisecondsSince1970: .max)
        let isOver = state.timePassed(to: last)
        #expect(!isOver)
        let effects = report(&state, "1", at: last)
        #expect(effects == [.silence])
    }

    @Test("A group muted until a newer version reopens with that version as a regression, or earlier at its end time")
    func mutedForVersions() {
        let initial = TriageState(.muted, mutedUntil: noon, knownVersion: ApplicationVersion(text: "1.0"))
        var state = initial
        let before = report(&state, "1.0", "1.1", "1.0", at: noon.advanced(by: .seconds(-1)))
        #expect(before == [.silence, .regression, .none])
        #expect(state == TriageState(hasRegressed: true))
        state = initial
        let then = report(&state, "1.1", at: noon)
        #expect(then == [.expiry])
        #expect(state == TriageState())
    }

    @Test("A parameter that is invalid or contradicts the state is named")
    func sense() {
        func invalid(_ state: GroupState, until: IssueTimestamp? = nil, version: Bool? = nil) -> String? {
            SetStateParameters(group: "g1", state: state, until: until, untilNewerVersion: version)
                .invalidParameter(at: noon)
        }
        let later = noon.advanced(by: .milliseconds(1))
        #expect(invalid(.muted, until: later, version: true) == nil)
        #expect(invalid(.resolved, version: true) == nil)
        #expect(invalid(.open, version: false) == nil)
        #expect(invalid(.muted, until: noon) == "until")
        #expect(invalid(.resolved, until: later) == "until")
        #expect(invalid(.open, until: later) == "until")
        #expect(invalid(.open, version: true) == "until_newer_version")
        func invalid(_ state: GroupState, count: Int64) -> String? {
            SetStateParameters(group: "g1", state: state, untilCount: count).invalidParameter(at: noon)
        }
        #expect(invalid(.muted, count: 1) == nil)
        #expect(invalid(.muted, count: 1_000_000_000) == nil)
        #expect(invalid(.muted, count: 0) == "until_count")
        #expect(invalid(.muted, count: 1_000_000_001) == "until_count")
        #expect(invalid(.resolved, count: 1) == "until_count")
        func invalid(noteOf bytes: Int) -> String? {
            SetStateParameters(group: "g1", state: .open, note: String(repeating: "n", count: bytes))
                .invalidParameter(at: noon)
        }
        #expect(invalid(noteOf: 1024) == nil)
        #expect(invalid(noteOf: 1025) == "note")
        func invalid(_ state: GroupState, in version: String?, next: Bool? = nil, newer: Bool? = nil) -> String? {
            SetStateParameters(
                group: "g1", state: state, untilNewerVersion: newer, resolvedIn: version, isResolvedInNext: next
            ).invalidParameter(at: noon)
        }
        #expect(invalid(.resolved, in: "2.4") == nil)
        #expect(invalid(.resolved, in: nil, next: true) == nil)
        #expect(invalid(.resolved, in: "") == "resolved_in")
        #expect(invalid(.resolved, in: String(repeating: "1", count: 129)) == "resolved_in")
        #expect(invalid(.muted, in: "2.4") == "resolved_in")
        #expect(invalid(.resolved, in: "2.4", newer: true) == "resolved_in")
        #expect(invalid(.resolved, in: "2.4", next: true) == "resolved_in_next")
        #expect(invalid(.open, in: nil, next: true) == "resolved_in_next")
        #expect(invalid(.resolved, in: nil, next: true, newer: true) == "resolved_in_next")
    }
}
