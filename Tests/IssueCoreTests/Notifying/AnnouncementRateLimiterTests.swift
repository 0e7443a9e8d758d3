import IssueProtocol
import Testing

@testable import IssueCore

@Suite("Announcements of single records")
struct AnnouncementRateLimiterTests {
    private typealias Event = (record: PriorityRecord, at: RecordLogInstant)

    private func events(_ traffic: inout SeededGenerator, count: Int, users: Int64) -> [Event] {
        var time: Int64 = 0
        return (1...RowID(count)).map { record in
            if traffic.happens(oneIn: 10) { time += traffic.number(below: 3_000) }
            if traffic.happens(oneIn: 200) { time += traffic.number(below: 300_000) }
            let reason: PriorityReason = [.firstOfGroup, .critical, .regression][Int(traffic.number(below: 3))]
            let uid = UInt32(traffic.number(below: users))
            return (PriorityRecord(row: record, reason: reason, uid: uid), RecordLogInstant(milliseconds: time))
        }
    }

    private func admitted(_ events: [Event]) -> Set<RowID> {
        var limit = AnnouncementRateLimiter(at: RecordLogInstant(milliseconds: 0))
        return Set(events.filter { limit.admits($0.record, at: $0.at) }.map(\.record.row))
    }

    @Test(
        "A user's announcements depend only on their own reports while at most four users are noisy", arguments: 0..<8)
    func users(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        let all = events(&traffic, count: 4000, users: AnnouncementRateLimiter.noisyUsers)
        let together = admitted(all)
        #expect(together.count < all.count)
        for uid in 0..<UInt32(AnnouncementRateLimiter.noisyUsers) {
            let own = all.filter { $0.record.uid == uid }
            #expect(admitted(own) == together.intersection(own.map(\.record.row)))
        }
    }

    @Test("New groups use none of the budget for critical and regressed records, and vice versa", arguments: 0..<8)
    func kinds(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        let all = events(&traffic, count: 4000, users: 40)
        let together = admitted(all)
        for isNew in [true, false] {
            let ofKind = all.filter { ($0.record.reason == .firstOfGroup) == isNew }
            #expect(admitted(ofKind) == together.intersection(ofKind.map(\.record.row)))
        }
    }

    @Test(
        "In any minute, the new groups announced for any number of users do not exceed the shared burst and one refill",
        arguments: 0..<8)
    func bounded(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        let all = events(&traffic, count: 8000, users: 100_000)
        let together = admitted(all)
        let times = all.filter { together.contains($0.record.row) && $0.record.reason == .firstOfGroup }.map(\.at)
        let limit = AnnouncementRateLimiter.totalLimit.burst + AnnouncementRateLimiter.totalLimit.refill.count
        for (index, start) in times.enumerated() {
            let end = start.advanced(by: AnnouncementRateLimiter.totalLimit.refill.period)
            #expect(times[index...].prefix { $0 < end }.count <= limit)
        }
    }

    @Test(
        "Each record is announced, or counted by its reason in a message about suppressed records, due within a minute",
        arguments: 0..<8)
    func nothingUncounted(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        var limit = AnnouncementRateLimiter(at: RecordLogInstant(milliseconds: 0))
        var waiting = SuppressedAnnouncements()
        var since: RecordLogInstant?
        for (record, now) in events(&traffic, count: 4000, users: 12) {
            if let due = limit.suppressedDue, due <= now {
                var suppressed = limit.takeSuppressed()
                #expect(since?.advanced(by: AnnouncementRateLimiter.suppressionReportDelay) == due)
                #expect(
                    suppressed.users.map(\.count).reduce(0, +) <= suppressed.new + suppressed.critical
                        + suppressed.regressed)
                #expect(!suppressed.users.isEmpty)
                (suppressed.users, suppressed.otherUsers) = ([], 0)
                #expect(suppressed == waiting)
                let rest = limit.takeSuppressed()
                #expect(rest.isEmpty)
                #expect(limit.suppressedDue == nil)
                waiting = SuppressedAnnouncements()
                since = nil
            }
            if !limit.admits(record, at: now) {
                waiting.add(record.reason)
                since = since ?? now
            }
            #expect((limit.suppressedDue == nil) == waiting.isEmpty)
        }
    }

    @Test("The users with the most suppressed announcements are listed, and a limited number of users is remembered")
    func loudest() {
        let now = RecordLogInstant(milliseconds: 0)
        var limit = AnnouncementRateLimiter(at: now)
        for record in 0..<30 as Range<Int64> {
            _ = limit.admits(PriorityRecord(row: RowID(record), reason: .firstOfGroup, uid: 12_345), at: now)
        }
        for record in 0..<12 as Range<Int64> {
            for uid in 1000..<1007 as Range<UInt32> {
                _ = limit.admits(PriorityRecord(row: RowID(record), reason: .critical, uid: uid), at: now)
            }
        }
        let suppressed = limit.takeSuppressed()
        #expect(suppressed.users.first == .init(uid: 12_345, count: 30 - AnnouncementRateLimiter.userLimit.burst))
        #expect(suppressed.users.map(\.uid) == [12_345, 1000, 1001, 1002, 1003])
        #expect(suppressed.otherUsers == 3)
        #expect(suppressed.new == 30 - AnnouncementRateLimiter.userLimit.burst)
        #expect(suppressed.critical == 14)
        #expect(suppressed.isUrgent)
        for uid in 0..<10_000 as Range<UInt32> {
            _ = limit.admits(PriorityRecord(row: 1, reason: .critical, uid: uid), at: now)
        }
        let many = limit.takeSuppressed()
        #expect(many.users.count + many.otherUsers == AnnouncementRateLimiter.maxUsers)
    }

    @Test(
        "Another user's first critical record is announced despite floods by 40 users, and root's despite those by 300")
    func floods() {
        let now = RecordLogInstant(milliseconds: 0)
        var limit = AnnouncementRateLimiter(at: now)
        var record: RowID = 0
        for uid in 1001...1040 as ClosedRange<UInt32> {
            for _ in 0..<15 {
                record = record + 1
                _ = limit.admits(PriorityRecord(row: record, reason: .critical, uid: uid), at: now)
            }
        }
        let isUserAdmitted = limit.admits(PriorityRecord(row: 9998, reason: .critical, uid: 2000), at: now)
        for uid in 1041...1300 as ClosedRange<UInt32> {
            for _ in 0..<15 { _ = limit.admits(PriorityRecord(row: 1, reason: .critical, uid: uid), at: now) }
        }
        let isRootAdmitted = limit.admits(PriorityRecord(row: 9999, reason: .critical, uid: 0), at: now)
        #expect(isUserAdmitted)
        #expect(isRootAdmitted)
    }

    @Test("The limits show what each user has left, what was suppressed and what would have been enough")
    func statuses() {
        let now = RecordLogInstant(milliseconds: 0)
        var limit = AnnouncementRateLimiter(at: now)
        for record in 0..<30 as Range<Int64> {
            _ = limit.admits(PriorityRecord(row: RowID(record), reason: .firstOfGroup, uid: 12_345), at: now)
        }
        let own = limit.statuses(at: now).filter { $0.uid == 12_345 }
        #expect(own.map(\.name) == ["announcements_new"])
        #expect(own.map(\.level) == [0])
        #expect(own.map(\.held) == [30 - AnnouncementRateLimiter.userLimit.burst])
        #expect(own.map { $0.needed.first?.capacity } == [30])
        let all = limit.statuses(at: now).filter { $0.uid == nil }
        #expect(all.map(\.name) == ["announcements_new", "announcements_urgent"])
        #expect(all.map(\.held) == [0, 0])
        #expect(all.map(\.level) == [190, 200])
        let later = limit.statuses(at: now.advanced(by: .seconds(3600)))
        #expect(later.filter { $0.uid == 12_345 }.map(\.level) == [10])
        #expect(limit.statuses(at: now.advanced(by: .seconds(90_000))).allSatisfy { $0.uid == nil })
    }
}
