import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Faults of the listener", .daemonLog)
struct DeliveryTests {
    /// Waits until no record is pending. Expects that the sums in the status and the database are right, and that the
    /// listener has exactly the delivered records.
    private func settled(
        _ daemon: DaemonFixture, _ listener: FakeLogz, delivered ids: [String], dead: Int64 = 0,
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) async throws {
        let client = try RawClient(path: daemon.socket)
        try await eventually("nothing is pending") {
            try client.destination().ledger.pending == 0
        }
        let destination = try client.destination()
        #expect(destination.ledger.balances, sourceLocation: sourceLocation)
        #expect(destination.ledger.delivered == Int64(ids.count), sourceLocation: sourceLocation)
        #expect(destination.ledger.deadLettered == dead, sourceLocation: sourceLocation)
        #expect(listener.compare(with: ids).isMet, "\(listener.compare(with: ids))", sourceLocation: sourceLocation)
        #expect(try daemon.file.ledgerFaults == [], sourceLocation: sourceLocation)
        // Duplicates are marked as possible duplicates.
        for id in listener.compare(with: ids).duplicated.keys {
            let fates = try client.show(id).fates
            #expect(fates.allSatisfy { $0.maybeDuplicate }, "\(fates)", sourceLocation: sourceLocation)
        }
    }

    private func report(_ count: Int, as name: String, _ client: RawClient) throws -> [String] {
        try client.report((0..<count).map { IssueRecord(message: "\(name) \($0)", app: Application(name: "shop")) })
            .map { try $0.storedID }
    }

    @Test("A record is delivered with its id, and Await returns its fate")
    func delivered() async throws {
        try await withListener { daemon, listener, client in
            let id = try #require(try report(1, as: "Broken", client).first)
            let fate = try #require(try client.awaitFates(of: id).first)
            #expect(fate.outcome == .delivered)
            #expect(fate.destination == "logzio")
            #expect(fate.answer?.contains("200") == true)
            try await settled(daemon, listener, delivered: [id])
            let line = try #require(listener.accepted.first)
            #expect(line.eventID == id)
            #expect(line["message"] == "Broken 0")
            #expect(line["app"] == "shop")
            let details = try client.show(id)
            #expect(details.fates.map(\.outcome) == [.delivered])
            #expect(try client.show(details.group.id).groupFates.isEmpty)
            let counted = try client.call(
                .show, ShowParameters(id: details.group.id, countsFates: true), returning: IssueDetails.self)
            #expect(counted.groupFates.map(\.counts.delivered) == [1])
        }
    }

    @Test("A record that is not reportable is withheld, and never leaves the host")
    func withheld() async throws {
        try await withListener { daemon, listener, client in
            let receipt = try client.report([IssueRecord(message: "Just for us", reportable: false)])
            let hidden = try #require(receipt.first).storedID
            let id = try #require(try report(1, as: "For all", client).first)
            try await settled(daemon, listener, delivered: [id])
            #expect(try client.destination().ledger.withheld == 1)
            #expect(try client.show(hidden).fates.map(\.outcome) == [.withheld])
            #expect(try client.show(hidden).fates.map(\.attempts) == [0])
            #expect(try client.show(hidden).fates.map(\.answer) == [nil])
        }
    }

    @Test("Nothing is lost if the daemon is killed while the listener is down")
    func down() async throws {
        try await withListener("ConnectTimeout=1s") { daemon, listener, client in
            var ids = try report(5, as: "Before", client)
            try await settled(daemon, listener, delivered: ids)
            try listener.down()
            ids += try report(20, as: "Meanwhile", client)
            try await eventually("the outage is detected") { try client.destination().state == .waiting }
            #expect(try client.destination().ledger.pending == 20)
            try daemon.kill()
            try daemon.start()
            ids += try report(5, as: "After the kill", try RawClient(path: daemon.socket))
            try listener.up()
            try await settled(daemon, listener, delivered: ids)
        }
    }

    @Test("The beginning and the end of an outage are logged once each")
    func toldOnce() async throws {
        try await withListener("ConnectTimeout=1s") { daemon, listener, client in
            try listener.down()
            var ids = try report(1, as: "First", client)
            try await eventually("the outage is detected") { try client.destination().state == .waiting }
            // New records must not prevent retries.
            ids += try report(1, as: "Second", client)
            try await eventually("the request is retried") { try client.show(ids[0]).fates.first?.attempts ?? 0 > 1 }
            #expect(try client.show(ids[0]).fates.first?.answer?.contains("Could not connect") == true)
            // No connection was made, so no request was counted and no bytes were sent.
            let status = try client.destination()
            #expect([status.requests, status.resent, status.bytesToday] == [0, 0, 0])
            ids += try report(1, as: "Third", client)
            try listener.up()
            try await settled(daemon, listener, delivered: ids)
            try await daemon.logs("Destination unreachable", count: 1)
            try await daemon.logs("Destination accepts records again", count: 1)
        }
    }

    @Test("A change of the reason of an outage is logged")
    func loggedReasons() async throws {
        try await withListener("ConnectTimeout=1s") { daemon, listener, client in
            try listener.down()
            let ids = try report(1, as: "First", client)
            try await daemon.logs("Destination unreachable")
            try listener.plan(FaultStep(.status(503), times: .forever))
            try listener.up()
            try await daemon.logs("Destination still unavailable, for another reason")
            try await daemon.logs(#"reason=overloaded before=refused answer="503"#)
            try listener.plan()
            try await settled(daemon, listener, delivered: ids)
            try await daemon.logs("Destination still unavailable", count: 1)
            try await daemon.logs("Destination unreachable", count: 1)
            try await daemon.logs("Destination accepts records again", count: 1)
        }
    }

    @Test("Nothing is lost if the listener answers 503 for a while")
    func unavailable() async throws {
        try await withListener { daemon, listener, client in
            try listener.plan(FaultStep(.status(503), times: 2))
            let ids = try report(10, as: "Refused at first", client)
            try await settled(daemon, listener, delivered: ids)
            #expect(listener.requests.filter { $0.status == 503 }.count == 2)
            try await daemon.logs("Destination unavailable")
            #expect(!daemon.log.contains("Destination unreachable"))
            #expect(try client.destination().resent > 0)
        }
    }

    @Test("Lines that were accepted without a reply are sent again, and marked as possible duplicates")
    func silence() async throws {
        try await withListener("RequestTimeout=1s\nConnectTimeout=1s") { daemon, listener, client in
            try listener.plan(FaultStep(.readSilent))
            let ids = try report(10, as: "Unanswered", client)
            try await settled(daemon, listener, delivered: ids)
            #expect(listener.stats.duplicates == 10)
            #expect(try client.destination().possibleDuplicates == 10)
            let fate = try #require(try client.show(ids[0]).fates.first)
            #expect(fate.maybeDuplicate)
        }
    }

    @Test("A batch in flight during a kill is sent again with the same lines; its records become possible duplicates")
    func killedWhileSending() async throws {
        try await withListener { daemon, listener, client in
            try listener.plan(FaultStep(.readSilent, times: .forever))
            let ids = try report(10, as: "On its way", client)
            #expect(listener.waitForRequests(1))
            try await eventually("the lines were received") { listener.accepted.count == 10 }
            try daemon.kill()
            try listener.plan()
            try daemon.start()
            try await settled(daemon, listener, delivered: ids)
            #expect(listener.stats.duplicates == 10)
            let lines = Dictionary(grouping: listener.accepted) { $0.eventID ?? "" }
            #expect(lines.values.allSatisfy { Set($0.map(\.text)).count == 1 })
            let fate = try #require(try RawClient(path: daemon.socket).show(ids[0]).fates.first)
            #expect(fate.maybeDuplicate)
        }
    }

    @Test("A rejected token pauses the destination, and a new token is used after a reload")
    func refusedToken() async throws {
        try await withListener { daemon, listener, client in
            listener.revokeToken(DaemonConfiguration.token)
            let ids = try report(10, as: "Locked out", client)
            try await eventually("the destination is paused") { try client.destination().state == .paused }
            let paused = try client.destination()
            #expect(paused.advice?.hasPrefix("The shipping token was rejected") == true)
            #expect(paused.ledger.pending == 10)
            try await daemon.logs("Destination paused")

            try daemon.writeToken("another-token")
            listener.addToken("another-token")
            try daemon.reload()
            try await settled(daemon, listener, delivered: ids)
            #expect(!daemon.log.contains("another-token"))
            #expect(!daemon.log.contains(DaemonConfiguration.token))
        }
    }

    @Test("Nothing is lost if a rejected token is replaced and the daemon restarted")
    func refusedTokenRestart() async throws {
        try await withListener { daemon, listener, client in
            listener.revokeToken(DaemonConfiguration.token)
            let ids = try report(10, as: "Locked out", client)
            try await eventually("the destination is paused") { try client.destination().state == .paused }
            try daemon.kill()
            try daemon.writeToken("another-token")
            listener.addToken("another-token")
            try daemon.start()
            try await settled(daemon, listener, delivered: ids)
        }
    }

    @Test("One bad line of a batch becomes a dead letter, and all others are delivered")
    func poison() async throws {
        try await withListener { daemon, listener, client in
            try listener.plan(FaultStep(.poison("POISON"), times: .forever))
            var records = (0..<20).map { IssueRecord(message: "Good \($0)") }
            records.insert(IssueRecord(message: "POISON"), at: 7)
            var ids = try client.report(records).map { try $0.storedID }
            let bad = ids.remove(at: 7)
            try await settled(daemon, listener, delivered: ids, dead: 1)
            let fate = try #require(try client.show(bad).fates.first)
            #expect(fate.outcome == .deadLettered)
            #expect(fate.answer?.contains("400") == true)
            let answers = try ids.map { try client.show($0).fates.first?.answer ?? "" }
            #expect(answers.allSatisfy { $0.hasPrefix("200: ") })
        }
    }

    @Test("Flush forwards at once, and returns when no record is pending")
    func flush() async throws {
        try await withListener("BatchDelay=1h\nCriticalDelay=1h") { daemon, listener, client in
            let ids = try report(3, as: "Patient", client)
            #expect(try client.destination().ledger.pending == 3)
            let reply: FlushReply = try client.call(.flush, FlushParameters(timeout: .seconds(20)))
            #expect(reply.destinations.first?.ledger.delivered == 3)
            #expect(reply.destinations.first?.ledger.pending == 0)
            try await settled(daemon, listener, delivered: ids)
        }
    }

    @Test("Flush and Await return after their timeout")
    func timeouts() async throws {
        try await withListener { daemon, listener, client in
            try listener.down()
            let ids = try report(1, as: "Patient", client)
            let reply: FlushReply = try client.call(.flush, FlushParameters(timeout: .milliseconds(300)))
            #expect(reply.destinations.first?.ledger.pending == 1)
            #expect(try client.awaitFates(of: ids[0], timeout: .milliseconds(300)).map(\.outcome) == [.pending])
        }
    }
}
