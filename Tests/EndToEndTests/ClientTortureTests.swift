import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import Torture
import UnixIO

/// The faults of `TortureTests`, with reports sent through the client library.
@Suite("The client library and fault injection in the daemon", .daemonLog)
struct ClientTortureTests {
    @Test("A daemon that is killed around a commit, a sync or a receipt gets each report once")
    func namedPoints() async throws {
        let tools = try ScratchFolder(named: "client-torture")
        let library = try FaultLibrary.build(in: tools)
        let control = try FaultControl(path: tools["faults"])
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(Siege.configuration(listener, control: control, library: library)) { daemon in
            let delivery = Delivery(paths: [daemon.socket])
            defer { delivery.stop() }
            let reporter = DaemonReporter(delivery: delivery)
            var reported = 0
            func report(_ count: Int) {
                for _ in 0..<count {
                    reported += 1
                    reporter.receive(IssueReport("Report \(reported)", level: .warning))
                }
            }
            var kills = 0
            for (index, name) in try control.points.enumerated() {
                let place = name.split(separator: " ", maxSplits: 1).last.map { String($0) }
                guard let place, ["commit: records", "commit", "log: sync", "receipt"].contains(place) else { continue }
                try control.signal(SIGKILL, at: index + 1, pass: 3)
                let deadline = MonotonicClock.now.advanced(by: .seconds(30))
                while daemon.process?.isRunning == true, MonotonicClock.now < deadline {
                    report(20)
                    _ = delivery.flush(timeout: .milliseconds(20))
                }
                #expect(daemon.process?.isRunning == false, "\(name)")
                try control.disarm()
                try daemon.kill()
                report(50)
                try daemon.start()
                kills += 1
            }
            #expect(kills >= 4)
            #expect(delivery.flush(timeout: .seconds(90)))
            let messages = try RawClient(path: daemon.socket).allRecords().map(\.record.message)
            #expect(messages.count == reported)
            #expect(Set((1...reported).map { "Report \($0)" }).subtracting(messages).isEmpty)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("Reports of short-lived programs survive kills, stops and a hidden socket")
    func programs() async throws {
        let tools = try ScratchFolder(named: "client-torture")
        let library = try FaultLibrary.build(in: tools)
        let control = try FaultControl(path: tools["faults"])
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let configuration = Siege.configuration(listener, control: control, library: library)
        try await DaemonFixture.with(configuration, starts: false) { daemon in
            let siege = try Siege(daemon, listener, control: control, seed: 2, crew: ReporterStyle.programs)
            defer { siege.end() }
            for _ in 1...5 { try siege.killAtRandom() }
            for (index, name) in try control.points.enumerated() where name.hasSuffix("receipt") {
                try siege.kill(at: index + 1, name)
            }
            try siege.stopAndContinue()
            try siege.removeSocket()
            for error in [Errno.inputOutput, .deviceFull] { try siege.failCall(3, count: 8, with: error, "failing") }
            try siege.repair()
            try siege.checkForwarding()
            #expect(siege.table.unreached == [])
        }
    }
}
