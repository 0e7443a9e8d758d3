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
            let anonymous = try kilobytes("RssAnon", daemon)
            let resident = try kilobytes("VmRSS", daemon)
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
                let before = try ticks(daemon)
                let wait = try RawClient(path: daemon.socket)
                #expect(throws: RawClient.NoReply.quiet) { try wait.reply(within: .milliseconds(500)) }
                return try ticks(daemon) == before
            }
        }
    }

    private func kilobytes(_ name: String, _ daemon: DaemonFixture) throws -> Int {
        let status = String(
            decoding: try FileSystem.read("/proc/\(daemon.pid)/status", limit: 65_536), as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("\(name):") })
        return try #require(Int(line.split(whereSeparator: { $0 == " " || $0 == "\t" })[1]))
    }

    /// Returns the processor time that the daemon has used, in hundredths of a second.
    private func ticks(_ daemon: DaemonFixture) throws -> Int {
        let stat = String(decoding: try FileSystem.read("/proc/\(daemon.pid)/stat", limit: 4096), as: UTF8.self)
        let fields = try #require(stat.split(separator: ")").last).split(separator: " ")
        return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
    }
}
