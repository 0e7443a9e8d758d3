import Foundation
import IssueProtocol
import IssueTestSupport
import Synchronization
import Testing
import Torture
import UnixIO

/// Tests that one user's queries harm neither the daemon nor other users.
@Suite(
    "Hostile queries", .daemonLog, .serialized,
    .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
struct HostileQueriesTests {
    private static let attacker: UInt32 = 5001
    private static let accomplice: UInt32 = 5002
    private static let reporter: UInt32 = 5003
    private static let quiet: UInt32 = 5004
    private static let limit: Int64 = 64 << 20

    /// A valid query that takes many seconds, because it compares each component of long paths.
    private static var expensive: ListParameters {
        var filter = IssueFilter()
        filter.files = ["x"]
        return ListParameters(filter: filter, limit: 1000)
    }

    /// Runs a daemon whose store has so many series that `expensive` is slow, and a record of each of three users.
    private func withSlowQueries(
        _ configuration: DaemonConfiguration = "", series: Int = 15_000,
        _ body: (DaemonFixture) async throws -> Void
    ) async throws {
        try await DaemonFixture.with(configuration, starts: false) { daemon in
            try await prepare(daemon, series: series)
            try await body(daemon)
        }
    }

    private func prepare(_ daemon: DaemonFixture, series: Int) async throws {
        try daemon.start()
        for user in [Self.attacker, Self.accomplice, Self.quiet] {
            _ = try OtherUser.client(user, of: daemon).report("Of \(user)")
        }
        #expect(try daemon.terminate() == .exit(0))
        let filling = try ChildProcess(
            [try TestBinaries.python3, "-c", Self.filling, daemon.database, "\(series)"], in: daemon.folder,
            name: "filling")
        #expect(try filling.end() == .exit(0))
        try daemon.start()
    }

    /// A Python program that copies the series of two users many times, with long paths of source files.
    private static let filling = """
        from sqlite3 import connect
        from sys import argv
        database = connect(argv[1])
        names = [row[1] for row in database.execute("PRAGMA table_info(series)")]
        copied = ", ".join(f'"{name}"' for name in names if name not in ("id", "hash", "file"))
        database.execute(f'''
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
            INSERT INTO series (hash, file, {copied})
            SELECT random(), ?2, {copied} FROM series, numbers
            WHERE account IN (SELECT id FROM accounts WHERE uid IN (\(attacker), \(accomplice)))
            ''', (int(argv[2]), "a/" * 600))
        database.commit()
        """

    @Test("A query above a limit is rejected with the field and the limit")
    func bounds() async throws {
        try await DaemonFixture.with { daemon in
            let client = try OtherUser.client(Self.attacker, of: daemon)
            var textFilter = IssueFilter()
            textFilter.text = String(repeating: "a ", count: 17)
            let reason = "at most 16 words or quoted phrases are allowed, not 17"
            #expect(
                try client.refusal(of: .list, ListParameters(filter: textFilter))
                    == .invalidFilter(field: "text", reason: reason))
            #expect(
                try client.refusal(of: .histogram, HistogramParameters(filter: textFilter, bucket: .seconds(3600)))
                    == .invalidFilter(field: "text", reason: reason))
            try client.begin(.records, RecordsParameters(filter: textFilter, follow: true), more: true)
            #expect(CollectorError(try client.reply()) == .invalidFilter(field: "text", reason: reason))
            var files = IssueFilter()
            files.files = (0..<257).map { "File\($0).swift" }
            #expect(
                try client.refusal(of: .records, RecordsParameters(filter: files))
                    == .invalidFilter(field: "files", reason: "at most 256 entries are allowed, not 257"))
            let minutes = HistogramParameters(filter: nil, bucket: .seconds(60))
            guard case .invalidFilter("bucket", let reason)? = try client.refusal(of: .histogram, minutes) else {
                Issue.record("A histogram with too many buckets was returned")
                return
            }
            #expect(reason.contains("at most 1000"))
        }
    }

    @Test("Despite slow queries and a third user's load, other users' calls take seconds, and the WAL is below 64 MiB")
    func attack() async throws {
        try await withSlowQueries { daemon in
            let outcomes = Outcomes()
            let (socket, folder) = (daemon.socket, daemon.folder)
            let attackers = try Senders(count: 8) { number in
                let user = number % 2 == 0 ? Self.attacker : Self.accomplice
                let client = try OtherUser.client(user, socket: socket, in: folder)
                while !outcomes.areOver {
                    try client.begin(.list, Self.expensive)
                    // Four queries of one user wait for each other, each up to its deadline.
                    let reply = try client.reply(within: .seconds(120))
                    outcomes.count(CollectorError(reply).map { "\($0)" } ?? "answered")
                }
                return 0
            }
            let reporters = try Senders(count: 1) { _ in
                let client = try OtherUser.client(Self.reporter, socket: socket, in: folder)
                let text = JSONValue.string(String(repeating: "x", count: 4000))
                let records = (0..<200).map { IssueRecord(message: "Load \($0)", metadata: ["text": text]) }
                var stored = 0
                while !outcomes.areOver {
                    do {
                        stored += try client.report(records).count
                    } catch CollectorError.busy {
                        outcomes.count("refused")
                    }
                }
                return stored
            }
            defer { outcomes.end() }

            let root = try RawClient(path: daemon.socket)
            let quiet = try OtherUser.client(Self.quiet, of: daemon)
            let clock = ContinuousClock()
            var (slowestStatus, slowestReport, slowestQuestion) = (Duration.zero, Duration.zero, Duration.zero)
            var longest: Int64 = 0
            var reported = 1
            // Continues until 12 of the attackers' queries have ended.
            while outcomes.counts.values.reduce(0, +) - outcomes.counts["refused", default: 0] < 12 {
                longest = max(longest, try walBytes(daemon))
                slowestStatus = max(slowestStatus, try clock.measure { _ = try root.status() })
                slowestReport = max(slowestReport, try clock.measure { _ = try quiet.report("Quiet \(reported)") })
                reported += 1
                let question = try clock.measure { try answered { try quiet.groups().count == 2 } }
                slowestQuestion = max(slowestQuestion, question)
            }
            outcomes.end()
            _ = try attackers.results(within: .seconds(120))
            let stored = try reporters.results().reduce(0, +)
            longest = max(longest, try walBytes(daemon))
            let counts = outcomes.counts
            print(
                "hostile queries: status \(slowestStatus), report \(slowestReport), query \(slowestQuestion), "
                    + "WAL \(longest), stored \(stored), \(counts)")
            #expect(longest < Self.limit)
            #expect(slowestStatus < .seconds(5))
            #expect(slowestReport < .seconds(5))
            #expect(slowestQuestion < .seconds(15))
            #expect(stored > 1000)
            try await eventually("the status has the records") { try quiet.status().received == Int64(reported) }
            #expect(try quiet.allRecords().count == reported)
            try await eventually("the status has the records") {
                try root.status().received == Int64(stored + reported + 2)
            }
        }
    }

    @Test("Queries end when their clients disconnect, and the user's next query is answered")
    func hangUp() async throws {
        try await withSlowQueries { daemon in
            // One user's queries run one after the other, and those of connected clients for up to ten seconds each.
            for _ in 0..<6 { try OtherUser.client(Self.attacker, of: daemon).begin(.list, Self.expensive) }
            let client = try OtherUser.client(Self.attacker, of: daemon)
            var groups: [IssueGroup] = []
            let time = try ContinuousClock().measure { groups = try client.groups() }
            #expect(groups.count == 1)
            #expect(time < .seconds(8))
            #expect(!daemon.log.contains("Query took too long"))
        }
    }

    @Test("SIGTERM ends the daemon within 12 seconds, even if queries are running and waiting")
    func stop() async throws {
        try await withSlowQueries { daemon in
            var clients: [RawClient] = []
            for user in [Self.attacker, Self.accomplice, Self.quiet, 0] {
                for _ in 0..<3 {
                    let client = try OtherUser.client(user, of: daemon)
                    try client.begin(.list, Self.expensive)
                    clients.append(client)
                }
            }
            let root = try RawClient(path: daemon.socket)
            _ = try root.report("Before the end")
            var end: ChildProcess.End?
            let time = try ContinuousClock().measure { end = try daemon.terminate(within: .seconds(20)) }
            #expect(end == .exit(0))
            #expect(time < .seconds(12))
            for client in clients {
                // A query that was answered before the stop is fine, too.
                if let reply = try? client.reply(within: .seconds(1)), let error = CollectorError(reply) {
                    #expect(error == .busy(retryAfter: .seconds(1)))
                }
            }
            try daemon.start()
            try await eventually("the status has the records") {
                try RawClient(path: daemon.socket).status().received == 4
            }
        }
    }

    @Test(
        "If the disk fills up while queries run, quiet users lose no record, and storing resumes, even after a restart",
        .enabled(if: DaemonFixture.smallDiskObstacle == nil, "\(DaemonFixture.smallDiskObstacle ?? "")"),
        arguments: [false, true])
    func fullDisk(restarts: Bool) async throws {
        try await DaemonFixture.withSmallDisk("40m", "[Store]\nKeepFree=2M") { daemon in
            try await prepare(daemon, series: 1000)
            let outcomes = Outcomes()
            defer { outcomes.end() }
            let attackers = try queriesAndReports(to: daemon, outcomes)
            try await eventually("more than 25 reports of about 500 KB were stored") {
                outcomes.counts["stored", default: 0] > 25
            }
            let other = daemon.folder["state/other"]
            // Called repeatedly, because the daemon frees space that it no longer needs.
            func fillDisk() throws {
                let file = try FileDescriptor.open(other, [.writeOnly, .create, .append], mode: 0o600)
                let megabyte = [UInt8](repeating: 1, count: 1 << 20)
                while (try? file.writeAll(megabyte)) != nil {}
            }
            try await eventually("reports are refused") {
                try fillDisk()
                return outcomes.counts["refused", default: 0] > 10
            }
            try await daemon.logs("No space left; refusing reports")
            if restarts {
                try daemon.kill()
                try daemon.start()
            }
            let quiet = try OtherUser.client(Self.quiet, of: daemon)
            let report = ReportParameters(records: [IssueRecord(message: "With little space")])
            var stored = 0
            try await eventually("a quiet user's report is refused, too") {
                try fillDisk()
                let refusal = try quiet.refusal(of: .report, report)
                if refusal == nil { stored += 1 }
                return refusal == .noSpace
            }
            try FileManager.default.removeItem(atPath: other)
            try await eventually("a report is stored") { (try? quiet.report("After it"))?.count == 1 }
            outcomes.end()
            try attackers.forEach { _ = try $0.results() }
            let messages = try quiet.allRecords().map(\.record.message).sorted()
            #expect(
                messages == ["After it", "Of \(Self.quiet)"] + Array(repeating: "With little space", count: stored))
            let root = try RawClient(path: daemon.socket)
            try await eventually("status reports no fault") { try root.status().store.faults.isEmpty }
            #expect(try walBytes(daemon) < Self.limit)
            #expect(try daemon.terminate(within: .seconds(20)) == .exit(0))
        }
    }

    /// Starts users who query and report until `outcomes.end()` is called.
    private func queriesAndReports(to daemon: DaemonFixture, _ outcomes: Outcomes) throws -> [Senders] {
        let (socket, folder) = (daemon.socket, daemon.folder)
        let attackers = try Senders(count: 4) { number in
            let user = number % 2 == 0 ? Self.attacker : Self.accomplice
            let client = try OtherUser.client(user, socket: socket, in: folder)
            while !outcomes.areOver, (try? client.begin(.list, Self.expensive)) != nil {
                guard (try? client.reply()) != nil else { break }
            }
            return 0
        }
        let reporters = try Senders(count: 1) { _ in
            let client = try OtherUser.client(Self.reporter, socket: socket, in: folder)
            // The store can't compress random text.
            var generator = SeededGenerator(1)
            let records = (0..<100).map { number in
                let text = (0..<400).map { _ in String(generator.next(), radix: 36) }.joined()
                return IssueRecord(message: "Load \(number)", metadata: ["text": .string(text)])
            }
            while !outcomes.areOver {
                do {
                    _ = try client.report(records)
                    outcomes.count("stored")
                } catch CollectorError.noSpace {
                    outcomes.count("refused")
                } catch is CollectorError {
                    outcomes.count("busy")
                } catch {
                    break
                }
            }
            return 0
        }
        return [attackers, reporters]
    }

    /// Repeats a query while the reply is `Busy` or `TooSlow`, 20 attempts at most, and expects the result `true`.
    private func answered(_ question: () throws -> Bool) throws {
        for _ in 0..<20 {
            do {
                #expect(try question())
                return
            } catch CollectorError.busy, CollectorError.tooSlow {
                continue
            }
        }
        Issue.record("A query was never answered")
    }

    private func walBytes(_ daemon: DaemonFixture) throws -> Int64 {
        try FileSystem.status(of: daemon.database + "-wal").size
    }
}

/// Counters that several threads increment, and a flag that ends these threads.
private final class Outcomes: Sendable {
    private let state = Mutex<[String: Int]>([:])
    private let isOver = Atomic(false)

    var areOver: Bool { isOver.load(ordering: .relaxed) }

    func end() { isOver.store(true, ordering: .relaxed) }

    func count(_ name: String) { state.withLock { $0[name, default: 0] += 1 } }

    var counts: [String: Int] { state.withLock { $0 } }
}
