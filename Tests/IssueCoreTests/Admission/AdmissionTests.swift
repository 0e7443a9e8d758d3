import IssueCore
import IssueProtocol
import Testing

struct AdmissionTests {
    private func at(_ seconds: Int64) -> RecordLogInstant { RecordLogInstant(milliseconds: 1_000_000 + seconds * 1000) }

    private func record(
        _ record: Int64, group: Int64 = 1, account: Int64 = 1, severity: IssueLevel = .error, first: Bool = false,
        count: Int64 = 1, user: UInt32 = 1001
    ) -> AdmissionCandidate {
        AdmissionCandidate(
            record: RowID(record), group: GroupID(group), account: AccountID(account), user: user, severity: severity,
            isFirstOfGroup: first,
            count: count)
    }

    @Test("A group's burst is sent, the rest is suppressed, and the next record sent tells how many were suppressed")
    func group() {
        var admission = Admission(settings: LimitSettings())

        let decisions = (1...8).map { admission.evaluate(record($0, first: $0 == 1, count: 2), at: at(0)) }
        let later = admission.evaluate(record(9), at: at(300))

        // The first record of a group does not use the group's bucket.
        #expect(
            decisions == (1...6).map { .admit(suppressedBefore: 0, occurrences: 2 * $0) }
                + [.suppress(.groupRate), .suppress(.groupRate)])
        #expect(later == .admit(suppressedBefore: 2, occurrences: 17))
    }

    @Test("The levels of the limits show what is left for a record, and reading them takes no tokens")
    func levels() {
        var settings = LimitSettings()
        settings.criticalReserve = .nothing
        settings.noveltyReserve = .nothing
        settings.summaryReserve = .nothing
        var admission = Admission(settings: settings)
        for number in 1...3 { _ = admission.evaluate(record(Int64(number)), at: at(0)) }

        let levels = admission.levels(for: record(4), at: at(0))
        #expect(levels.map(\.reason) == [.groupRate, .applicationRate, .globalRate])
        #expect(levels.map(\.available) == [2, 97, 297])
        #expect(levels.map(\.limit.burst) == [5, 100, 300])
        #expect(levels.map(\.reserved) == [0, 0, 0])
        #expect(admission.levels(for: record(4), at: at(0)) == levels)
        // The first record of a group does not use the group's bucket, and a burst of zero means unlimited.
        settings.globalBurst = 0
        var state = AdmissionState()
        state.apply(admission.takeChanges())
        admission = Admission(settings: settings, state: state)
        #expect(admission.levels(for: record(5, group: 2, first: true), at: at(0)).map(\.reason) == [.applicationRate])
    }

    @Test("An application may create as many groups as its own limit and its user's limit leave")
    func newGroups() {
        var settings = LimitSettings()
        func left(application: Int64, others: Int64) -> Int64? {
            var guardian = CardinalityGuard(settings: settings)
            guardian.restore(account: 1, user: 1000, newGroups: application, newSeries: 0, at: at(0))
            guardian.restore(account: 2, user: 1000, newGroups: others, newSeries: 0, at: at(0))
            return guardian.groupsLeft(account: 1, user: 1000, at: at(0))
        }
        #expect(left(application: 30, others: 0) == 70)
        #expect(left(application: 0, others: 490) == 10)
        #expect(left(application: 100, others: 0) == 0)
        #expect(left(application: 120, others: 480) == 0)
        settings.newGroupsPerApplication = .unlimited
        #expect(left(application: 1000, others: 8000) == nil)
        #expect(CardinalityGuard(settings: LimitSettings()).groupsLeft(account: 1, user: 1, at: at(0)) == 100)
    }

    @Test("A record that is muted or not reportable is withheld and takes no tokens, but counts as an occurrence")
    func withheld() {
        var settings = LimitSettings()
        settings.groupBurst = 1
        var admission = Admission(settings: settings)
        var muted = record(1)
        muted.isMuted = true
        var secret = record(2)
        secret.isReportable = false

        #expect(admission.evaluate(muted, at: at(0)) == .withhold)
        #expect(admission.evaluate(secret, at: at(0)) == .withhold)
        #expect(admission.evaluate(record(3), at: at(0)) == .admit(suppressedBefore: 0, occurrences: 3))
    }

    @Test("The records of an application above its limit are suppressed, but those of another application are not")
    func application() {
        var settings = LimitSettings()
        settings.groupBurst = 0
        var admission = Admission(settings: settings)

        let noisy = (1...200).map { admission.evaluate(record($0, group: $0), at: at(0)) }
        let neighbour = admission.evaluate(record(201, group: 201, account: 2, user: 1002), at: at(0))

        // 20 % are reserved for critical records and 20 % for new groups.
        #expect(noisy.count { $0 == .suppress(.applicationRate) } == 140)
        #expect(neighbour == .admit(suppressedBefore: 0, occurrences: 1))
    }

    @Test("A refused record takes nothing from the other limits")
    func allOrNothing() {
        var settings = LimitSettings()
        settings.groupBurst = 3
        settings.applicationBurst = 2
        settings.criticalReserve = .nothing
        settings.noveltyReserve = .nothing
        var admission = Admission(settings: settings)

        for id in 1...20 as ClosedRange<Int64> { _ = admission.evaluate(record(id, group: 1 + id % 2), at: at(0)) }
        let changes = admission.takeChanges()

        // Two records were sent. They took two of the destination's tokens, and two of those of both groups together.
        let global = changes.buckets.first { $0.key == .init(account: nil, role: .common) }
        #expect(global?.level == 268.0)
        #expect(changes.groups.map { $0.level ?? 0 }.reduce(0, +) == 4)
    }

    @Test("Ordinary records do not use the reserved shares; critical records and first records of groups do")
    func reserves() {
        var settings = LimitSettings()
        settings.groupBurst = 0
        settings.applicationBurst = 0
        var admission = Admission(settings: settings)
        for id in 1...1000 as ClosedRange<Int64> { _ = admission.evaluate(record(id), at: at(0)) }

        #expect(admission.evaluate(record(1001), at: at(0)) == .suppress(.globalRate))
        let critical = (0..<70).map { admission.evaluate(record(1002 + $0, severity: .critical), at: at(0)) }
        let new = (0..<70).map { admission.evaluate(record(2000 + $0, group: 2000 + $0, first: true), at: at(0)) }

        #expect(critical.count { $0 != .suppress(.globalRate) } == 24)
        #expect(new.count { $0 != .suppress(.globalRate) } == 24)
    }

    @Test("Floods of critical records by ten users under many application names do not stop the records of other users")
    func criticalFloods() {
        var admission = Admission(settings: LimitSettings())
        var id: Int64 = 0
        for user in 1001...1010 as ClosedRange<UInt32> {
            for name in 0..<12 as Range<Int64> {
                for _ in 0..<15 {
                    id += 1
                    let flood = record(
                        id, group: id, account: Int64(user) * 100 + name, severity: .critical, first: true, user: user)
                    _ = admission.evaluatePriority(flood, at: at(0)) ?? admission.evaluate(flood, at: at(0))
                }
            }
        }

        let alarm = record(id + 1, group: id + 1, account: 1, severity: .critical, user: 2000)
        #expect(admission.evaluatePriority(alarm, at: at(0)) == .admit(suppressedBefore: 0, occurrences: 1))
        let ordinary = record(id + 2, group: id + 2, account: 1, severity: .error, user: 2001)
        #expect(admission.evaluate(ordinary, at: at(0)) == .admit(suppressedBefore: 0, occurrences: 1))
    }

    @Test("Floods by sixty users leave the system users their reserves")
    func systemReserve() {
        var admission = Admission(settings: LimitSettings())
        var id: Int64 = 0
        for second in 0..<30 as Range<Int64> {
            for user in 1001...1060 as ClosedRange<UInt32> {
                for severity in [.critical, .error, .error] as [IssueLevel] {
                    id += 1
                    _ = admission.evaluate(
                        record(id, group: id, account: Int64(user), severity: severity, first: id % 3 == 0, user: user),
                        at: at(second))
                }
            }
        }

        let ordinary = (1...10).map { record(id + $0, group: id + $0, account: 1, user: 0) }
        let critical = (11...20).map { record(id + $0, group: id + $0, account: 1, severity: .critical, user: 0) }
        let new = (21...30).map { record(id + $0, group: id + $0, account: 1, first: true, user: 0) }
        for candidate in ordinary + critical + new {
            #expect(admission.evaluate(candidate, at: at(30)) == .admit(suppressedBefore: 0, occurrences: 1))
        }
    }

    @Test("As a user's daily bytes run out, only errors and new groups are sent, then only critical records, then none")
    func dailyBytes() {
        var settings = LimitSettings()
        settings.groupBurst = 0
        var admission = Admission(settings: settings)
        func passes(_ candidate: AdmissionCandidate) -> Bool {
            admission.evaluate(candidate, at: at(0)) != .suppress(.dailyBytes)
        }
        func use(_ percent: Int64) {
            admission.dailyBytes = DailyBudget(limit: 100, users: [1001: percent])
        }

        use(65)
        #expect(!passes(record(1, severity: .warning)))
        #expect(passes(record(2, severity: .error)))
        #expect(passes(record(3, group: 3, severity: .info, first: true)))

        use(71)
        #expect(!passes(record(4, severity: .error)))
        #expect(!passes(record(5, group: 5, first: true)))
        #expect(passes(record(6, severity: .critical)))

        use(99)
        #expect(!passes(record(7, severity: .critical)))
        #expect(passes(record(8, group: 8, account: 2, severity: .debug, user: 0)))

        use(85)
        #expect(!passes(record(9, severity: .critical)))
        #expect(passes(record(10, group: 10, account: 3, severity: .debug, user: 1002)))
    }

    @Test("Limits of zero let every record through")
    func unlimited() {
        var admission = Admission(settings: .withoutLimits)

        for id in 1...5000 as ClosedRange<Int64> {
            #expect(admission.evaluate(record(id), at: at(0)) == .admit(suppressedBefore: 0, occurrences: id))
        }
        #expect(admission.nextSummaryDue == nil)
    }

    @Test("An override for an application name applies to all users; one for the name and a user takes precedence")
    func overrides() {
        var settings = LimitSettings()
        settings.overrides = [
            ApplicationLimitOverride(name: "shop", uid: 1001, groupBurst: 2),
            ApplicationLimitOverride(name: "shop", groupBurst: 50, applicationBurst: 7),
        ]

        #expect(settings.limits(uid: 1001, application: "shop").group.burst == 2)
        #expect(settings.limits(uid: 1001, application: "shop").application.burst == 7)
        #expect(settings.limits(uid: 1002, application: "shop").group.burst == 50)
        #expect(settings.limits(uid: 1001, application: "till") == settings.defaultApplicationLimits)
    }

    @Test("Ahead of the backlog, priority records use only the reserved shares, and a refused one changes nothing")
    func priority() {
        var settings = LimitSettings()
        settings.criticalReserve = Percentage(percent: 1)
        settings.groupBurst = 0
        var admission = Admission(settings: settings)

        #expect(admission.evaluatePriority(record(1, severity: .critical), at: at(0)) != nil)
        let before = admission.takeChanges()
        #expect(before.buckets.map(\.key.role) == [.critical, .critical])
        #expect(admission.evaluatePriority(record(2, severity: .critical), at: at(0)) == nil)
        #expect(admission.takeChanges().isEmpty)

        var again = record(2, severity: .critical)
        again.wasPriority = true
        #expect(admission.evaluate(again, at: at(0)) == .admit(suppressedBefore: 0, occurrences: 2))
        #expect(admission.takeChanges().buckets.map(\.key.role) == [.common, .common])
    }

    @Test("Reloading the limits does not allow another burst, and a raised burst allows the difference")
    func reload() {
        var settings = LimitSettings()
        settings.groupBurst = 2
        var admission = Admission(settings: settings)
        for id in 1...3 as ClosedRange<Int64> { _ = admission.evaluate(record(id), at: at(0)) }

        var state = AdmissionState()
        state.apply(admission.takeChanges())
        admission = Admission(settings: settings, state: state)
        #expect(admission.evaluate(record(4), at: at(0)) == .suppress(.groupRate))

        settings.groupBurst = 4
        admission = Admission(settings: settings, state: state)
        let verdicts = (4...6).map { admission.evaluate(record($0), at: at(0)) }
        #expect(verdicts.last == .suppress(.groupRate))
        #expect(verdicts.count { $0 == .suppress(.groupRate) } == 1)
    }
}

extension AdmissionState {
    /// Applies changes to the state, as if they had been stored and loaded.
    mutating func apply(_ changes: AdmissionChanges) {
        let touched = Set(changes.buckets.map(\.key))
        buckets = buckets.filter { !touched.contains($0.key) } + changes.buckets
        let changed = Set(changes.groups.map(\.group))
        groups = (groups.filter { !changed.contains($0.group) } + changes.groups)
            .sorted { ($0.lastRecord, $0.group) < ($1.lastRecord, $1.group) }
        let moved = Set(changes.windows.map(\.key)).union(changes.closedWindows)
        windows = windows.filter { !moved.contains($0.key) } + changes.windows
        accountSequences.merge(changes.accountSequences) { $1 }
    }
}
