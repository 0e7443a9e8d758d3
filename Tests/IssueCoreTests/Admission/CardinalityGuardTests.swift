import IssueCore
import Testing

struct CardinalityGuardTests {
    private func at(_ seconds: Int64) -> RecordLogInstant { RecordLogInstant(milliseconds: seconds * 1000) }

    private var settings: LimitSettings {
        var settings = LimitSettings()
        settings.newGroupsPerApplication = Rate(2, per: .seconds(900))
        settings.newSeriesPerApplication = Rate(4, per: .seconds(900))
        settings.applicationsPerUser = 2
        return settings
    }

    @Test("New groups above the limit join the overflow group until the window ends")
    func groups() {
        var guardian = CardinalityGuard(settings: settings)

        let verdicts = (0..<4).map { _ in guardian.admitSeries(account: 1, user: 7, isNewGroup: true, at: at(10)) }

        #expect(verdicts == [.allow, .allow, .overflowGroup(.issues), .overflowGroup(.issues)])
        #expect(guardian.admitSeries(account: 2, user: 7, isNewGroup: true, at: at(10)) == .allow)
        #expect(guardian.admitSeries(account: 1, user: 7, isNewGroup: true, at: at(900)) == .allow)
    }

    @Test("After the period of a limit was changed, its counters start again at zero")
    func changedPeriod() {
        var guardian = CardinalityGuard(settings: settings)
        for _ in 0..<3 { _ = guardian.admitSeries(account: 1, user: 7, isNewGroup: true, at: at(9000)) }
        var longer = settings
        longer.newGroupsPerApplication = Rate(2, per: .seconds(86_400))
        guardian.reload(longer)
        #expect(guardian.admitSeries(account: 1, user: 7, isNewGroup: true, at: at(9000)) == .allow)
        // The limit for series keeps its period and its counter, so the fifth series is one too many.
        #expect(guardian.admitSeries(account: 1, user: 7, isNewGroup: false, at: at(9000)) == .allow)
        #expect(guardian.admitSeries(account: 1, user: 7, isNewGroup: false, at: at(9000)) == .overflowSeries)
        #expect(guardian.admitSeries(account: 1, user: 7, isNewGroup: true, at: at(86_400)) == .allow)
        #expect(guardian.admitSeries(account: 1, user: 7, isNewGroup: true, at: at(86_400)) == .allow)
        #expect(guardian.admitSeries(account: 1, user: 7, isNewGroup: true, at: at(86_400)) == .overflowGroup(.issues))
    }

    @Test("New series of known groups above the limit join the group's overflow series")
    func series() {
        var guardian = CardinalityGuard(settings: settings)

        let verdicts = (0..<5).map { _ in guardian.admitSeries(account: 1, user: 7, isNewGroup: false, at: at(0)) }

        #expect(verdicts == [.allow, .allow, .allow, .allow, .overflowSeries])
        #expect(guardian.admitSeries(account: 1, user: 7, isNewGroup: true, at: at(0)) == .overflowGroup(.variants))
    }

    @Test("The applications of each user together may create five times as many groups and series as one application")
    func ofAllApplications() {
        var guardian = CardinalityGuard(settings: settings)

        // Each application creates two groups, each with a series, and then two more series.
        let groups = (0..<16).map {
            guardian.admitSeries(account: AccountID(Int64($0) / 2), user: 7, isNewGroup: true, at: at(10))
        }
        #expect(groups.firstIndex { $0 != .allow } == 10)
        #expect(groups[10...].allSatisfy { $0 == .overflowGroup(.issues) })
        let series = (0..<16).map {
            guardian.admitSeries(account: AccountID(Int64($0) / 2), user: 7, isNewGroup: false, at: at(10))
        }
        #expect(series.firstIndex { $0 != .allow } == 10)
        #expect(series[10...].allSatisfy { $0 == .overflowSeries })
        #expect(guardian.admitSeries(account: 20, user: 8, isNewGroup: true, at: at(10)) == .allow)
        #expect(guardian.admitSeries(account: 6, user: 7, isNewGroup: true, at: at(900)) == .allow)
        for account: Int64 in 1...3 {
            guardian.restore(account: AccountID(account), user: 9, newGroups: 1, newSeries: 7, at: at(900))
        }
        #expect(guardian.admitSeries(account: 30, user: 9, isNewGroup: true, at: at(900)) == .overflowGroup(.variants))
    }

    @Test("`windowEnd` returns the end of the window for groups or of that for series, whichever is first")
    func windowEnd() {
        var other = settings
        other.newSeriesPerApplication = Rate(4, per: .seconds(600))
        let guardian = CardinalityGuard(settings: other)
        #expect(guardian.windowEnd(at: at(0)) == at(600))
        #expect(guardian.windowEnd(at: at(899)) == at(900))
        #expect(guardian.windowEnd(at: at(900)) == at(1200))
        // An unlimited rate has no windows.
        other.newSeriesPerApplication = .unlimited
        #expect(CardinalityGuard(settings: other).windowEnd(at: at(1)) == at(900))
    }

    @Test("A user may have twenty times as many sender kinds per day as application names, whatever other users have")
    func senders() {
        var guardian = CardinalityGuard(settings: settings)

        let verdicts = (0..<42).map { _ in guardian.admitSender(uid: 7, at: at(0)) }

        #expect(verdicts.firstIndex(of: .overflow) == 40)
        #expect(guardian.admitSender(uid: 8, at: at(0)) == .allow)
        #expect(guardian.admitApplication(uid: 7, at: at(0)) == .allow)
        #expect(guardian.admitSender(uid: 7, at: at(86_400)) == .allow)
        guardian.restore(uid: 9, newSenders: 40, at: at(86_400))
        #expect(guardian.admitSender(uid: 9, at: at(86_400)) == .overflow)
    }

    @Test("A user may have a limited number of application names per day")
    func applications() {
        var guardian = CardinalityGuard(settings: settings)

        #expect((0..<3).map { _ in guardian.admitApplication(uid: 7, at: at(0)) } == [.allow, .allow, .overflow])
        #expect(guardian.admitApplication(uid: 8, at: at(0)) == .allow)
        #expect(guardian.admitApplication(uid: 7, at: at(86_400)) == .allow)
    }

    @Test("After a restart, the guard continues with the store's counts for the current windows")
    func restoring() {
        var guardian = CardinalityGuard(settings: settings)
        #expect(guardian.windowStarts(at: at(1000)) == (at(900), at(900), at(0)))
        guardian.restore(account: 1, user: 7, newGroups: 1, newSeries: 1, at: at(1000))
        guardian.restore(uid: 7, newApplications: 2, at: at(1000))

        #expect(guardian.admitSeries(account: 1, user: 7, isNewGroup: true, at: at(1001)) == .allow)
        #expect(guardian.admitSeries(account: 1, user: 7, isNewGroup: true, at: at(1001)) == .overflowGroup(.issues))
        #expect(guardian.admitApplication(uid: 7, at: at(1001)) == .overflow)
    }

    @Test("A limit of zero means unlimited")
    func unlimited() {
        var settings = LimitSettings()
        settings.newGroupsPerApplication = .unlimited
        settings.newSeriesPerApplication = .unlimited
        settings.applicationsPerUser = 0
        var guardian = CardinalityGuard(settings: settings)

        #expect(
            (0..<5000).allSatisfy { _ in
                guardian.admitSeries(account: 1, user: 7, isNewGroup: true, at: at(0)) == .allow
            })
        #expect((0..<5000).allSatisfy { _ in guardian.admitApplication(uid: 1, at: at(0)) == .allow })
    }

    @Test("A log time before the current window does not start a new window")
    func backwards() {
        var guardian = CardinalityGuard(settings: settings)
        for _ in 0..<2 { _ = guardian.admitApplication(uid: 7, at: at(86_400)) }

        #expect(guardian.admitApplication(uid: 7, at: at(0)) == .overflow)
    }
}
