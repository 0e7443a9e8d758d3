import IssueTestSupport
import Issues
import UnixIO

/// A folder with a socket, a reporter that sends to it, and optionally a collector.
struct CollectorFixture: Sendable {
    let path: String
    let delivery: Delivery
    let reporter: DaemonReporter
    let collector: FakeCollector?

    /// Runs a test with a collector that has the given faults, or without one if `faults` is nil.
    static func with(
        faults: [FakeCollector.Fault]? = [], limits: OutboxLimits = quickLimits,
        _ body: (CollectorFixture) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder()
        let path = folder["issued.sock"]
        let delivery = Delivery(paths: [path], limits: limits)
        let collector = try faults.map { try FakeCollector(path: path, faults: $0) }
        let fixture = CollectorFixture(
            path: path, delivery: delivery, reporter: DaemonReporter(delivery: delivery), collector: collector)
        do {
            try await body(fixture)
        } catch {
            try? await fixture.stop()
            throw error
        }
        try await fixture.stop()
    }

    /// Limits with short delays, so that tests are fast.
    static var quickLimits: OutboxLimits {
        var limits = OutboxLimits()
        limits.firstDelay = .milliseconds(2)
        limits.lastDelay = .milliseconds(20)
        // The client must not give up while a test holds back a reply, even if the machine is busy.
        limits.answerTimeout = .seconds(3600)
        return limits
    }

    /// Waits until an attempt to connect has failed or a connection was lost. Returns false after a minute.
    func waitForFailure() async throws -> Bool {
        try await onThread { [delivery] in delivery.waitForFailure(timeout: .seconds(60)) }
    }

    private func stop() async throws {
        delivery.stop()
        try await onThread { [collector] in collector?.stop() }
    }
}

extension Delivery {
    /// Calls `flush` on a thread of its own.
    func flushed(within timeout: Duration, stopsAtFirstFailure: Bool = false) async throws -> Bool {
        try await onThread { [self] in flush(timeout: timeout, stopsAtFirstFailure: stopsAtFirstFailure) }
    }
}
