import IssueProtocol
import Issues
import Synchronization
import Testing

@Suite("Reports that are sent to the daemon")
struct SendingTests {
    /// Runs a body with a collector and a delivery that uses the gate.
    private func with(
        _ gate: SendGate, limits: OutboxLimits = CollectorFixture.quickLimits,
        _ body: (CollectorFixture, Delivery) async throws -> Void
    ) async throws {
        try await CollectorFixture.with { fixture in
            let delivery = Delivery(paths: [fixture.path], limits: limits, gate: gate)
            defer { delivery.stop() }
            try await body(fixture, delivery)
        }
    }

    @Test("beforeSend can change or withhold a report; the next report contains the number of withheld ones")
    func beforeSend() async throws {
        let gate = SendGate()
        gate.beforeSend = { report in
            guard report.message != "secret" else { return nil }
            var report = report
            report.metadata["card"] = nil
            return report
        }
        try await with(gate) { fixture, delivery in
            let reporter = DaemonReporter(delivery: delivery)
            for message in ["first", "secret", "secret", "second", "third"] {
                reporter.receive(IssueReport(message, metadata: ["card": 17, "till": 2]))
            }
            let isFlushed = try await delivery.flushed(within: .seconds(60))
            #expect(isFlushed)
            let records = fixture.collector?.stored.map(\.record) ?? []
            #expect(records.map(\.message) == ["first", "second", "third"])
            #expect(records.allSatisfy { $0.metadata?["card"] == nil && $0.metadata?["till"]?.asInteger == 2 })
            #expect(records.map { $0.metadata?["withheld_before"]?.asInteger } == [nil, 2, nil])
        }
    }

    @Test("The receipt of a withheld report fails")
    func receipt() async throws {
        let gate = SendGate()
        gate.beforeSend = { _ in nil }
        try await with(gate) { _, delivery in
            let receipt = DaemonReporter(delivery: delivery).submit(IssueReport("secret"))
            let error = await #expect(throws: IssueDeliveryError.self) { try await receipt.stored() }
            #expect(error?.code == .withheld)
        }
    }

    @Test("When beforeSend is replaced, an object that the old closure retained can report an issue in its deinit")
    func released() {
        final class Departing: Sendable {
            let onEnd: @Sendable () -> Void
            init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
            deinit { onEnd() }
        }
        let gate = SendGate()
        let withheld = Atomic(0)
        let report: @Sendable () -> Void = { [unowned gate] in
            let decision = gate.evaluate(IssueReport("I leave"), isSampled: false, chance: 0)
            if case .withheld = decision { withheld.add(1, ordering: .relaxed) }
        }
        gate.beforeSend = { [departing = Departing(report)] report in
            _ = departing
            return report
        }
        gate.beforeSend = { _ in nil }
        #expect(withheld.load(ordering: .relaxed) == 1)
    }

    @Test("An issue that the beforeSend closure itself reports is not passed to beforeSend")
    func recursion() async throws {
        let gate = SendGate()
        let calls = Atomic(0)
        try await with(gate) { _, delivery in
            let reporter = DaemonReporter(delivery: delivery)
            gate.beforeSend = { report in
                calls.add(1, ordering: .relaxed)
                reportIssue("While looking at a report (this line is expected)")
                return report
            }
            withIssueReporters([reporter]) {
                reportIssue("first")
                reporter.receive(IssueReport("second"))
            }
            let isFlushed = try await delivery.flushed(within: .seconds(60))
            #expect(isFlushed)
        }
        #expect(calls.load(ordering: .relaxed) == 2)
    }

    @Test("A random fraction of a level's reports is sent, and the others are counted")
    func sampling() async throws {
        let gate = SendGate()
        gate.sampling = [.debug: 0, .info: 0.25]
        #expect(gate.evaluate(IssueReport("m", level: .info), isSampled: true, chance: 0.24).isSent)
        #expect(!gate.evaluate(IssueReport("m", level: .info), isSampled: true, chance: 0.25).isSent)
        #expect(gate.evaluate(IssueReport("m", level: .info), isSampled: false, chance: 0.99).isSent)
        #expect(gate.evaluate(IssueReport("m", level: .error), isSampled: true, chance: 0.99).isSent)

        try await with(gate) { fixture, delivery in
            let reporter = DaemonReporter(delivery: delivery)
            for _ in 0..<5 { reporter.receive(IssueReport("detail", level: .debug)) }
            reporter.receive(IssueReport("failure"))
            let isFlushed = try await delivery.flushed(within: .seconds(60))
            #expect(isFlushed)
            let records = fixture.collector?.stored.map(\.record) ?? []
            #expect(records.map(\.message) == ["failure"])
            #expect(records.first?.metadata?["sampled_out_before"]?.asInteger == 5)
        }
    }

    /// Sends reports to a daemon that starts afterwards, through a buffer with space for two of them. Withholds those
    /// with the message `secret`. Returns the records that arrive.
    private func arriving(_ reports: [IssueReport]) async throws -> [IssueRecord] {
        let gate = SendGate()
        gate.beforeSend = { $0.message == "secret" ? nil : $0 }
        var limits = CollectorFixture.quickLimits
        limits.entries = 2
        var records: [IssueRecord] = []
        try await CollectorFixture.with(faults: nil) { fixture in
            let delivery = Delivery(paths: [fixture.path], limits: limits, gate: gate)
            defer { delivery.stop() }
            let reporter = DaemonReporter(delivery: delivery)
            for report in reports { reporter.receive(report) }
            let collector = try FakeCollector(path: fixture.path, faults: [])
            defer { collector.stop() }
            #expect(try await delivery.flushed(within: .seconds(60)))
            records = collector.stored.map(\.record)
        }
        return records
    }

    @Test("The number of withheld reports is not lost if the report that contains it is dropped")
    func dropped() async throws {
        let messages = ["secret", "tells", "second", "third", "fourth"]
        let records = try await arriving(messages.map { IssueReport($0) })
        #expect(records.contains { $0.message == "fourth" })
        #expect(records.compactMap { $0.metadata?["withheld_before"]?.asInteger } == [1])
    }

    @Test("Metadata of the application with the key withheld_before does not change the number of withheld reports")
    func ownMetadata() async throws {
        let own = IssueReport("own", metadata: ["withheld_before": .init(Int.max)])
        let records = try await arriving([own] + ["second", "third", "secret", "fourth"].map { IssueReport($0) })
        #expect(!records.contains { $0.message == "own" })
        #expect(records.compactMap { $0.metadata?["withheld_before"]?.asInteger } == [1])
    }
}

extension SendGate.Decision {
    fileprivate var isSent: Bool {
        switch self {
        case .send: true
        case .withheld, .sampledOut: false
        }
    }
}
