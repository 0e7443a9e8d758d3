import IssueCore
import Testing

@Suite("The maximum age of an application")
struct ApplicationAgeTests {
    private func settings(_ ages: [ApplicationAge]) -> RetentionSettings {
        var settings = RetentionSettings(maxAge: .seconds(1000))
        settings.applicationAges = ages
        return settings
    }

    private func snapshot(age: Int64, hasBatchInFlight: Bool = false) -> RetentionSnapshot {
        let oldest = RetentionSnapshot.ClosedRange(
            id: 1, firstID: 1, lastID: 9, newest: RecordLogInstant(milliseconds: 0), hasBatchInFlight: hasBatchInFlight)
        return RetentionSnapshot(
            oldest: oldest, openSince: nil, usedBytes: 0, spareBytes: 0, freeBytes: nil,
            now: RecordLogInstant(milliseconds: age * 1000))
    }

    @Test("An age for the user wins over one for all users, and a later one over an earlier one")
    func precedence() {
        let settings = settings([
            ApplicationAge(name: "a", maxAge: .seconds(1)), ApplicationAge(name: "a", uid: 7, maxAge: .seconds(2)),
            ApplicationAge(name: "a", maxAge: .seconds(3)),
        ])
        #expect(settings.maxAge(uid: 7, application: "a") == .seconds(2))
        #expect(settings.maxAge(uid: 8, application: "a") == .seconds(3))
        #expect(settings.maxAge(uid: 7, application: "b") == .seconds(1000))
        #expect(settings.ages == [.seconds(1), .seconds(2), .seconds(3), .seconds(1000)])
        #expect(settings.partialAges == [.seconds(1), .seconds(2), .seconds(3)])
    }

    @Test(
        "A range is kept until the longest maximum age of its records; records with a lower maximum age expire earlier"
    )
    func longer() throws {
        let retention = Retention(settings: settings([ApplicationAge(name: "a", maxAge: .seconds(5000))]))
        var facts = snapshot(age: 2000)
        let oldest = try #require(facts.oldest)
        #expect(retention.next(facts) == .forget(oldest, .age))
        facts.oldest?.longestAge = .seconds(5000)
        let kept = try #require(facts.oldest)
        #expect(retention.next(facts) == .wait(Retention.interval))
        let aged = RetentionSnapshot.AgedRange(range: kept, accounts: [1], maxAge: .seconds(1000))
        facts.aged = aged
        #expect(retention.next(facts) == .expire(aged))
        facts.now = RecordLogInstant(milliseconds: 5_000_000)
        #expect(retention.next(facts) == .forget(kept, .age))
    }

    @Test("A batch in flight protects the records of an application up to twice its maximum age")
    func underWay() throws {
        let retention = Retention(settings: settings([ApplicationAge(name: "a", maxAge: .seconds(100))]))
        var facts = snapshot(age: 150, hasBatchInFlight: true)
        let oldest = try #require(facts.oldest)
        let aged = RetentionSnapshot.AgedRange(range: oldest, accounts: [1], maxAge: .seconds(100))
        facts.aged = aged
        #expect(retention.next(facts) == .wait(.seconds(10)))
        facts.now = RecordLogInstant(milliseconds: 200_000)
        #expect(retention.next(facts) == .expire(aged))
    }

    @Test("A search for old records continues soon; a low maximum age closes the open range early and is checked often")
    func searching() {
        let retention = Retention(settings: settings([ApplicationAge(name: "a", maxAge: .seconds(700))]))
        var facts = snapshot(age: 10)
        facts.openSince = RecordLogInstant(milliseconds: -61_000)
        #expect(retention.next(facts) == .closeRange)
        facts.openSince = facts.now.advanced(by: .milliseconds(-600))
        let second = Retention(settings: settings([ApplicationAge(name: "a", maxAge: .seconds(1))]))
        #expect(second.next(facts) == .wait(.seconds(1)))
        facts.openSince = facts.now.advanced(by: .milliseconds(-1000))
        #expect(second.next(facts) == .closeRange)
        facts.openSince = nil
        let minute = Retention(settings: settings([ApplicationAge(name: "a", maxAge: .seconds(60))]))
        #expect(minute.next(facts) == .wait(.seconds(6)))
        facts.isSearchingAged = true
        guard case .wait(let time) = retention.next(facts) else {
            Issue.record("expected to wait")
            return
        }
        #expect(time < .seconds(1))
    }
}
