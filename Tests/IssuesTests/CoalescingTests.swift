import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("Reports in a tight loop")
struct CoalescingTests {
    @Test("Equal reports from one location are combined in a record with a count and the first and last time")
    func coalesced() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            for number in 1...300 {
                fixture.reporter.receive(IssueReport("again", metadata: ["shelf": 7]))
                if number % 100 == 0 { fixture.reporter.receive(IssueReport("mild", level: .info)) }
            }
            let collector = try FakeCollector(path: fixture.path)
            defer { collector.stop() }
            #expect(try await fixture.delivery.flushed(within: .seconds(60)))
            let counts = Dictionary(grouping: collector.stored.map(\.record), by: \.message)
                .mapValues { $0.reduce(0) { $0 + ($1.count ?? 1) } }
            #expect(counts == ["again": 300, "mild": 3])
            // Nothing is sent before the collector starts, so all equal reports are combined.
            #expect(collector.stored.count == 2)
            let counted = try #require(collector.stored.map(\.record).max { $0.count ?? 1 < $1.count ?? 1 })
            let first = try #require(counted.firstOccurredAt)
            let last = try #require(counted.occurredAt)
            #expect(first < last)
        }
    }

    @Test("Reports that differ in location, level, message, metadata or breadcrumbs, or have a receipt, are separate")
    func different() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            let line: UInt = 7
            func send(_ report: IssueReport) { fixture.reporter.receive(report) }
            send(IssueReport("a", line: line, column: 1))
            send(IssueReport("a", line: 8, column: 1))
            send(IssueReport("b", line: 8, column: 1))
            send(IssueReport("b", metadata: ["k": 1], line: 8, column: 1))
            send(IssueReport("b", level: .critical, metadata: ["k": 1], line: 8, column: 1))
            send(IssueReport("c", fileID: "M/a.swift", line: 8, column: 1))
            send(IssueReport("c", fileID: "M/b.swift", line: 8, column: 1))
            withBreadcrumbs {
                leaveBreadcrumb("before")
                send(IssueReport("c", fileID: "M/b.swift", line: 8, column: 1))
            }
            let receipts = (1...2).map { _ in fixture.reporter.submit(IssueReport("d", line: 9, column: 1)) }
            let collector = try FakeCollector(path: fixture.path)
            defer { collector.stop() }
            let ids = [try await receipts[0].stored(), try await receipts[1].stored()]
            #expect(Set(ids).count == 2)
            #expect(collector.stored.count == 10)
            #expect(collector.stored.allSatisfy { $0.record.count == nil })
        }
    }
}
