import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Dead letters", .daemonLog)
struct DeadLetterTests {
    @Test("A dead letter is listed with its line and can be requeued, and the ledger balances at every step")
    func again() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let client = try RawClient(path: daemon.socket)
            try listener.plan(FaultStep(.poison("POISON"), times: .forever))
            let ids = try client.report("Good", "POISON one", "POISON two")
            try await eventually("two records are dead letters") { try client.destination().ledger.deadLettered == 2 }
            func letters() throws -> [DeadLetter] {
                try client.call(.deadLetters, DeadLettersParameters(lines: true), returning: DeadLettersReply.self)
                    .deadLetters
            }
            let dead = try letters()
            #expect(Set(dead.map(\.record)) == Set(ids.dropFirst()))
            #expect(dead.allSatisfy { $0.reason == "refused" && $0.answer?.contains("400") == true })
            #expect(dead.allSatisfy { $0.line?.contains("POISON") == true })
            #expect(try daemon.file.ledgerFaults == [])

            // While the fault lasts, a requeued record is rejected again. After the fault, the record arrives.
            func requeue(_ records: [String]?) throws -> RequeueReply {
                try client.call(.requeue, RequeueParameters(records: records), returning: RequeueReply.self)
            }
            // If one of the ids has no dead letter, nothing is requeued.
            let mixed = try client.refusal(of: .requeue, RequeueParameters(records: [ids[1], ids[0]]))
            #expect(try mixed == .notFound(id: ids[0]) && letters().count == 2)
            #expect(try requeue([ids[1]]) == RequeueReply(count: 1))
            try await eventually("the requeued record is a dead letter again") { try letters().count == 2 }
            #expect(try daemon.file.ledgerFaults == [])
            try listener.plan()
            #expect(try requeue(nil) == RequeueReply(count: 2))
            try await eventually("all records have arrived") { try client.destination().ledger.delivered == 3 }
            #expect(try letters().isEmpty)
            #expect(listener.compare(with: ids).isMet)
            for id in ids { #expect(try client.show(id).fates.map(\.outcome) == [.delivered]) }
            #expect(try client.status().store.faults == [])
            #expect(try daemon.file.ledgerFaults == [])
            let absent = try client.refusal(of: .requeue, RequeueParameters(records: [ids[0]]))
            #expect(absent == .notFound(id: ids[0]))
        }
    }

    @Test("If a summary is rejected, the records that it counts are dead letters until it is requeued")
    func summary() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = "GroupBurst=5\nGroupRefill=1/1h\nSummaryInterval=1s"
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            let client = try RawClient(path: daemon.socket)
            try listener.plan(FaultStep(.poison("suppression_summary"), times: .forever))
            let ids = try client.report(
                (0..<50).map { IssueRecord(message: "Timed out after \($0) ms", app: Application(name: "shop")) }
            ).map { try $0.storedID }
            try await eventually("the summary is a dead letter") { try client.destination().ledger.deadLettered == 44 }
            #expect(try client.show(ids[49]).fates.map(\.outcome) == [.deadLettered])
            #expect(try client.show(ids[0]).fates.map(\.outcome) == [.delivered])
            #expect(try daemon.file.ledgerFaults == [])
            try listener.plan()
            let reply: RequeueReply = try client.call(.requeue, RequeueParameters())
            #expect(reply.count >= 1)
            try await eventually("the summary has arrived") {
                let summaries = listener.accepted.filter { $0["event_kind"] == "suppression_summary" }
                return summaries.compactMap { $0["suppressed_count"]?.asInteger }.reduce(0, +) == 44
            }
            try await eventually("the records are summarised") { try client.destination().ledger.summarised == 44 }
            #expect(try client.show(ids[49]).fates.map(\.outcome) == [.summarised])
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("A ledger that does not balance is shown as a fault")
    func unbalanced() async throws {
        try await DaemonFixture.with("[LogzIO]\nURL=http://127.0.0.1:9\nCredential=TOKENFILE\n") { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("One", "Two")
            #expect(try client.status().store.faults == [])
            try DatabaseFile(daemon.database, writable: true).execute(
                "UPDATE ledger SET records = records + 1 WHERE destination = 1 AND fate = 7")
            let fault = try #require(try client.status().store.faults.first)
            #expect(fault.contains("logzio does not balance"))
            #expect(!(try client.destination().ledger.balances))
        }
    }
}
