import IssueCore
import IssueProtocol
import IssueStore
import Testing

@testable import IssueDaemon

@Suite("Who sees which limits")
struct LimitRightsTests {
    @Test("Users see their own limits, viewers of everything see all, and users without rights see none")
    func viewers() {
        let registry = StatusRegistry(path: "/nonexistent/issues.db")
        registry.counted(CardinalityOverflow(uid: 1001, kind: .issues))
        let announcements = [nil, 1000, 1001].map { LimitStatus(.announcementsNew, uid: $0, level: 3, capacity: 10) }
        func limits(_ viewer: Viewer) -> [LimitStatus] {
            registry.limits(announcements: announcements, viewer: viewer).limits
        }
        #expect(limits(.user(1000)).map(\.uid) == [1000])
        #expect(limits(.user(1001)).map(\.name) == ["new_groups", "announcements_new"])
        #expect(limits(.nothing).isEmpty)
        // Besides the announcements: four limits of the cardinality guard, and the user who exceeded one of them.
        #expect(limits(.everything).count == 3 + 4 + 1)
        #expect(limits(.everything).first?.held == 1)
    }

    @Test("A reply is computed once for all queries with the same rights, while it is among the last four")
    func cached() {
        var replies = ReplyCache<Int>()
        var made = 0
        func reply(_ viewer: Viewer) -> Int {
            replies.reply(to: viewer) {
                made += 1
                return made
            }
        }
        #expect((0..<1024).map { _ in reply(.user(1000)) }.allSatisfy { $0 == 1 })
        #expect(reply(.everything) == 2 && reply(.user(1000)) == 1)
        for user in 1..<5 as Range<UInt32> { _ = reply(.user(user)) }
        #expect(reply(.everything) == 7)
    }

    @Test("Limits are counted since the daemon's start or, if this is later, the start of a destination's history")
    func since() {
        let registry = StatusRegistry(path: "/nonexistent/issues.db")
        func since() -> IssueTimestamp { registry.limits(announcements: [], viewer: .everything).since }
        let start = since()
        let changed = start.advanced(by: .seconds(60))
        var admission = Admission(settings: LimitSettings())
        admission.historyBegan(at: changed)
        let view = LimitView(admission, offset: 0, at: RecordLogInstant(milliseconds: 0))
        registry.update(view, of: "d")
        // A destination that was removed does not count.
        #expect(since() == start)
        registry.update(
            StatusRegistry.Forwarder(name: "d", view: ForwardingView(state: .idle), state: DestinationRow.State()))
        #expect(since() == changed)
    }
}
