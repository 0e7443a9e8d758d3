import IssueCore
import IssueProtocol
import Testing

@Suite("What was said of a group")
struct GroupStandingTests {
    private let noon = Timestamp(milliseconds: 1_790_000_000_000)

    /// Reports a record of each version, and answers what each has meant.
    private func report(
        _ standing: inout GroupStanding, _ versions: String..., at now: Timestamp
    ) -> [GroupStanding.Effect] {
        versions.map { standing.reported(by: ApplicationVersion(text: $0), at: now) }
    }

    @Test("A record of an open group changes nothing")
    func open() {
        var standing = GroupStanding(hasRegressed: true)
        let effects = report(&standing, "9", at: noon)
        #expect(effects == [.none])
        #expect(standing == GroupStanding(hasRegressed: true))
    }

    @Test("The first record of a resolved group opens it again, and the next is one as any")
    func resolved() {
        var standing = GroupStanding(.resolved)
        let effects = report(&standing, "", "", at: noon)
        #expect(effects == [.regression, .none])
        #expect(standing == GroupStanding(hasRegressed: true))
    }

    @Test("Resolved until a newer version, records of the known ones leave it resolved")
    func resolvedForVersions() {
        let said = GroupStanding(.resolved, knownVersion: ApplicationVersion(text: "2.0 (7)"))
        var standing = said
        let known = report(&standing, "1.9", "2.0 (7)", "2.0", "2.0 (6)", "", at: noon)
        #expect(known.allSatisfy { $0 == .none })
        #expect(standing == said)
        let newer = report(&standing, "2.0 (8)", "2.0 (9)", at: noon)
        #expect(newer == [.regression, .none])
        #expect(standing == GroupStanding(hasRegressed: true))
    }

    @Test("A muted group is silent until its time is over, and then open as if nothing had been said")
    func muted() {
        var standing = GroupStanding(.muted, mutedUntil: noon)
        let before = report(&standing, "1", "2", at: noon.advanced(by: .milliseconds(-1)))
        #expect(before == [.silence, .silence])
        let then = report(&standing, "1", "1", at: noon)
        #expect(then == [.expiry, .none])
        #expect(standing == GroupStanding())
    }

    @Test("A mute without a time does not end by itself")
    func mutedForEver() {
        var standing = GroupStanding(.muted)
        let last = Timestamp(milliseconds: .max)
        let isOver = standing.timePassed(to: last)
        #expect(!isOver)
        let effects = report(&standing, "1", at: last)
        #expect(effects == [.silence])
    }

    @Test("Muted until a newer version, that version ends it and is a regression; its time ends it before")
    func mutedForVersions() {
        let said = GroupStanding(.muted, mutedUntil: noon, knownVersion: ApplicationVersion(text: "1.0"))
        var standing = said
        let before = report(&standing, "1.0", "1.1", "1.0", at: noon.advanced(by: .seconds(-1)))
        #expect(before == [.silence, .regression, .none])
        #expect(standing == GroupStanding(hasRegressed: true))
        standing = said
        let then = report(&standing, "1.1", at: noon)
        #expect(then == [.expiry])
        #expect(standing == GroupStanding())
    }

    @Test("What makes no sense together is named: a time for what is not muted or is over, a version for what is open")
    func sense() {
        func senseless(_ state: GroupState, until: Timestamp? = nil, version: Bool? = nil) -> String? {
            SetStateParameters(group: "g1", state: state, until: until, untilNewerVersion: version)
                .senselessParameter(at: noon)
        }
        let later = noon.advanced(by: .milliseconds(1))
        #expect(senseless(.muted, until: later, version: true) == nil)
        #expect(senseless(.resolved, version: true) == nil)
        #expect(senseless(.open, version: false) == nil)
        #expect(senseless(.muted, until: noon) == "until")
        #expect(senseless(.resolved, until: later) == "until")
        #expect(senseless(.open, until: later) == "until")
        #expect(senseless(.open, version: true) == "until_newer_version")
    }
}
