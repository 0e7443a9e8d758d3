import IssueCore
import IssueProtocol
import Testing

@Suite("What limits hold back, and the limits that would have been needed")
struct LimitDemandTests {
    private static let hour: Int64 = 3_600_000

    private func at(_ milliseconds: Int64) -> RecordLogInstant { RecordLogInstant(milliseconds: milliseconds) }

    private func status(
        _ name: LimitStatus.Name, of admission: Admission, app: Int64? = nil, at now: RecordLogInstant
    ) -> [LimitStatus] {
        var view = LimitView(admission, offset: 0, at: now)
        for account in view.accounts { view.names[account] = (uid: 1000, app: "app \(account)") }
        for group in view.groupIDs { view.groupNames[group] = "\(group)" }
        let wall = IssueTimestamp(millisecondsSince1970: now.milliseconds)
        return view.statuses(destination: "logzio", wall: wall).limits.filter { status in
            status.name == name.rawValue && status.used == nil
                && (app.map { status.app == "app \(AccountID($0))" } ?? true)
        }
    }

    private func candidate(_ record: Int64, user: UInt32 = 1000) -> AdmissionCandidate {
        AdmissionCandidate(
            record: RowID(record), group: 1, account: 1, user: user, severity: .error, isFirstOfGroup: record == 1)
    }

    @Test("For records that arrive at once, the needed burst is the number of those that use the bucket")
    func burst() throws {
        var admission = Admission(settings: LimitSettings())
        for record in 1...21 { _ = admission.evaluate(candidate(Int64(record)), at: at(1000)) }
        let limit = try #require(status(.groupRate, of: admission, at: at(1000)).first)
        // The first record of a group does not use the group's bucket.
        #expect(limit.held == 15)
        #expect(limit.capacity == 5)
        #expect(limit.level == 0)
        #expect(limit.needed == [LimitNeed(capacity: 20, refill: 1)])
    }

    @Test("For a constant flood, the needed limit is either a burst for the whole flood or a larger refill")
    func flood() throws {
        var settings = LimitSettings()
        settings.groupBurst = 0
        var admission = Admission(settings: settings)
        for record in 1...6000 {
            _ = admission.evaluate(candidate(Int64(record)), at: at(Int64(record) * 100))
        }
        let limit = try #require(status(.applicationRate, of: admission, at: at(600_000)).first)
        #expect(limit.held > 4000)
        // 600 records arrive per minute, and 60 % of a limit are not reserved, so a refill of 1000 is needed.
        #expect(limit.needed.count == 2)
        #expect(limit.needed.first?.refill == 60)
        #expect(try (8000...10_000).contains(#require(limit.needed.first?.capacity)))
        #expect(limit.needed.last == LimitNeed(capacity: 2000, refill: 1000))
    }

    @Test("The number of records held back is forgotten after 24 hours, and the level shown is the current one")
    func sliding() throws {
        var admission = Admission(settings: LimitSettings())
        for record in 1...21 { _ = admission.evaluate(candidate(Int64(record)), at: at(1000)) }
        let later = try #require(status(.groupRate, of: admission, at: at(3 * Self.hour)).first)
        #expect(later.held == 15)
        #expect(later.level == 5)
        #expect(status(.groupRate, of: admission, at: at(24 * Self.hour)).isEmpty)
        for record in 22...60 { _ = admission.evaluate(candidate(Int64(record)), at: at(25 * Self.hour)) }
        let second = try #require(status(.groupRate, of: admission, at: at(25 * Self.hour)).first)
        #expect(second.held == 34)
        #expect(second.needed == [LimitNeed(capacity: 39, refill: 1)])
    }

    @Test(
        "A limit that is raised to what was needed holds back none of the same records",
        arguments: 0..<12 as Range<UInt64>, [SuppressionReason.groupRate, .applicationRate, .globalRate])
    func needed(seed: UInt64, reason: SuppressionReason) throws {
        var traffic = SeededGenerator(seed: seed)
        let log = traffic.log(records: 4000, groups: seed % 3 == 0 ? 12 : 120, accounts: 3)
        var settings = LimitSettings()
        settings.groupBurst = reason == .groupRate ? 5 : 0
        settings.applicationBurst = reason == .applicationRate ? 40 : 0
        settings.globalBurst = reason == .globalRate ? 60 : 0
        settings.globalRefill = Rate(seed % 2 == 0 ? 20 : 300, per: .seconds(60))
        var admission = Admission(settings: settings)
        var held: Int64 = 0
        for (candidate, now) in log {
            if case .suppress(reason) = admission.evaluate(candidate, at: now) { held += 1 }
        }
        let end = try #require(log.last?.at)
        let name = try #require(LimitStatus.Name(rawValue: reason.rawValue))
        let limits = status(name, of: admission, at: end)
        #expect(held > 50)
        #expect(limits.reduce(0) { $0 + $1.held } == held)

        for choice in 0..<2 {
            let needed = limits.compactMap { $0.needed.dropFirst(choice).first ?? $0.needed.first }
            let capacity = try #require(needed.map(\.capacity).max())
            let refill = try #require(needed.compactMap(\.refill).max())
            var enough = settings
            switch reason {
            case .groupRate: (enough.groupBurst, enough.groupRefill.count) = (capacity, refill)
            case .applicationRate: (enough.applicationBurst, enough.applicationRefill.count) = (capacity, refill)
            default: (enough.globalBurst, enough.globalRefill.count) = (capacity, refill)
            }
            var second = Admission(settings: enough)
            var still = 0
            for (candidate, now) in log {
                if case .suppress(reason) = second.evaluate(candidate, at: now) { still += 1 }
            }
            #expect(still == 0, "\(reason), choice \(choice)")
        }
    }

    @Test("A smaller burst than the needed one would have held back records of a group")
    func exact() throws {
        for seed in 0..<20 as Range<UInt64> {
            var traffic = SeededGenerator(seed: seed)
            var settings = LimitSettings()
            (settings.applicationBurst, settings.globalBurst) = (0, 0)
            let log = traffic.log(records: 800, groups: 1, accounts: 1)
            func held(_ burst: Int64) -> (Int, Admission) {
                settings.groupBurst = burst
                var admission = Admission(settings: settings)
                let held = log.count { admission.evaluate($0.candidate, at: $0.at) == .suppress(.groupRate) }
                return (held, admission)
            }
            let (count, admission) = held(5)
            #expect(count > 0)
            let end = try #require(log.last?.at)
            let limit = try #require(status(.groupRate, of: admission, at: end).first)
            let burst = try #require(limit.needed.first?.capacity)
            #expect(held(burst).0 == 0)
            #expect(held(burst - 1).0 > 0)
        }
    }

    @Test(
        "A daily byte limit that is raised to what was needed holds back no records of one user or of several",
        arguments: 1..<5 as Range<UInt32>)
    func bytes(users: UInt32) throws {
        func held(limit: Int64) -> (Int, Admission) {
            var settings = LimitSettings()
            (settings.groupBurst, settings.applicationBurst, settings.globalBurst) = (0, 0, 0)
            var admission = Admission(settings: settings)
            admission.dailyBytes = DailyBudget(limit: limit).today(at: .epoch)
            var held = 0
            for record in 1...4000 as ClosedRange<Int64> {
                let user = 1000 + UInt32(record % 7) % users
                let now = at(record * 1000)
                if case .suppress = admission.evaluate(candidate(record, user: user), at: now) {
                    held += 1
                } else {
                    admission.charge(700, to: user, at: now)
                }
            }
            return (held, admission)
        }
        let (count, admission) = held(limit: 1 << 20)
        let limit = try #require(status(.dailyBytes, of: admission, at: at(4_000_000)).first)
        #expect(count > 500)
        #expect(limit.held == count)
        let needed = try #require(limit.needed.first?.capacity)
        #expect(held(limit: needed).0 == 0)
        #expect(held(limit: needed / 2).0 > 0)
    }

    @Test("If nothing was held back, a group's limit is not listed, but an application's limit is, with its level")
    func quiet() throws {
        var admission = Admission(settings: LimitSettings())
        for record in 1...3 { _ = admission.evaluate(candidate(Int64(record)), at: at(1000)) }
        #expect(status(.groupRate, of: admission, at: at(1000)).isEmpty)
        let limit = try #require(status(.applicationRate, of: admission, at: at(1000)).first)
        #expect(limit.capacity == 100)
        #expect(limit.level == 97)
        #expect(limit.commonLevel == 58)
        #expect(limit.held == 0)
        #expect(limit.needed.isEmpty)
    }

    @Test("However many groups are held back, at most 256 are recorded, and all records held back are counted")
    func bounded() {
        var admission = Admission(settings: LimitSettings())
        var held: Int64 = 0
        for round in 0..<12 as Range<Int64> {
            for group in 1...2000 as ClosedRange<Int64> {
                let candidate = AdmissionCandidate(
                    record: RowID(round * 2000 + group), group: GroupID(group), account: 1, user: 1000,
                    severity: .error, isFirstOfGroup: false)
                if case .suppress(.groupRate) = admission.evaluate(candidate, at: at(round)) { held += 1 }
            }
        }
        // The limit of the application holds back the rest.
        var view = LimitView(admission, offset: 0, at: at(12))
        for account in view.accounts { view.names[account] = (uid: 1000, app: "shop") }
        for group in view.groupIDs { view.groupNames[group] = "\(group)" }
        #expect(view.groupIDs.count <= 256)
        let (limits, unlisted) = view.statuses(destination: "d", wall: .epoch)
        let listed = limits.filter { $0.name == "group_rate" }.reduce(0) { $0 + $1.held }
        #expect(listed + unlisted == held)
    }

    @Test(
        "A group leaves the history if removed, or not held back for a day; a removed group's records stay counted"
    )
    func removed() {
        var admission = Admission(settings: LimitSettings())
        for record in 1...21 { _ = admission.evaluate(candidate(Int64(record)), at: at(1000)) }
        var other = admission
        admission.removeExpiredHistory(at: at(23 * Self.hour))
        #expect(LimitView(admission, offset: 0, at: at(1000)).groupIDs == [1])
        admission.removeHistory(accounts: [], groups: [1], at: at(1000))
        let view = LimitView(admission, offset: 0, at: at(1000))
        #expect(view.groupIDs.isEmpty)
        #expect(view.statuses(destination: "d", wall: .epoch).unlisted == 15)
        other.removeExpiredHistory(at: at(25 * Self.hour))
        #expect(LimitView(other, offset: 0, at: at(25 * Self.hour)).groupIDs.isEmpty)
    }

    @Test("A history with the same limits is continued, and one with other limits is dropped")
    func restored() {
        var admission = Admission(settings: LimitSettings())
        for record in 1...21 { _ = admission.evaluate(candidate(Int64(record)), at: at(1000)) }
        let limits = { (_: AccountID) in LimitSettings().defaultApplicationLimits }
        let again = Admission(settings: LimitSettings(), history: admission.history, limits: limits)
        #expect(status(.groupRate, of: again, at: at(2000)).first?.held == 15)
        var others = LimitSettings()
        others.groupBurst = 50
        let changed = Admission(settings: others, history: admission.history, limits: limits)
        #expect(status(.groupRate, of: changed, at: at(2000)).isEmpty)
    }

    @Test("A history knows when it began, and a changed maximum age of an application does not end it")
    func began() {
        var admission = Admission(settings: LimitSettings())
        admission.historyBegan(at: .epoch)
        for record in 1...21 { _ = admission.evaluate(candidate(Int64(record)), at: at(1000)) }
        let limits = { (_: AccountID) in LimitSettings().defaultApplicationLimits }
        var settings = LimitSettings()
        settings.overrides = [ApplicationLimitOverride(name: "shop", maxAge: .seconds(60))]
        var again = Admission(settings: settings, history: admission.history, limits: limits)
        again.historyBegan(at: IssueTimestamp(millisecondsSince1970: 5))
        #expect(again.history.start == .epoch)
        #expect(status(.groupRate, of: again, at: at(2000)).first?.held == 15)
        again = Admission(settings: LimitSettings(), history: again.history, limits: limits)
        #expect(again.history.start == .epoch)
        settings.overrides[0].groupBurst = 9
        let changed = Admission(settings: settings, history: admission.history, limits: limits)
        #expect(changed.history.start == nil)
    }

    @Test("Overflows are counted by user and in total, and the needed limit covers those of two consecutive periods")
    func overflows() throws {
        var history = OverflowHistory()
        let settings = LimitSettings()
        let overflow = CardinalityOverflow(uid: 1000, kind: .issues)
        for _ in 0..<30 { history.add(overflow, settings, at: at(100)) }
        for _ in 0..<20 { history.add(overflow, settings, at: at(900_100)) }
        let limits = history.statuses(settings, at: at(900_200)).filter { $0.name == "new_groups" }
        #expect(limits.map(\.uid) == [nil, 1000])
        #expect(limits.map(\.held) == [50, 50])
        #expect(limits.map(\.needed) == [[LimitNeed(capacity: 150)], [LimitNeed(capacity: 150)]])
        #expect(history.statuses(settings, at: at(30 * Self.hour)).allSatisfy { $0.held == 0 && $0.uid == nil })
    }

    @Test("The limits that held back most come first, and the reply says how many are left out")
    func sorted() {
        let many = (0..<300).map { LimitStatus(.groupRate, level: 5, capacity: 5, held: Int64($0)) }
        var random = SeededGenerator(seed: 1)
        let empty = LimitStatus(.globalRate, level: 0, capacity: 300)
        let full = LimitStatus(.dailyBytes, level: 300, capacity: 300)
        let reply = LimitsReply(sorting: [full, empty] + many.shuffled(using: &random), unlisted: 7, since: .epoch)
        #expect(reply.limits.count == 200)
        #expect(reply.limits.first?.held == 299)
        #expect(reply.others == 102)
        #expect(reply.othersHeld == (0..<100).reduce(7, +))
        // Overflows of a user are part of the entry for all users.
        var history = OverflowHistory()
        for uid: UInt32 in 0..<210 {
            history.add(CardinalityOverflow(uid: uid, kind: .issues), LimitSettings(), at: at(100))
        }
        let overflows = history.statuses(LimitSettings(), at: at(200))
        #expect(LimitsReply(sorting: overflows, unlisted: 0, since: .epoch).others == 14)
        #expect(LimitsReply(sorting: overflows, unlisted: 0, since: .epoch).othersHeld == 0)
        let own = overflows.filter { $0.uid != nil }
        #expect(LimitsReply(sorting: own, unlisted: 0, since: .epoch).othersHeld == 10)
        let few = LimitsReply(sorting: [full, empty], unlisted: 0, since: .epoch)
        #expect(few.limits.map(\.name) == ["global_rate", "daily_bytes"])
    }
}
