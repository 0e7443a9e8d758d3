import Foundation
import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import Torture
import UnixIO

/// Faults of the client and its daemon, which must cause neither loss nor duplicates.
@Suite("Faults of the client library's environment", .daemonLog)
struct ClientFaultTests {
    private static func start(
        _ arguments: [String], _ daemon: DaemonFixture, environment: [String: String] = [:], named name: String
    ) throws -> ChildProcess {
        try ChildProcess(
            TestBinaries.path(of: "client-under-test"), arguments, in: daemon.folder, name: name,
            environment: ["ISSUED_SOCKET": daemon.socket].merging(environment) { $1 })
    }

    /// Runs a program until it exits.
    @discardableResult
    private static func run(
        _ arguments: [String], _ daemon: DaemonFixture, environment: [String: String] = [:], named name: String
    ) throws -> ChildProcess.End {
        try start(arguments, daemon, environment: environment, named: name).end()
    }

    private static func messages(_ daemon: DaemonFixture) throws -> [String] {
        try RawClient(path: daemon.socket).allRecords().map(\.record.message)
    }

    private static func leftovers(_ daemon: DaemonFixture) -> [String] {
        let folder = "\(daemon.folder.path)/.local/state/issued/unsent/client-under-test"
        return ((try? FileSystem.names(in: folder)) ?? []).filter { $0.hasSuffix(".call") }
    }

    private static func expected(_ name: String, _ count: Int) -> [String] { (1...count).map { "\(name) \($0)" } }

    @Test("Reports of a process that exits at once are stored; a later run sends those that the process could not send")
    func returning() async throws {
        try await DaemonFixture.with { daemon in
            #expect(try Self.run(["return", "700", "present"], daemon, named: "present") == .exit(0))
            try daemon.kill()
            #expect(try Self.run(["return", "700", "absent"], daemon, named: "absent") == .exit(0))
            #expect(try Self.run(["return", "3", "absent too"], daemon, named: "absent-too") == .exit(0))
            #expect(Self.leftovers(daemon).count >= 3)
            try daemon.start()
            #expect(try Self.run(["return", "1", "next"], daemon, named: "next") == .exit(0))
            try await eventually("later runs have sent everything") {
                if !Self.leftovers(daemon).isEmpty {
                    try Self.run(["return", "1", "more"], daemon, named: "more")
                }
                return Self.leftovers(daemon).isEmpty
            }
            let all = try Self.messages(daemon).filter { !$0.hasPrefix("more") }
            let wanted =
                Self.expected("present", 700) + Self.expected("absent", 700) + Self.expected("absent too", 3)
                + Self.expected("next", 1)
            #expect(all.count == wanted.count)
            #expect(Set(wanted).subtracting(all).isEmpty)
        }
    }

    @Test(
        "A program that traps loses no report; its next run sends those made while no daemon was running",
        arguments: ["precondition", "fatal-reporter"])
    func trapping(way: String) async throws {
        try await DaemonFixture.with { daemon in
            let end = try Self.run([way, "40", "present"], daemon, named: "present")
            #expect(end != .exit(0))
            func messages(containing name: String) throws -> Set<String> {
                Set(
                    try Self.messages(daemon).filter { $0.contains(name) }.map {
                        $0.replacing("Precondition failed: ", with: "")
                    })
            }
            #expect(Set(Self.expected("present", 40)).subtracting(try messages(containing: "present")).isEmpty)
            try daemon.kill()
            #expect(try Self.run([way, "40", "absent"], daemon, named: "absent") != .exit(0))
            try daemon.start()
            try Self.run(["return", "1", "next"], daemon, named: "next")
            try await eventually("the next run has sent all reports") { Self.leftovers(daemon).isEmpty }
            #expect(Set(Self.expected("absent", 40)).subtracting(try messages(containing: "absent")).isEmpty)
            #expect(try Self.messages(daemon).count == 81)
        }
    }

    @Test("Concurrent reports of 64 threads are stored once each")
    func threads() async throws {
        try await DaemonFixture.with { daemon in
            #expect(try Self.run(["threads", "100", "many"], daemon, named: "threads") == .exit(0))
            let messages = try Self.messages(daemon)
            #expect(messages.count == 6400)
            let wanted = Set((1...64).flatMap { Self.expected("many \($0)", 100) })
            let missing = wanted.subtracting(messages).count
            #expect(missing == 0)
        }
    }

    @Test("Awaiting a fate fails if the process has no free descriptor, and succeeds once it has some")
    func exhausted() async throws {
        try await DaemonFixture.with { daemon in
            let end = try Self.run(["exhausted", "1", "only"], daemon, named: "exhausted")
            #expect(end == .exit(0))
        }
    }

    @Test("Issues that a reporter itself reports go only to standard error, not to reporters again")
    func nested() async throws {
        try await DaemonFixture.with { daemon in
            let program = try Self.start(["nested", "20", "outer"], daemon, named: "nested")
            #expect(try program.end() == .exit(0))
            #expect(try Self.messages(daemon).sorted() == Self.expected("outer", 20).sorted())
            #expect(program.errors.split(separator: "\n").filter { $0.contains("echo of outer") }.count == 20)
        }
    }

    @Test("Environment variables set the reporters, level and backtraces of a program that does not set them itself")
    func settings() async throws {
        try await DaemonFixture.with { daemon in
            let variables = ["ISSUED_REPORTERS": "daemon", "ISSUED_LEVEL": "error", "ISSUED_BACKTRACE": "none"]
            let quiet = try Self.start(["settings", "1", "quiet"], daemon, environment: variables, named: "quiet")
            #expect(try quiet.end() == .exit(0))
            #expect(quiet.errors == "")
            let records = try RawClient(path: daemon.socket).allRecords()
            #expect(Set(records.map(\.record.message)) == ["quiet error 1", "quiet critical 1"])
            #expect(records.allSatisfy { $0.record.backtrace.isEmpty })

            let first = try Self.start(["settings", "1", "usual"], daemon, named: "usual")
            #expect(try first.end() == .exit(0))
            #expect(first.errors.split(separator: "\n").count == 5)
            let traced = try RawClient(path: daemon.socket).allRecords().filter { !$0.record.backtrace.isEmpty }
            #expect(Set(traced.map(\.record.message)) == ["usual error 1", "usual critical 1"])
            #expect(traced.allSatisfy { $0.record.backtrace.contains { $0.image == "client-under-test" } })
        }
    }

    @Test("A suspended daemon (SIGSTOP) does not block reporting, and gets all reports when it continues")
    func standstill() async throws {
        try await DaemonFixture.with { daemon in
            let delivery = Delivery(paths: [daemon.socket])
            defer { delivery.stop() }
            let reporter = DaemonReporter(delivery: delivery)
            reporter.receive(IssueReport("Before"))
            #expect(delivery.flush(timeout: .seconds(60)))
            daemon.process?.signal(SIGSTOP)
            defer { daemon.process?.signal(SIGCONT) }
            for number in 1...5000 { reporter.receive(IssueReport("Meanwhile \(number)")) }
            #expect(!delivery.flush(timeout: .milliseconds(50)))
            daemon.process?.signal(SIGCONT)
            #expect(delivery.flush(timeout: .seconds(60)))
            let messages = try Self.messages(daemon)
            #expect(messages.count == 5001)
            let wanted = Set(["Before"] + Self.expected("Meanwhile", 5000))
            let missing = wanted.subtracting(messages).count
            #expect(missing == 0)
        }
    }

    @Test("If a daemon is replaced by a new one, reports made before, meanwhile and afterwards are stored once each")
    func replaced() async throws {
        try await DaemonFixture.with { daemon in
            let delivery = Delivery(paths: [daemon.socket])
            defer { delivery.stop() }
            let reporter = DaemonReporter(delivery: delivery)
            for number in 1...20 { reporter.receive(IssueReport("Before \(number)")) }
            #expect(delivery.flush(timeout: .seconds(60)))
            // For a while the path leads nowhere, then to another socket.
            try FileSystem.remove(daemon.socket)
            try daemon.kill()
            for number in 1...20 { reporter.receive(IssueReport("Meanwhile \(number)")) }
            try daemon.start()
            for number in 1...20 { reporter.receive(IssueReport("After \(number)")) }
            #expect(delivery.flush(timeout: .seconds(60)))
            let messages = try Self.messages(daemon)
            #expect(messages.count == 60 && Set(messages).count == 60)
        }
    }

    @Test("Reports of short-lived programs survive repeated kills of the daemon without loss or duplicates")
    func tortureRun() async throws {
        var generator = SeededGenerator(7)
        try await DaemonFixture.with { daemon in
            var wanted: [String] = []
            for round in 1...6 {
                var programs: [ChildProcess] = []
                for index in 1...3 {
                    let name = "tortureRun \(round) \(index)"
                    let count = Int.random(in: 50...900, using: &generator)
                    wanted += Self.expected(name, count)
                    programs.append(
                        try Self.start(["return", "\(count)", name], daemon, named: "tortureRun-\(round)-\(index)"))
                }
                // The daemon is killed at a random moment while the programs report. The wait is part of the fault.
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...40, using: &generator)))
                try daemon.kill()
                if Bool.random(using: &generator) { try daemon.start() }
                for program in programs { #expect(try program.end() == .exit(0)) }
                if daemon.process == nil { try daemon.start() }
            }
            try await eventually("the last runs have sent all spilled reports") {
                if !Self.leftovers(daemon).isEmpty { try Self.run(["return", "1", "last"], daemon, named: "last") }
                return Self.leftovers(daemon).isEmpty
            }
            let stored = Dictionary(grouping: try Self.messages(daemon).filter { !$0.hasPrefix("last") }, by: \.self)
            #expect(stored.values.allSatisfy { $0.count == 1 })
            #expect(Set(wanted).subtracting(stored.keys).isEmpty)
            #expect(stored.count == wanted.count)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }
}
