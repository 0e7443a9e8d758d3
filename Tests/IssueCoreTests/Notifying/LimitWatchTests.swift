import IssueCore
import IssueProtocol
import Testing

@Suite("Limits that begin and stop holding records back")
struct LimitWatchTests {
    private func instant(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(sinceBoot: .seconds(seconds)) }

    private func limit(_ account: Int64, user: UInt32 = 1000) throws -> ReachedLimit {
        try #require(ReachedLimit(.applicationRate, account: AccountID(rawValue: account), user: user))
    }

    @Test(
        "Limits of applications and of users are reported, but not those of a single issue or on new names and issues"
    )
    func kinds() {
        func limit(_ reason: SuppressionReason) -> ReachedLimit? { ReachedLimit(reason, account: 7, user: 1000) }
        #expect(limit(.groupRate) == nil && limit(.cardinality) == nil)
        #expect(limit(.applicationRate)?.account == 7)
        #expect(limit(.globalRate)?.account == nil && limit(.dailyBytes)?.user == 1000)
    }

    @Test("A limit that is reached again and again is reported once, and its end after a quiet time")
    func once() throws {
        var watch = LimitWatch()
        let limit = try limit(1)
        #expect(watch.heldBack([limit], by: "d", at: instant(0)) == [limit])
        for second in 1...1200 as ClosedRange<Int64> {
            #expect(watch.heldBack(second % 500 == 0 ? [limit] : [], by: "d", at: instant(second)) == [])
            #expect(watch.ended(of: "d", at: instant(second)) == [])
        }
        #expect(watch.nextEnd(of: "d") == instant(1600))
        #expect(watch.ended(of: "d", at: instant(1599)) == [])
        #expect(watch.ended(of: "d", at: instant(1600)) == [limit])
        #expect(watch.nextEnd(of: "d") == nil && watch.ended(of: "d", at: instant(9999)) == [])
        #expect(watch.heldBack([limit], by: "d", at: instant(1601)) == [limit])
    }

    @Test("A user with many applications causes few events, and these do not count for another user")
    func hostile() throws {
        var watch = LimitWatch()
        var begun = 0
        for account in 0..<5000 as Range<Int64> {
            begun += watch.heldBack([try limit(account)], by: "d", at: instant(account / 100)).count
        }
        #expect(begun == LimitWatch.maxBeginsOfUser)
        let other = try limit(9000, user: 2000)
        #expect(watch.heldBack([other], by: "d", at: instant(50)) == [other])
        // The end is reported only for limits whose beginning was reported.
        #expect(watch.ended(of: "d", at: instant(2000)).count == LimitWatch.maxBeginsOfUser + 1)
        #expect(watch.heldBack([try limit(1)], by: "d", at: instant(3599)) == [])
        #expect(watch.heldBack([try limit(1)], by: "d", at: instant(3600)).count == 1)
    }

    @Test("The number of limits and users in memory is bounded")
    func bounded() throws {
        var watch = LimitWatch()
        var begun = 0
        for user in 0..<3000 as Range<UInt32> {
            begun += watch.heldBack([try limit(Int64(user), user: user)], by: "d", at: instant(0)).count
        }
        #expect(begun == LimitWatch.maxEntries)
    }

    @Test(
        "The number of events of a user is limited for all destinations together, and each destination has its own ends"
    )
    func destinations() throws {
        var watch = LimitWatch()
        var begun = 0
        for account in 1...4 as ClosedRange<Int64> {
            for destination in ["a", "b"] {
                begun += watch.heldBack([try limit(account)], by: destination, at: instant(account)).count
            }
        }
        #expect(begun == LimitWatch.maxBeginsOfUser)
        #expect(watch.nextEnd(of: "a") == instant(601) && watch.nextEnd(of: "c") == nil)
        #expect(watch.ended(of: "a", at: instant(601)) == [try limit(1)])
        #expect(watch.nextEnd(of: "b") == instant(601))
        #expect(watch.ended(of: "b", at: instant(601)) == [try limit(1)])
    }

    @Test("The limits of a removed destination are forgotten without a report")
    func removed() throws {
        var watch = LimitWatch()
        let limit = try limit(1)
        for destination in ["a", "b"] { _ = watch.heldBack([limit], by: destination, at: instant(0)) }
        watch.keep(["b"])
        #expect(watch.nextEnd(of: "a") == nil && watch.ended(of: "a", at: instant(600)) == [])
        #expect(watch.ended(of: "b", at: instant(600)) == [limit])
    }
}
