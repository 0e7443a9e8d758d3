import IssueProtocol
import Testing

@testable import IssueCore

struct SummaryTests {
    private func at(_ seconds: Int64) -> RecordLogInstant { RecordLogInstant(milliseconds: seconds * 1000) }

    /// Admits one record of each group and suppresses all others.
    private var settings: LimitSettings {
        var settings = LimitSettings()
        settings.groupBurst = 1
        settings.groupRefill = Rate(1, per: .seconds(86_400))
        settings.applicationBurst = 0
        return settings
    }

    private func record(
        _ record: Int64, group: Int64 = 1, account: Int64 = 1, count: Int64 = 1, severity: IssueLevel = .error
    ) -> AdmissionCandidate {
        AdmissionCandidate(
            record: RowID(record), group: GroupID(group), account: AccountID(account), user: 0, severity: severity,
            isFirstOfGroup: false,
            count: count)
    }

    @Test("The first summary comes after 60 s with the number of suppressed records, their times and samples")
    func first() throws {
        var admission = Admission(settings: settings)
        _ = admission.evaluate(record(1), at: at(0))
        for id in 2...6 as ClosedRange<Int64> {
            _ = admission.evaluate(record(id, count: 10, severity: id == 4 ? .critical : .error), at: at(id))
        }

        #expect(admission.nextSummaryDue == at(62))
        #expect(admission.dueSummaries(at: at(61)) == [])
        let draft = try #require(admission.dueSummaries(at: at(70)).first)

        #expect(
            draft
                == SummaryDraft(
                    group: 1, account: 1, reason: .groupRate, windowStart: at(2), windowEnd: at(62),
                    suppressedCount: 5, suppressedOccurrences: 50, forwardedCount: 0, occurrences: 51,
                    summarySequence: 1, firstSeen: at(2), lastSeen: at(6), samples: [2, 3, 4],
                    maxSeverity: .critical, stillSuppressing: false, distinctGroups: 1,
                    spans: [SummaryRange(group: 1, reason: .groupRate, records: 2...6)]))
    }

    @Test("While records are suppressed, windows double up to 15 min; after a quiet window they start at 60 s again")
    func doubling() {
        var admission = Admission(settings: settings)
        var ends: [Int64] = []
        for second in 0..<5000 as Range<Int64> {
            ends += admission.dueSummaries(at: at(second)).map { $0.windowEnd.milliseconds / 1000 }
            _ = admission.evaluate(record(second), at: at(second))
        }
        #expect(zip(ends, ends.dropFirst()).map { $1 - $0 } == [120, 240, 480, 900, 900, 900, 900])

        #expect(admission.dueSummaries(at: at(10_000)).count == 1)
        #expect(admission.nextSummaryDue == nil)
        _ = admission.evaluate(record(9999), at: at(10_000))
        #expect(admission.nextSummaryDue == at(10_060))
    }

    @Test(
        "A summary tells whether records were still suppressed in the second half of its window",
        arguments: [
            (31, false), (32, true), (59, true),
        ] as [(Int64, Bool)])
    func stillSuppressing(lastRecord: Int64, expected: Bool) {
        var admission = Admission(settings: settings)
        for second in [0, 2, lastRecord] { _ = admission.evaluate(record(second), at: at(second)) }

        #expect(admission.dueSummaries(at: at(62)).map(\.stillSuppressing) == [expected])
    }

    @Test("A group's summaries are numbered without gaps, also after a quiet period")
    func sequence() {
        var admission = Admission(settings: settings)
        var numbers: [Int64] = []
        for burst in 0..<5 as Range<Int64> {
            for id in 0..<5 as Range<Int64> { _ = admission.evaluate(record(id), at: at(burst * 50_000)) }
            numbers += admission.dueSummaries(at: at(burst * 50_000 + 40_000)).map(\.summarySequence)
        }

        #expect(numbers == [1, 2, 3, 4, 5])
    }

    @Test("Records sent during a window are counted in its summary as forwarded")
    func forwarded() {
        var settings = settings
        settings.groupRefill = Rate(1, per: .seconds(30))
        var admission = Admission(settings: settings)
        for second in [0, 1, 2, 31] as [Int64] { _ = admission.evaluate(record(second), at: at(second)) }

        let draft = admission.dueSummaries(at: at(100)).first

        #expect(draft?.suppressedCount == 2)
        #expect(draft?.forwardedCount == 1)
        #expect(draft?.stillSuppressing == false)
    }

    @Test("The groups with the most suppressed records get their own summary, and the others share one per application")
    func merged() {
        var bounds = Admission.Bounds()
        bounds.summaries = 5
        var settings = settings
        settings.globalBurst = 1000
        var admission = Admission(settings: settings, bounds: bounds)
        for group in 1...20 as ClosedRange<Int64> {
            // The first record is sent; the group's number is the number of suppressed ones.
            for id in 0...group { _ = admission.evaluate(record(id, group: group, account: group % 2), at: at(0)) }
        }

        let drafts = admission.dueSummaries(at: at(60))

        #expect(drafts.map(\.group) == [20, 19, 18, 17, 16, nil, nil])
        #expect(drafts.suffix(2).map(\.account) == [1, 0])
        #expect(drafts.suffix(2).map(\.distinctGroups) == [8, 7])
        #expect(drafts.map(\.suppressedCount).reduce(0, +) == 210)
        #expect(drafts.suffix(2).map(\.occurrences) == [72, 63])
        #expect(drafts.suffix(2).map(\.summarySequence) == [1, 1])
    }

    @Test("Summaries keep within their share of the destination's limit, and none is lost")
    func paced() {
        var admission = Admission(settings: settings)
        var suppressed: Int64 = 0
        for group in 1...500 as ClosedRange<Int64> {
            for id in 0...3 as ClosedRange<Int64> {
                let decision = admission.evaluate(record(id, group: group, account: group), at: at(0))
                if case .suppress = decision { suppressed += 1 }
            }
        }

        let atOnce = admission.dueSummaries(at: at(60))
        let later = admission.dueSummaries(at: at(3600))

        // A tenth of 300, and a tenth of 300 for each following minute.
        #expect(atOnce.count == 30)
        #expect(Set(later.map(\.windowEnd)).count > 1)
        #expect((atOnce + later).map(\.suppressedCount).reduce(0, +) == suppressed)
    }

    @Test("A shutdown summarises everything and leaves no window open")
    func closing() {
        var admission = Admission(settings: settings)
        for id in 1...9 as ClosedRange<Int64> { _ = admission.evaluate(record(id, group: id % 3), at: at(0)) }

        let drafts = admission.closeAll(at: at(5))

        #expect(drafts.map(\.suppressedCount) == [2, 2, 2])
        #expect(drafts.allSatisfy { $0.windowEnd == at(5) })
        #expect(admission.nextSummaryDue == nil)
        #expect(admission.takeChanges().closedWindows.count == 3)
        #expect(admission.closeAll(at: at(6)) == [])
        #expect(admission.takeChanges() == AdmissionChanges())
    }

    @Test("Windows closed after a jump of the clock do not move the bucket's time beyond the last record")
    func closingLate() {
        var admission = Admission(settings: settings)
        for id in 1...9 as ClosedRange<Int64> { _ = admission.evaluate(record(id, group: id % 3), at: at(0)) }
        #expect(admission.closeAll(at: at(10 * 86_400)).count == 3)
        let times = admission.takeChanges().buckets.map(\.at)
        #expect(!times.isEmpty && times.allSatisfy { $0 <= at(0) })
    }

    @Test("The stored state of a group is also needed for a record that reopens the group")
    func reopening() {
        var admission = Admission(settings: settings)
        var candidate = record(1)
        candidate.isFirstOfGroup = true
        #expect(admission.lacks(candidate).group)
    }

    @Test("An evicted group is summarised at once and continues from its stored state")
    func eviction() {
        var bounds = Admission.Bounds()
        bounds.groups = 10
        var admission = Admission(settings: settings, bounds: bounds)
        var state = AdmissionState()
        for id in 1...3 as ClosedRange<Int64> { _ = admission.evaluate(record(id, group: 1), at: at(0)) }
        for group in 2...11 as ClosedRange<Int64> { _ = admission.evaluate(record(2 + group, group: group), at: at(1)) }

        // The evicted group is not stored yet, so it is still known.
        #expect(admission.knows(group: 1))
        state.apply(admission.takeChanges())
        #expect(!admission.knows(group: 1))

        let drafts = admission.dueSummaries(at: at(1))
        #expect(drafts.map(\.group) == [1])
        #expect(drafts.first?.suppressedCount == 2)
        #expect(drafts.first?.occurrences == 3)

        for row in state.groups where row.group == 1 { admission.adopt(row) }
        #expect(admission.evaluate(record(50, group: 1), at: at(2)) == .suppress(.groupRate))
        #expect(admission.dueSummaries(at: at(100)).map(\.summarySequence) == [2])
    }
}
