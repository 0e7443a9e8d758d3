import IssueProtocol
import IssueStore
import Testing

@testable import IssueCore
@testable import IssueDaemon

@Suite("Scanning suppressed records")
struct SuppressedScanTests {
    private static var tight: LimitSettings {
        var limits = LimitSettings()
        limits.groupBurst = 2
        limits.groupRefill = Rate(1, per: .seconds(20))
        limits.applicationBurst = 8
        limits.applicationRefill = Rate(12, per: .seconds(60))
        limits.globalBurst = 12
        limits.summaryInterval = .seconds(8)
        limits.globalRefill = Rate(20, per: .seconds(60))
        limits.overrides = [ApplicationLimitOverride(name: "app1", groupBurst: 0, applicationBurst: 3)]
        return limits
    }

    /// Reports a flood of a few groups of several applications, with critical, new, withheld and coalesced records and
    /// with jumps of the clock.
    private func report(_ count: Int, to fixture: ScanFixture, seed: UInt64) throws {
        var left = count
        while left > 0 {
            let portion = min(left, Int(fixture.below(60)) + 1)
            left -= portion
            try fixture.commit(
                (0..<portion).map { _ in
                    let group = fixture.below(fixture.below(9) + 1)
                    var record = IssueRecord(message: "flood", code: group)
                    record.app = Application(name: "app\(group % 3)", version: "1.\(fixture.below(2))")
                    record.severity = fixture.below(400) == 0 ? .critical : .warning
                    if fixture.below(300) == 0 { record.reportable = false }
                    if seed % 2 == 0, fixture.below(20) == 0 { record.count = fixture.below(9) + 1 }
                    return record
                })
            fixture.pass(fixture.below(40) == 0 ? 20_000 : fixture.below(40))
            if fixture.below(150) == 0 { fixture.pass(fixture.below(100_000), wallToo: false) }
        }
    }

    /// Sends about half of the first 100 priority records ahead. The others of them count as refused.
    private func sendAhead(_ fixture: ScanFixture) throws {
        // Any record can be a priority record here, even one that the limits would suppress.
        try fixture.execute("INSERT OR IGNORE INTO express SELECT id, 1 FROM records WHERE id % 83 = 0")
        var batch = NewBatch(
            destination: fixture.destination.id, kind: .priority, at: IssueTimestamp(millisecondsSince1970: 1))
        for record in try fixture.reader.priority(for: 0, above: 0, limit: 100) {
            batch.priorityThrough = record.candidate.record
            guard fixture.below(2) == 0 else { continue }
            batch.sent.append(
                SentRecord(
                    row: record.candidate.record, account: record.candidate.account, count: record.candidate.count,
                    suppressedBefore: 0, occurrences: 1))
        }
        try fixture.settle(try fixture.writer.store(batch))
    }

    @Test(
        "Records get the same decisions, counts and summaries whether scanned in runs or singly, even after crashes",
        arguments: 0..<6 as Range<UInt64>)
    func same(seed: UInt64) throws {
        try ScanFixture.with(Self.tight, seed: seed) { fixture in
            try report(12_000, to: fixture, seed: seed)
            let muted = Int64(GroupState.muted.databaseValue)
            try fixture.execute(
                """
                UPDATE groups SET state = \(muted), muted_until = (SELECT received_at FROM records WHERE id = 7000)
                WHERE id = 3
                """)
            _ = try fixture.writer.erase(Set((0..<50).map { _ in RowID(fixture.below(11_000) + 1) }).sorted())
            try sendAhead(fixture)

            let (wanted, limiter) = try fixture.judged()
            let decisions = try fixture.scan(BatchLimit(records: 40, bytes: 1 << 20))
            #expect(decisions.sent == wanted.sent)
            #expect(decisions.withheld == wanted.withheld)
            #expect(decisions.held == wanted.held)
            #expect(decisions.gone == wanted.gone)
            #expect(decisions.drafts == wanted.drafts)
            #expect(wanted.held.count > 9000)
            #expect(wanted.sent.count > 10)
            #expect(Set(wanted.held.values).count > 1)
            #expect(wanted.drafts.count > 3)
            #expect(wanted.gone > 5)

            let stored = try fixture.reader.admissionState(of: fixture.destination.id)
            #expect(stored.groups == limiter.groups)
            for window in limiter.windows { #expect(stored.windows.first { $0.key == window.key } == window) }
            #expect(stored.windows.count == limiter.windows.count)
            for bucket in limiter.buckets { #expect(stored.buckets.first { $0.key == bucket.key } == bucket) }
            let ledger = try fixture.reader.figures(viewer: .everything).ledgers[0].ledger
            #expect(ledger.balances)
            #expect(ledger.pending == 0)
        }
    }

    @Test("A summary in an unfinished batch is not put into another one")
    func summaryOnce() throws {
        try ScanFixture.with(Self.tight, seed: 1) { fixture in
            try report(300, to: fixture, seed: 1)
            // A summary is due.
            fixture.pass(20_000)
            try report(300, to: fixture, seed: 1)
            let limit = BatchLimit(records: 40, bytes: 1 << 20)
            let loop = try fixture.forwarder()
            while true {
                let scan = try loop.scan(limit)
                let batch = scan.finished
                try #require(batch.span != nil || batch.lineCount > 0, "No summary was made")
                loop.cursor = batch.span?.upperBound ?? loop.cursor
                let stored = try fixture.writer.store(batch)
                guard !batch.summaries.isEmpty else {
                    if batch.lineCount > 0 { try fixture.settle(stored) }
                    continue
                }
                let pending = try loop.pending().records
                let unfinished = BatchInFlight(batch: stored, lines: scan.lines)
                loop.current = unfinished
                #expect(try loop.pending().records == pending - batch.summaries.count)
                #expect(try loop.scan(limit).finished.summaries.allSatisfy { !batch.summaries.contains($0) })
                (loop.current, loop.preempted) = (nil, unfinished)
                #expect(try loop.scan(limit).finished.summaries.allSatisfy { !batch.summaries.contains($0) })
                loop.preempted = nil
                #expect(try loop.scan(limit).finished.summaries.starts(with: batch.summaries))
                return
            }
        }
    }
}
