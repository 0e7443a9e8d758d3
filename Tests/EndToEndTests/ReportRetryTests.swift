import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("issuectl report and a daemon that does not answer", .daemonLog)
struct ReportRetryTests {
    private static func kept(_ daemon: DaemonFixture) -> [String] {
        let folder = daemon.folder[".local/state/issued/unsent/issuectl"]
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".call") }
    }

    @Test("If a report to a suspended daemon times out and is repeated with the printed id, it is stored once")
    func stopped() async throws {
        try await DaemonFixture.with { daemon in
            daemon.process?.signal(SIGSTOP)
            let first = try daemon.issuectl(
                ["report", "--timeout", "300ms", "--app", "cron", "backup failed"], ends: .exit(75))
            let words = first.errors.split(whereSeparator: { " ,\n".contains($0) })
            let index = try #require(words.firstIndex(of: "--id"), "\(first.errors)")
            let key = String(words[index + 1])
            daemon.process?.signal(SIGCONT)

            // The daemon now reads what the first command left in the socket's buffer.
            let root = try RawClient(path: daemon.socket)
            try await eventually("the first one is stored") { try root.allRecords().count == 1 }
            let second = try daemon.issuectl(["report", "--id", key, "--app", "cron", "backup failed"])
            let records = try root.allRecords()
            #expect(records.map(\.id) == [second.output.trimmingCharacters(in: .newlines)])
            #expect(records.map(\.record.app?.name) == ["cron"])
        }
    }

    @Test("Reports with the same --id are stored once, and a report with another --id is stored as well")
    func keys() async throws {
        try await DaemonFixture.with { daemon in
            var outputs: Set<String> = []
            for _ in 1...3 {
                outputs.insert(try daemon.issuectl(["report", "--id", "nightly 7", "failed"]).output)
            }
            #expect(outputs.count == 1)
            let root = try RawClient(path: daemon.socket)
            #expect(try root.allRecords().count == 1)
            try daemon.issuectl(["report", "--id", "nightly 8", "failed"])
            #expect(try root.allRecords().count == 2)
        }
    }

    @Test("A report that is spooled but has also reached the suspended daemon is not stored again by the next command")
    func spooledThoughTaken() async throws {
        try await DaemonFixture.with { daemon in
            daemon.process?.signal(SIGSTOP)
            let first = try daemon.issuectl(
                ["report", "--spool", "--timeout", "300ms", "backup failed"])
            #expect(first.output == "")
            #expect(first.errors.contains("saved the report in"))
            #expect(Self.kept(daemon).count == 1)
            daemon.process?.signal(SIGCONT)
            let root = try RawClient(path: daemon.socket)
            try await eventually("the first one is stored") { try root.allRecords().count == 1 }
            try daemon.issuectl(["list"])
            #expect(Self.kept(daemon) == [])
            #expect(try root.allRecords().map(\.record.message) == ["backup failed"])
        }
    }

    @Test("Reports spooled without a daemon are sent by later programs, and each is stored once")
    func spooledAndPickedUp() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            for message in ["one", "two"] {
                try daemon.issuectl(["report", "--spool", message])
            }
            #expect(Self.kept(daemon).count == 2)
            let before = IssueTimestamp.fromNow(.zero)
            try daemon.start()
            let program = try ChildProcess(
                try TestBinaries.path(of: "client-under-test"), ["return", "1", "program"], in: daemon.folder,
                name: "program", environment: ["ISSUED_SOCKET": daemon.socket])
            #expect(try program.end() == .exit(0))
            let root = try RawClient(path: daemon.socket)
            // If the program ended before it had sent all reports, issuectl sends the rest.
            try daemon.issuectl(["status"])
            try await eventually("all are stored") { try root.allRecords().count == 3 }
            #expect(Self.kept(daemon) == [])
            let records = try root.allRecords()
            #expect(Set(records.map(\.record.message)) == ["one", "two", "program 1"])
            let spooled = records.filter { $0.record.message != "program 1" }
            // They keep the time of the original report, and have an application although their process has exited.
            #expect(spooled.allSatisfy { ($0.record.occurredAt ?? .init(millisecondsSince1970: .max)) <= before })
            #expect(spooled.allSatisfy { $0.record.app?.name?.isEmpty == false })
        }
    }

    @Test("Without a daemon, issuectl report exits within 8 s; with a suspended one, it times out within 25 s")
    func endings() async throws {
        try await DaemonFixture.with { daemon in
            let absent = try ChildProcess(
                try TestBinaries.path(of: "issuectl"), ["--socket", daemon.folder["absent"], "report", "m"],
                in: daemon.folder, name: "absent")
            #expect(try absent.end(within: .seconds(8)) == .exit(69))
            daemon.process?.signal(SIGSTOP)
            let start = ContinuousClock.now
            try daemon.issuectl(["report", "m"], ends: .exit(75))
            #expect(ContinuousClock.now - start < .seconds(25))
            daemon.process?.signal(SIGCONT)
        }
    }
}
