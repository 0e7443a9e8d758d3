import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import Torture
import UnixIO

/// Some of the faults of `TortureTests`, with reports sent through the client library.
@Suite("The client library and fault injection in the daemon", .daemonLog)
struct ClientTortureTests {
    @Test("A daemon that is killed around a commit, a sync or a receipt stores each report once")
    func namedPoints() async throws {
        let tools = try ScratchFolder(named: "client-torture")
        let library = try FaultLibrary.build(in: tools)
        let control = try FaultControl(path: tools["faults"])
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(TortureRun.configuration(listener, control: control, library: library)) { daemon in
            var reports = LibraryReports(daemon)
            var kills = 0
            for (index, name) in try control.points.enumerated() {
                let point = name.split(separator: " ", maxSplits: 1).last.map { String($0) }
                guard let point, ["commit: records", "commit", "log: sync", "receipt"].contains(point) else { continue }
                try control.signal(SIGKILL, at: index + 1, pass: 3)
                let deadline = MonotonicClock.now.advanced(by: .seconds(30))
                while daemon.process?.isRunning == true, MonotonicClock.now < deadline {
                    reports.report(20)
                    _ = reports.delivery.flush(timeout: .milliseconds(20))
                }
                #expect(daemon.process?.isRunning == false, "\(name)")
                try control.disarm()
                try daemon.kill()
                reports.report(50)
                try daemon.start()
                kills += 1
            }
            #expect(kills >= 4)
            try reports.checkAllStored(by: daemon)
        }
    }

    @Test("Reports of short-lived programs survive kills, suspensions, a removed socket, disk errors and a repair")
    func programs() async throws {
        let tools = try ScratchFolder(named: "client-torture")
        let library = try FaultLibrary.build(in: tools)
        let control = try FaultControl(path: tools["faults"])
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let configuration = TortureRun.configuration(listener, control: control, library: library)
        try await DaemonFixture.with(configuration, starts: false) { daemon in
            let tortureRun = try TortureRun(daemon, listener, control: control, seed: 2, styles: ReporterStyle.programs)
            defer { tortureRun.end() }
            for _ in 1...5 { try tortureRun.killAtRandom() }
            for (index, name) in try control.points.enumerated() where name.hasSuffix("receipt") {
                try tortureRun.kill(at: index + 1, name)
            }
            try tortureRun.stopAndContinue()
            try tortureRun.removeSocket()
            for error in [Errno.inputOutput, .deviceFull] {
                try tortureRun.failCall(3, count: 8, with: error, "failing")
            }
            try tortureRun.repair()
            try tortureRun.checkForwarding()
            #expect(tortureRun.table.unreached == [])
        }
    }
}
