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
        let folder = "/tmp/issues-\(String(Randomness.uint64(), radix: 36))"
        try FileSystem.makeFolders(folder, mode: 0o700)
        let path = "\(folder)/issued.sock"
        let delivery = Delivery(paths: [path], limits: limits)
        let collector = try faults.map { try FakeCollector(path: path, faults: $0) }
        let fixture = CollectorFixture(
            path: path, delivery: delivery, reporter: DaemonReporter(delivery: delivery), collector: collector)
        do {
            try await body(fixture)
        } catch {
            fixture.clear(folder)
            throw error
        }
        fixture.clear(folder)
    }

    /// Limits with short delays, so that tests are fast.
    static var quickLimits: OutboxLimits {
        var limits = OutboxLimits()
        limits.firstDelay = .milliseconds(2)
        limits.lastDelay = .milliseconds(20)
        return limits
    }

    /// Waits until an attempt to connect has failed. Returns false after a timeout.
    func waitForFailure() -> Bool {
        delivery.waitForFailure(timeout: .seconds(60))
    }

    private func clear(_ folder: String) {
        delivery.stop()
        collector?.stop()
        try? FileSystem.removeEmptyFolder(folder)
    }
}
