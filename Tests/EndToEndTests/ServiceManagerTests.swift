import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@Suite("The service manager", .daemonLog)
struct ServiceManagerTests {

    @Test("The service manager is notified when the daemon is ready, reloads or stops")
    func notifications() async throws {
        try await DaemonFixture.with { daemon in
            // The fixture waits for READY, and for RELOADING and READY again.
            try daemon.reload()
            try daemon.terminate()
            let lines = daemon.notifications.lines
            let states = lines.filter { $0.hasSuffix("=1") && !$0.hasPrefix("WATCHDOG") }
            #expect(states == ["READY=1", "RELOADING=1", "READY=1", "STOPPING=1"])
            #expect(lines.contains { $0.hasPrefix("STATUS=") })
            #expect(lines.contains { $0.hasPrefix("MONOTONIC_USEC=") })
        }
    }

    @Test("The daemon sends a watchdog notification before each interval of the watchdog ends")
    func watchdog() async throws {
        var configuration = DaemonConfiguration()
        configuration.environment["WATCHDOG_USEC"] = "3000000"
        try await DaemonFixture.with(configuration) { daemon in
            for _ in 1...3 { try daemon.waits(for: "WATCHDOG=1", within: .seconds(3)) }
        }
    }

    @Test("The daemon sends watchdog notifications while a reload waits for a file")
    func slowReload() async throws {
        var configuration = DaemonConfiguration()
        configuration.environment["WATCHDOG_USEC"] = "600000"
        try await DaemonFixture.with(configuration) { daemon in
            let pipe = "\(daemon.configurationFile).d/slow.conf"
            try FileSystem.makeFolders("\(daemon.configurationFile).d")
            try Process.run(URL(filePath: "/usr/bin/mkfifo"), arguments: [pipe]).waitUntilExit()
            daemon.process?.signal(SIGHUP)
            try daemon.waits(for: "RELOADING=1")
            // Six notifications take longer than the watchdog's timeout.
            for _ in 1...6 { try daemon.waits(for: "WATCHDOG=1", within: .seconds(5)) }
            #expect(try RawClient(path: daemon.socket).report("During the reload").count == 1)
            let states = { daemon.notifications.lines.filter { $0 == "READY=1" || $0 == "RELOADING=1" } }
            #expect(states() == ["READY=1", "RELOADING=1"])
            try FileDescriptor.open(pipe, .writeOnly).writeAll(Array("[Log]\nLevel=debug\n".utf8))
            try daemon.waitUntilReady()
            #expect(states() == ["READY=1", "RELOADING=1", "READY=1"])
            try await daemon.logs("id=config.reloaded")
        }
    }

    @Test(
        "The daemon sends watchdog notifications if WATCHDOG_PID= is not set, but not if it names another process",
        arguments: [nil, "1"])
    func othersWatchdog(pid: String?) async throws {
        var configuration = DaemonConfiguration()
        configuration.environment["WATCHDOG_USEC"] = "1000"
        configuration.environment["WATCHDOG_PID"] = pid
        try await DaemonFixture.with(configuration) { daemon in
            _ = try RawClient(path: daemon.socket).report("Something")
            try daemon.reload()
            try daemon.terminate()
            #expect(daemon.notifications.lines.contains("WATCHDOG=1") == (pid == nil))
        }
    }

    @Test(
        "An inherited socket is served, and calls sent before the start are answered",
        .enabled(if: TestBinaries.socketActivator != nil, "there is no systemd-socket-activate"))
    func socketActivation() async throws {
        let activator = try #require(TestBinaries.socketActivator)
        try await DaemonFixture.with(starts: false) { daemon in
            let socket = daemon.folder["activated.sock"]
            try daemon.launch(
                through: [activator, "--listen", socket, "--setenv", "NOTIFY_SOCKET=\(daemon.notifications.path)"])
            var waiting: RawClient?
            try await eventually("the socket exists") {
                waiting = try? RawClient(path: socket)
                return waiting != nil
            }
            // The first connection starts the daemon.
            let client = try #require(waiting)
            #expect(try client.report("The first of all").count == 1)
            try daemon.waitUntilReady()
            try await eventually("the status has the records") { try RawClient(path: socket).status().received == 1 }
            #expect(!daemon.folder.names.contains("issued.sock"))
            let warning = "Path=\(daemon.socket) has no effect, because systemd has created the socket \(socket)."
            try await daemon.logs(warning, count: 1)
            #expect(daemon.log.contains("set ListenStream= of issued.socket"))
            try daemon.reload()
            try await daemon.logs(warning, count: 2)
            #expect(!daemon.log.contains(LogEvent.configNeedsRestart.id))
            #expect(try RawClient(path: socket).status().store.faults == [])
            #expect(try daemon.terminate() == .exit(0))
        }
    }

    /// What `restarts.py` prints.
    private struct Restarts: Decodable {
        var records, ids, received, refused, failed: Int
        var failures: [String]
    }

    @Test("Restarts under load lose no report and refuse no connection, since the socket stays open")
    func restarts() async throws {
        let count = ProcessInfo.processInfo.environment["ISSUED_LONG_TESTS"] == nil ? 25 : 1000
        try await DaemonFixture.with(starts: false) { daemon in
            let run = try ChildProcess(
                script: "restarts",
                [try TestBinaries.path(of: "issued"), daemon.configurationFile, daemon.socket, "\(count)", "4"],
                in: daemon.folder)
            #expect(try run.end(within: .seconds(count * 2 + 30)) == .exit(0), "\(run.errors)")
            let result = try JSONDecoder().decode(Restarts.self, from: Data(run.output.utf8))
            #expect(result.records >= count)
            #expect(result.ids == result.records && result.received == result.records)
            #expect(result.refused == 0 && result.failed == 0, "\(result.failures)")
        }
    }
}
