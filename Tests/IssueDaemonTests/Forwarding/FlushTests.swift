import IssueCore
import IssueProtocol
import IssueStore
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("A flush of a destination")
struct FlushTests {
    /// Requests a flush from a service that is not running yet, calls `prepare`, and runs a loop of the service until
    /// it ends. Returns how often the flush was completed.
    private func completions(_ prepare: (ForwardingService) throws -> Void) throws -> Int {
        let completed = Monitor(0)
        try ScanFixture.withPath { path in
            let destination = try ScanFixture(path, .withoutLimits, seed: 1).destination
            try ScanFixture.withWriter(path) { writer in
                let service = ForwardingService(
                    destination: destination,
                    settings: ForwardingService.Settings(forward: .withoutLimits, limits: .withoutLimits, host: "h"),
                    path: path, writer: writer, statusRegistry: StatusRegistry(path: path), log: .silent)
                let loop = try ForwardingLoop(service, SilentShipper(), fatesChanged: {})
                service.flush { completed.withLock { $0 += 1 } }
                try prepare(service)
                try loop.run()
            }
        }
        return completed.withLock { $0 }
    }

    @Test("It is completed if the service stops before it has handled the request")
    func stopping() throws {
        #expect(try completions { $0.stop() } == 1)
    }
}
