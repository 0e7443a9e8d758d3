import IssueCore
import IssueProtocol
import Testing

@Suite("The triage state of a group")
struct GroupStandingTests {
    private let noon = Timestamp(milliseconds: 1_790_000_000_000)

    /// Reports a record of each version and returns the effect of each.
    private func report(
        _ standing: inout TriageState, _ versions: String..., at now: Timestamp
    ) -> [TriageState.Effect] {
        versions.map { standing.reported(by: ApplicationVersion(text: $0), at: now) }
    }

    @Test("A record of an open group changes nothing")
    func open() {
        var standing = TriageState(hasRegressed: true)
        let effects = report(&standing, "9", at: noon)
        #expect(effects == [.none])
        #expect(standing == TriageState(hasRegressed: true))
    }

    @Test("The first record of a resolved group reopens it, and the next one has no effect")
    func resolved() {
        var standing = TriageState(.resolved)
        let effects = report(&standing, "", "", at: noon)
        #expect(effects == [.regression, .none])
        #expect(standing == TriageState(hasRegressed: true))
    }

    @Test("A group resolved until a newer version stays resolved for records of known versions")
    func resolvedForVersions() {
        let said = TriageState(.resolved, knownVersion: ApplicationVersion(text: "2.0 (7)"))
        var standing = said
        let known = report(&standing, "1.9", "2.0 (7)", "2.0", "2.0 (6)", "", at: noon)
        #expect(known.allSatisfy { $0 == .none })
        #expect(standing == said)
        let newer = report(&standing, "2.0 (8)", "2.0 (9)", at: noon)
        #expect(newer == [.regression, .none])
        #expect(standing == TriageState(hasRegressed: true))
    }

    @Test("A muted group is silent until its mute period ends, and is then open as before")
    func muted() {
        var standing = TriageState(.muted, mutedUntil: noon)
        let before = report(&standing, "1", "2", at: noon.advanced(by: .milliseconds(-1)))
        #expect(before == [.silence, .silence])
        let then = report(&standing, "1", "1", at: noon)
        #expect(then == [.expiry, .none])
        #expect(standing == TriageState())
    }

    @Test("A mute without an end does not expire")
    func mutedForEver() {
        var standing = TriageState(.muted)
        let last = Timestamp(milliseconds: .max)
        let isOver = standing.timePassed(to: last)
        #expect(!isOver)
        let effects = report(&standing, "1", at: last)
        #expect(effects == [.silence])
    }

    @Test("A group muted until a newer version reopens with that version as a regression, or earlier at its end time")
    func mutedForVersions() {
        let said = TriageState(.muted, mutedUntil: noon, knownVersion: ApplicationVersion(text: "1.0"))
        var standing = said
        let before = report(&standing, "1.0", "1.1", "1.0", at: noon.advanced(by: .seconds(-1)))
        #expect(before == [.silence, .regression, .none])
        #expect(standing == TriageState(hasRegressed: true))
        standing = said
        let then = report(&standing, "1.1", at: noon)
        #expect(then == [.expiry])
        #expect(standing == TriageState())
    }

    @Test("The parameter that contradicts the state is named")
    func sense() {
        func invalid(_ state: GroupState, until: Timestamp? = nil, version: Bool? = nil) -> String? {
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
    }
}
