import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@Suite("An idle daemon", .daemonLog)
struct IdleTests {
    @Test(
        "An idle daemon has at most 6 MiB of anonymous and 23 MiB of resident memory",
        // Test builds contain other code.
        .enabled(if: TestBinaries.areChosen, "the limits are those of release builds; see scripts/test --all"))
    func atRest() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            let clock = ContinuousClock()
            let start = try clock.measure { try daemon.start() }
            let anonymous = try daemon.kilobytes("RssAnon")
            let resident = try daemon.kilobytes("VmRSS")
            print("Idle: \(anonymous) KiB anonymous, \(resident) KiB resident; ready after \(start)")
            #expect(anonymous <= 6 << 10)
            // Most of it is code and libraries, which other processes share.
            #expect(resident <= 23 << 10)
        }
    }

    @Test("An idle daemon uses no processor time")
    func doesNothing() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Something")
            try await eventually("the daemon is idle") {
                let before = try daemon.processorTicks
                let wait = try RawClient(path: daemon.socket)
                #expect(throws: RawClient.NoReply.quiet) { try wait.reply(within: .milliseconds(500)) }
                return try daemon.processorTicks == before
            }
        }
    }
}
