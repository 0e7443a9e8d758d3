import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import Torture
import UnixIO

/// A short version of the acceptance test; `scripts/torture forwarding` runs the long one.
@Suite("Reliable forwarding", .daemonLog, .runSeed, .serialized)
struct AcceptanceTests {
    private static let isLong = ProcessInfo.processInfo.environment["ISSUED_LONG_TESTS"] != nil

    /// Returns eight faults, chosen at random from those that take at most a few seconds.
    private static func faults(_ generator: inout some RandomNumberGenerator) -> [FaultStep] {
        let some: [Fault] = [
            .acceptSilent, .readSilent, .slowAnswer(.milliseconds(200)), .slowAnswer(.milliseconds(900)),
            .slowRead(bytesPerSecond: 100_000), .drip(.milliseconds(5)), .status(500), .status(502), .status(503),
            .status(429), .status(408), .tooLargeLate, .tooLargeEarly(reset: true), .tooLargeEarly(reset: false),
            .tooLargeAbove(bytes: 4000), .badRequestWithoutBody, .badRequestWithBadJSON, .resetMidBody(after: 500),
            .resetBeforeAnswer, .truncatedAnswer, .garbage, .hugeAnswer(bytes: 200_000),
            .keepAliveClose(crossing: true), .keepAliveClose(crossing: false), .down(for: .milliseconds(300)),
        ]
        return (0..<8).map { _ in FaultStep(some[Int.random(in: some.indices, using: &generator)]) }
    }

    /// - Parameter batch: The maximum number of records per batch. If it is small, the next batch is built while one is
    ///   in flight, because more records are pending.
    @Test(
        "Despite listener faults and daemon kills, each record arrives or becomes a dead letter; duplicates are marked",
        arguments: [40, 10])
    func everything(batch: Int) async throws {
        var generator = SeededGenerator(SeededGenerator.runSeed)
        let (rounds, each) = Self.isLong ? (40, 250) : (6, 60)
        try await withListener("RequestTimeout=500ms\nConnectTimeout=500ms\nBatchRecords=\(batch)") {
            daemon, listener, _ in
            var ids: [String] = []
            for round in 0..<rounds {
                try listener.plan(Self.faults(&generator))
                let client = try RawClient(path: daemon.socket)
                ids += try client.report(
                    (0..<each).map {
                        IssueRecord(message: "Round \(round)", code: Int64($0 % 7), app: Application(name: "a"))
                    }
                ).map { try $0.storedID }
                _ = listener.waitForRequests(Int.random(in: 1...6, using: &generator), within: .milliseconds(700))
                if round % 2 == 0 {
                    try daemon.kill()
                    try daemon.start()
                }
                #expect(try daemon.file.ledgerFaults == [])
            }
            try listener.plan()
            // A flush ends all pauses and back-offs.
            try await eventually("nothing is pending", within: .seconds(Self.isLong ? 600 : 90)) {
                let client = try RawClient(path: daemon.socket)
                _ = try client.call(.flush, FlushParameters(timeout: .seconds(1)), returning: FlushReply.self)
                return try client.destination().ledger.pending == 0
            }
            let client = try RawClient(path: daemon.socket)
            let ledger = try client.destination().ledger
            let dead = try client.call(
                .deadLetters, DeadLettersParameters(limit: 500), returning: DeadLettersReply.self
            ).deadLetters.map(\.record)
            #expect(ledger.balances)
            #expect(ledger.delivered + ledger.deadLettered == Int64(ids.count))
            let found = listener.compare(with: ids)
            #expect(found.unexpected.isEmpty)
            #expect(Set(found.missing).isSubset(of: dead))
            for id in found.duplicated.keys {
                #expect(try client.show(id).fates.map(\.maybeDuplicate) == [true], "\(id)")
            }
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("After an outage, the pending records are sent oldest first, and not faster than SendRate=")
    func outage() async throws {
        let count = Self.isLong ? 3000 : 240
        let settings = "ConnectTimeout=500ms\nBatchRecords=40\nBatchDelay=0\nSendRate=60/s\nGroupBurst=0"
        try await withListener(settings) { _, listener, client in
            try listener.down()
            let ids = try (0..<(count / 40)).flatMap { _ in
                try client.report((0..<40).map { _ in IssueRecord(message: "The usual") }).map { try $0.storedID }
            }
            try await eventually("the outage is detected") { try client.destination().state == .waiting }
            try listener.up()
            try await eventually("all records have arrived") { listener.accepted.count >= count }
            #expect(listener.accepted.compactMap(\.eventID) == ids)
            // The limit allows a full batch of 40 records at once, and after that 60 records per second. The comparison
            // allows for a second batch and one more second, because the first request can arrive late.
            let taken = listener.requests.filter { $0.status == 200 }
            let first = try #require(taken.first?.arrived)
            var lines = 0
            for request in taken {
                lines += request.counters?.successful ?? 0
                let seconds = first.duration(to: request.arrived) / .seconds(1)
                #expect(Double(lines) <= 80 + 60 * (seconds + 1))
            }
        }
    }

    @Test("One bad line in 500 costs at most 20 requests, and only that line is rejected")
    func poison() async throws {
        try await withListener { _, listener, client in
            // The listener is down until all records are stored, so that one batch holds all of them.
            try listener.down()
            var records = (0..<500).map { IssueRecord(message: "Good", code: Int64($0 % 3)) }
            var generator = SeededGenerator(SeededGenerator.runSeed)
            records[Int.random(in: 0..<500, using: &generator)].message = "POISON"
            let ids = try client.report(records).map { try $0.storedID }
            try listener.plan(FaultStep(.poison("POISON"), times: .forever))
            try await eventually("no record is pending") {
                try client.destination().ledger.pending == 0
            }
            let ledger = try client.destination().ledger
            #expect(ledger.delivered == 499)
            #expect(ledger.deadLettered == 1)
            #expect(listener.requests.count { $0.status == 400 || $0.status == 200 } <= 20)
            #expect(listener.compare(with: ids).missing.count == 1)
            let letters = try client.call(
                .deadLetters, DeadLettersParameters(), returning: DeadLettersReply.self
            ).deadLetters
            #expect(letters.map(\.record) == ids.indices.filter { records[$0].message == "POISON" }.map { ids[$0] })
        }
    }

    @Test("Of thousands of records of one issue, at most seven are forwarded, and summaries count all others")
    func flood() async throws {
        let calls = Self.isLong ? 100 : 10
        try await withListener("GroupBurst=5\nGroupRefill=1/5min\nSummaryInterval=1s") { _, listener, client in
            for _ in 0..<calls {
                _ = try client.report((0..<1000).map { IssueRecord(message: "Timed out after \($0) ms") })
            }
            func lines(_ kind: String) -> [AcceptedLine] {
                listener.accepted.filter { $0["event_kind"]?.asString == kind }
            }
            try await eventually("all records are sent or summarised") {
                let suppressed = lines("suppression_summary").compactMap { $0["suppressed_count"]?.asInteger }.reduce(
                    0, +)
                return suppressed + Int64(lines("issue").count) == Int64(calls) * 1000
            }
            #expect(lines("issue").count <= 7)
            try await eventually("nothing is pending") { try client.destination().ledger.pending == 0 }
            #expect(try client.destination().ledger.balances)
        }
    }

    @Test("Unanswered requests leak no memory")
    func silence() async throws {
        try await withListener("RequestTimeout=100ms\nConnectTimeout=100ms") { daemon, listener, client in
            try listener.plan(FaultStep(.readSilent, times: .forever))
            _ = try client.report((0..<200).map { IssueRecord(message: "Unheard", code: Int64($0 % 5)) })
            func tried(_ count: Int64) async throws {
                try await eventually("\(count) requests were sent", within: .seconds(Self.isLong ? 600 : 60)) {
                    _ = try client.call(.flush, FlushParameters(timeout: .milliseconds(1)), returning: FlushReply.self)
                    return try client.destination().requests >= count
                }
            }
            try await tried(10)
            let before = try daemon.kilobytes("VmRSS")
            try await tried(Self.isLong ? 1000 : 60)
            #expect(try daemon.kilobytes("VmRSS") - before < 4 << 10)
            #expect(try client.destination().ledger.pending == 200)
        }
    }
}
