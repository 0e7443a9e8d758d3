import FakeLogz
import IssueTestSupport

/// Runs `body` with a daemon, the listener to which only this daemon forwards, and a client of the daemon.
func withListener(
    _ settings: String = "", _ body: (DaemonFixture, FakeLogz, RawClient) async throws -> Void
) async throws {
    let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
    defer { listener.stop() }
    try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
        try await body(daemon, listener, try RawClient(path: daemon.socket))
    }
}
