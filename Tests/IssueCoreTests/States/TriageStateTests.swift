import IssueCore
import IssueProtocol
import Testing

@Suite("What was said of a group")
struct GroupStandingTests {
    private let noon = Timestamp(milliseconds: 1_790_000_000_000)

    /// Reports a record of each version, and answers what each has meant.
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

    @Test("The first record of a resolved group opens it again, and the next is one as any")
    func resolved() {
        var standing = TriageState(.resolved)
        let effects = report(&standing, "", "", at: noon)
        #expect(effects == [.regression, .none])
        #expect(standing == TriageState(hasRegressed: true))
    }

    @Test("Resolved until a newer version, records of the known ones leave it resolved")
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

    @Test("A muted group is silent until its time is over, and then open as if nothing had been said")
    func muted() {
        var standing = TriageState(.muted, mutedUntil: noon)
        let before = report(&standing, "1", "2", at: noon.advanced(by: .milliseconds(-1)))
        #expect(before == [.silence, .silence])
        let then = report(&standing, "1", "1", at: noon)
        #expect(then == [.expiry, .none])
        #expect(standing == TriageState())
    }

    @Test("A mute without a time does not end by itself")
    func mutedForEver() {
        var standing = TriageState(.muted)
        let last = Timestamp(milliseconds: .max)
        let isOver = standing.timePassed(to: last)
        #expect(!isOver)
        let effects = report(&standing, "1", at: last)
        #expect(effects == [.silence])
    }

    @Test("Muted until a newer version, that version ends it and is a regression; its time ends it before")
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

    @Test("What makes no sense together is named: a time for what is not muted or is over, a version for what is open")
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
