import IssueCore
import IssueProtocol
import Testing

/// Properties that hold for any traffic.
struct AdmissionPropertyTests {
    private struct OutboxScan {
        var admission: Admission
        var state: AdmissionState
        var decisions: [AdmissionDecision] = []
        var drafts: [SummaryDraft] = []

        init(_ settings: LimitSettings, _ bounds: Admission.Bounds, from state: AdmissionState = AdmissionState()) {
            admission = Admission(settings: settings, state: state, bounds: bounds)
            self.state = state
        }

        /// Handles a record as the forwarder does: reports due summaries, loads evicted state, then evaluates the
        /// record.
        mutating func handle(_ candidate: AdmissionCandidate, at now: RecordLogInstant) {
            drafts += admission.dueSummaries(at: now)
            if !admission.knows(group: candidate.group) {
                for row in state.groups where row.group == candidate.group { admission.adopt(row) }
            }
            if !admission.knows(account: candidate.account) {
                admission.adopt(
                    account: candidate.account, limits: admission.settings.defaultApplicationLimits,
                    buckets: state.buckets.filter { $0.key.account == candidate.account })
            }
            decisions.append(admission.evaluate(candidate, at: now))
        }

        mutating func save() {
            state.apply(admission.takeChanges())
        }
    }

    private func settings(_ seed: UInt64) -> LimitSettings {
        var settings = LimitSettings()
        settings.applicationBurst = seed % 2 == 0 ? 40 : 100
        settings.globalBurst = seed % 3 == 0 ? 60 : 300
        settings.globalRefill = Rate(seed % 3 == 0 ? 50 : 300, per: .seconds(60))
        return settings
    }

    private func bounds(_ seed: UInt64) -> Admission.Bounds {
        var bounds = Admission.Bounds()
        bounds.groups = seed % 2 == 0 ? 30 : 20_000
        bounds.accounts = seed % 4 == 0 ? 3 : 4096
        bounds.summaries = seed % 3 == 0 ? 4 : 200
        return bounds
    }

    @Test(
        "Every record is admitted, withheld, or counted in exactly one summary",
        arguments: 0..<8 as Range<UInt64>)
    func nothingUncounted(seed: UInt64) throws {
        var traffic = SeededGenerator(seed: seed)
        let log = traffic.log(records: 3000, groups: 200, accounts: 7)
        var scan = OutboxScan(settings(seed), bounds(seed))
        for (index, (candidate, now)) in log.enumerated() {
            scan.handle(candidate, at: now)
            if index % 97 == 0 { scan.save() }
        }
        let end = try #require(log.last?.at)
        scan.drafts += scan.admission.closeAll(at: end)

        var suppressed: [AccountID: Int64] = [:]
        var occurrences: [AccountID: Int64] = [:]
        for ((candidate, _), decision) in zip(log, scan.decisions) {
            guard case .suppress = decision else { continue }
            suppressed[candidate.account, default: 0] += 1
            occurrences[candidate.account, default: 0] += candidate.count
        }
        let summaries = Dictionary(grouping: scan.drafts, by: \.account)
        #expect(scan.decisions.count == log.count)
        #expect(suppressed.values.reduce(0, +) > 100)
        #expect(summaries.mapValues { $0.map(\.suppressedCount).reduce(0, +) } == suppressed)
        #expect(summaries.mapValues { $0.map(\.suppressedOccurrences).reduce(0, +) } == occurrences)
        #expect(scan.admission.nextSummaryDue == nil)
    }

    @Test(
        "Stopped, stored and restored at any point, admission makes the same decisions and summaries",
        arguments: 0..<8 as Range<UInt64>)
    func restoring(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed &+ 100)
        let log = traffic.log(records: 1500, groups: 150, accounts: 6)
        let bounds = bounds(seed)
        var straight = OutboxScan(settings(seed), bounds)
        var stopped = OutboxScan(settings(seed), bounds)
        for (candidate, now) in log {
            straight.handle(candidate, at: now)
            if candidate.record.rawValue % 100 == 0 { straight.save() }
            stopped.handle(candidate, at: now)
            if traffic.happens(oneIn: 9) { stopped.save() }
            guard traffic.happens(oneIn: 25) else { continue }
            stopped.save()
            stopped.admission = Admission(settings: settings(seed), state: stopped.state, bounds: bounds)
        }

        #expect(stopped.decisions == straight.decisions)
        #expect(stopped.drafts == straight.drafts)
        straight.save()
        stopped.save()
        #expect(stopped.state.groups == straight.state.groups)
        #expect(Set(stopped.state.windows.map(\.key)) == Set(straight.state.windows.map(\.key)))
    }

    @Test("A crash loses the decisions since the last save; evaluating the same records again gives the same decisions")
    func crashing() throws {
        var traffic = SeededGenerator(seed: 55)
        let log = traffic.log(records: 2000, groups: 60, accounts: 4)
        var straight = OutboxScan(settings(1), Admission.Bounds())
        for (candidate, now) in log { straight.handle(candidate, at: now) }

        var scan = OutboxScan(settings(1), Admission.Bounds())
        var begin = 0
        while begin < log.count {
            let saved = (scan, begin)
            let end = min(log.count, begin + Int(traffic.number(below: 200)) + 1)
            for (candidate, now) in log[begin..<end] { scan.handle(candidate, at: now) }
            if traffic.happens(oneIn: 3) {
                (scan, begin) = saved
                scan.admission = Admission(settings: settings(1), state: scan.state)
            } else {
                scan.save()
                begin = end
            }
        }

        #expect(scan.decisions == straight.decisions)
        #expect(scan.drafts == straight.drafts)
    }

    @Test(
        "In any period of log time, no more records and summaries are sent than burst and refill allow",
        arguments: 0..<4 as Range<UInt64>)
    func bound(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed &+ 200)
        let log = traffic.log(records: 5000, groups: 400, accounts: 3)
        let settings = settings(seed)
        var scan = OutboxScan(settings, Admission.Bounds())
        var sent: [Int64] = []
        for (candidate, now) in log {
            scan.handle(candidate, at: now)
            sent += scan.drafts.map(\.windowEnd.milliseconds)
            scan.drafts = []
            if case .admit = scan.decisions[scan.decisions.count - 1] { sent.append(now.milliseconds) }
        }
        sent.sort()

        var excess = -Double.infinity
        for first in stride(from: 0, to: sent.count, by: 11) {
            for last in stride(from: first, to: sent.count, by: 19) {
                let refill = Double((sent[last] - sent[first]) * settings.globalRefill.count) / 60_000
                // One more for each of the four shares, which may start with a partial token.
                let allowed = Double(settings.globalBurst) + refill + 4
                excess = max(excess, Double(last - first + 1) - allowed)
            }
        }
        #expect(sent.count > 300)
        #expect(excess <= 0)
    }

    @Test(
        "An application with many noisy and new groups starves neither other applications nor its own critical records"
    )
    func starvation() {
        var admission = Admission(settings: LimitSettings())
        var quiet: [AdmissionDecision] = []
        var critical: [AdmissionDecision] = []
        var summaries = 0
        var id: Int64 = 0
        for second in 0..<1800 as Range<Int64> {
            let now = RecordLogInstant(milliseconds: second * 1000)
            summaries += admission.dueSummaries(at: now).count
            for noisy in 0..<50 as Range<Int64> {
                id += 1
                _ = admission.evaluate(
                    AdmissionCandidate(
                        record: RowID(id), group: GroupID(noisy), account: 1, user: 1001, severity: .error,
                        isFirstOfGroup: second == 0), at: now)
            }
            if second % 600 == 599 {
                id += 1
                quiet.append(
                    admission.evaluate(
                        AdmissionCandidate(
                            record: RowID(id), group: 9000, account: 2, user: 1002, severity: .warning,
                            isFirstOfGroup: false),
                        at: now))
                critical.append(
                    admission.evaluate(
                        AdmissionCandidate(
                            record: RowID(id), group: GroupID(9001 + second), account: 1, user: 1001,
                            severity: .critical,
                            isFirstOfGroup: false),
                        at: now))
            }
        }

        #expect(quiet == (1...3).map { .admit(suppressedBefore: 0, occurrences: $0) })
        #expect(critical == Array(repeating: .admit(suppressedBefore: 0, occurrences: 1), count: 3))
        #expect(summaries > 0)
    }
}
