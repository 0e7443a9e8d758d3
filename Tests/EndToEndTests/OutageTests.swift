import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Outages of a destination", .daemonLog)
struct OutageTests {
    private func report(_ count: Int, as name: String, to client: RawClient, _ severity: IssueLevel = .error) throws
        -> [String]
    {
        try client.report(
            (0..<count).map { _ in IssueRecord(message: name, severity: severity, app: Application(name: "shop")) }
        ).map { try $0.storedID }
    }

    /// Returns the number of attempts for the batch of a record.
    private func attempts(_ id: String, _ client: RawClient) throws -> Int {
        try client.show(id).fates.first?.attempts ?? 0
    }

    @Test(
        "After any kind of outage, records are sent again, critical ones first, and none is lost",
        arguments: [Fault.status(503), .status(500), .acceptSilent, .blackhole(for: nil), .down(for: nil)])
    func comesBack(fault: Fault) async throws {
        try await withListener("RequestTimeout=6s\nConnectTimeout=6s") { daemon, listener, client in
            var ids = try report(1, as: "The usual", to: client)
            try await eventually("the issue is known") { try client.destination().ledger.delivered == 1 }
            try listener.plan(FaultStep(fault, times: .forever))
            ids += try report(200, as: "The usual", to: client)
            try await eventually("sending was retried for a while") {
                try attempts(ids[1], client) >= 8
            }
            #expect(try client.destination().state == .waiting)
            let critical = try report(1, as: "The usual", to: client, .critical)
            ids += critical
            // Once the critical record was tried, it is the first one that is sent after the outage.
            try await eventually("sending was retried once more") {
                try attempts(critical[0], client) >= 1
            }
            try listener.plan()
            try listener.up()
            #expect(listener.waitForAccepted(2))
            #expect(listener.accepted.dropFirst().first?.eventID == critical[0])
            try await eventually("all records have arrived") {
                try client.destination().ledger.pending == 0
            }
            #expect(listener.compare(with: ids).missing.isEmpty)
            let ledger = try client.destination().ledger
            #expect(ledger.balances)
            #expect(ledger.delivered == Int64(ids.count))
            for id in listener.compare(with: ids).duplicated.keys {
                #expect(try client.show(id).fates.allSatisfy { $0.maybeDuplicate })
            }
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("Lines are not possible duplicates if each request was answered or not sent at all, despite restarts")
    func answered() async throws {
        try await withListener { daemon, listener, client in
            try listener.plan(FaultStep(.status(401), times: .forever))
            let ids = try report(20, as: "Locked out", to: client)
            try await eventually("the destination is paused") { try client.destination().state == .paused }
            try daemon.reload()
            try daemon.restart()
            // The status shows the pause at once, but the next attempt is far in the future only after the response to
            // the probe at the start.
            try await eventually("the destination is paused after a probe") {
                let destination = try RawClient(path: daemon.socket).destination()
                return destination.state == .paused && destination.nextAttempt ?? .epoch > .fromNow(.seconds(20))
            }
            try daemon.kill()
            try listener.down()
            try daemon.start()
            for _ in 0..<3 {
                let client = try RawClient(path: daemon.socket)
                let before = try attempts(ids[0], client)
                try await eventually("an attempt has failed") {
                    try client.destination().reason == "refused" && attempts(ids[0], client) > before
                }
                try daemon.kill()
                try daemon.start()
            }
            try listener.plan()
            try listener.up()
            let last = try RawClient(path: daemon.socket)
            try await eventually("all records have arrived") {
                try last.destination().ledger.delivered == 20
            }
            #expect(listener.compare(with: ids).isMet)
            #expect(try last.destination().possibleDuplicates == 0)
            #expect(try last.show(ids[0]).fates.map(\.maybeDuplicate) == [false])
        }
    }

    @Test("A record that is purged while its batch waits for a retry is not sent again")
    func purged() async throws {
        try await withListener { daemon, listener, client in
            try listener.plan(FaultStep(.status(503), times: .forever))
            let records = (0..<6).map { index in
                IssueRecord(message: "Waits", app: Application(name: index % 2 == 0 ? "private" : "shop"))
            }
            let ids = try client.report(records).map { try $0.storedID }
            try await eventually("the batch was tried") { try attempts(ids[1], client) >= 1 }
            var filter = IssueFilter()
            filter.apps = ["private"]
            let reply = try client.call(.purge, PurgeParameters(filter: filter), returning: PurgeReply.self)
            #expect(reply.count == 3)
            try listener.plan()
            try await eventually("the others have arrived") { try client.destination().ledger.pending == 0 }
            #expect(listener.compare(with: [ids[1], ids[3], ids[5]]).isMet)
            #expect(!listener.accepted.contains { $0["app"]?.asString == "private" })
            let ledger = try client.destination().ledger
            #expect(ledger.delivered == 3)
            #expect(ledger.balances)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("A delay that the destination requests is honoured after a reload")
    func retryAfterReload() async throws {
        try await withListener { daemon, listener, client in
            let headers = [HTTPField("Retry-After", "900")]
            try listener.plan(FaultStep(.status(503, headers: headers, body: ""), times: .forever))
            _ = try report(1, as: "Later", to: client)
            try await eventually("the request has failed") { try client.destination().reason == "overloaded" }
            let next = try client.destination().nextAttempt
            try daemon.reload()
            // A flush must not shorten the delay either.
            _ = try client.call(.flush, FlushParameters(timeout: .seconds(1)), returning: FlushReply.self)
            let destination = try client.destination()
            #expect(destination.reason == "overloaded")
            // The status computes the time from a monotonic clock, so it may differ a little.
            #expect(try #require(destination.nextAttempt) > #require(next).advanced(by: .seconds(-5)))
            #expect(listener.requests.count == 1)
        }
    }

    @Test("If a batch is given up while a critical record is sent before it, each record becomes one dead letter")
    func givenUpBehind() async throws {
        try await withListener("RetryFor=3s") { daemon, listener, client in
            try listener.plan(FaultStep(.status(500), times: .forever))
            let ids = try report(20, as: "In vain", to: client)
            try await eventually("the batch was tried") { try attempts(ids[0], client) >= 1 }
            let critical = try report(1, as: "Also in vain", to: client, .critical)
            try await eventually("the records are dead letters") { try client.destination().ledger.pending == 0 }
            let fates = try (ids + critical).flatMap { try client.show($0).fates }
            #expect(fates.map(\.outcome) == Array(repeating: .deadLettered, count: 21))
            #expect(try client.destination().ledger.deadLettered == 21)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("The end of an outage is logged when records are accepted, not when they become dead letters")
    func givenUp() async throws {
        try await withListener("RetryFor=1s") { daemon, listener, client in
            try listener.plan(FaultStep(.status(500), times: .forever))
            _ = try report(20, as: "In vain", to: client)
            try await eventually("the records are dead letters") {
                try client.destination().ledger.deadLettered == 20
            }
            #expect(try client.destination().reason == "server_error")
            #expect(!daemon.log.contains("accepts records again"))
            try listener.plan()
            _ = try report(1, as: "Now", to: client)
            try await eventually("the record is accepted") { try client.destination().ledger.delivered == 1 }
            try await daemon.logs("accepts records again")
        }
    }

    @Test(
        "The end of a pause is logged, even if the daemon has been reloaded or restarted meanwhile",
        arguments: [true, false])
    func toldAcross(reloads: Bool) async throws {
        try await withListener { daemon, listener, client in
            listener.revokeToken(DaemonConfiguration.token)
            _ = try report(3, as: "Locked out", to: client)
            try await daemon.logs("Destination paused")
            try daemon.writeToken("another-token")
            listener.addToken("another-token")
            if reloads { try daemon.reload() } else { try daemon.restart() }
            try await daemon.logs("Destination accepts records again")
            try await daemon.logs("Destination paused", count: 1)
            try await daemon.logs("Destination accepts records again", count: 1)
        }
    }

    @Test("If every record is rejected after an outage, this is logged")
    func rejected() async throws {
        try await withListener { daemon, listener, client in
            try listener.down()
            _ = try report(3, as: "POISON", to: client)
            try await daemon.logs("Destination unreachable")
            #expect(!daemon.log.contains("left_out="))
            try listener.plan(FaultStep(.poison("POISON"), times: .forever))
            try listener.up()
            try await eventually("the records are dead letters") {
                try client.destination().ledger.deadLettered == 3
            }
            try await daemon.logs("Destination reached again, but")
            #expect(!daemon.log.contains("accepts records again"))
            _ = try report(1, as: "Good", to: client)
            try await daemon.logs("Destination accepts records again destination=logzio lasted=")
            try await daemon.logs(" s\" pending=0")
        }
    }

    @Test("A daemon that starts during a pause logs it again; its status shows the pause at once, even after a reload")
    func startsPaused() async throws {
        try await withListener { daemon, listener, client in
            listener.revokeToken(DaemonConfiguration.token)
            _ = try report(3, as: "Locked out", to: client)
            try await daemon.logs("Destination paused")
            try daemon.restart()
            let later = try RawClient(path: daemon.socket)
            try await eventually("the pause is logged again") {
                let reason = try later.destination().reason
                #expect(reason != "resuming")
                return daemon.log.split(separator: "Destination paused").count == 3
            }
            let before = try later.destination()
            try daemon.reload()
            try await eventually("the destination is tried again") {
                let now = try later.destination()
                #expect(now.reason == before.reason)
                return now.requests > before.requests
            }
            #expect(try later.destination().failingSince == before.failingSince)
        }
    }

    @Test("Of 500 lines, only the 40 bad ones become dead letters, even if the daemon is killed meanwhile")
    func manyBadLines() async throws {
        try await withListener { daemon, listener, client in
            try listener.down()
            var records = (0..<500).map { IssueRecord(message: "Good", code: Int64($0 % 3)) }
            for index in 0..<40 { records[index * 12].message = "POISON" }
            let ids = try client.report(records).map { try $0.storedID }
            try listener.plan(FaultStep(.poison("POISON"), times: .forever))
            try listener.up()
            try await eventually("some lines have a fate") {
                try client.destination().ledger.delivered > 0
            }
            try daemon.kill()
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            try await eventually("no record is pending") {
                try client.destination().ledger.pending == 0
            }
            let ledger = try client.destination().ledger
            #expect(ledger.delivered == 460)
            #expect(ledger.deadLettered == 40)
            #expect(ledger.balances)
            #expect(listener.compare(with: ids).missing.count == 40)
            #expect(try daemon.file.ledgerFaults == [])
            for id in listener.compare(with: ids).duplicated.keys.sorted().prefix(20) {
                #expect(try client.show(id).fates.map(\.maybeDuplicate) == [true])
            }
            for index in [0, 12, 468] {
                #expect(try client.show(ids[index]).fates.map(\.outcome) == [.deadLettered])
                #expect(try client.show(ids[index + 1]).fates.map(\.outcome) == [.delivered])
            }
        }
    }

    @Test("Lines to which the destination does not respond, each in a batch of its own, do not block other records")
    func unanswered() async throws {
        try await withListener("BatchDelay=50ms\nCriticalDelay=50ms") { daemon, listener, client in
            try listener.plan(FaultStep(.resetOn("ATTACK"), times: .forever))
            for number in 1...2 as ClosedRange<Int64> {
                // Each line is tried alone until other batches may be sent before it.
                let before = try client.destination().requests
                _ = try report(1, as: "ATTACK \(number)", to: client)
                try await eventually("line \(number) was tried", within: .seconds(600)) {
                    try client.destination().requests >= before + 5
                }
            }
            let good = try report(1, as: "Good", to: client)
            try await eventually("the other record is accepted", within: .seconds(600)) {
                try client.destination().ledger.delivered == 1
            }
            #expect(listener.compare(with: good).missing.isEmpty)
            let pending = try client.destination().ledger.pending
            #expect(pending == 2)
            // The two lines have been merged into one batch, which is stored.
            try daemon.kill()
            #expect(try daemon.file.ledgerFaults == [])
            try listener.plan()
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            try await eventually("all are accepted", within: .seconds(600)) {
                try client.destination().ledger.delivered == 3
            }
            #expect(try client.destination().ledger.balances)
        }
    }

    @Test("If most lines are rejected, the destination is paused, but critical records are still sent")
    func mostlyBad() async throws {
        // On a busy machine a request may take longer than the usual timeouts, which would end the pause.
        try await withListener("RequestTimeout=1h\nConnectTimeout=10min") { daemon, listener, client in
            try listener.plan(FaultStep(.poison("POISON"), times: .forever))
            _ = try client.report((0..<300).map { _ in IssueRecord(message: "POISON", app: Application(name: "bad")) })
            func expectPause() async throws {
                // A probe of the paused destination, once a minute, changes the state for a moment.
                try await eventually("the destination is paused", within: .seconds(900)) {
                    try client.destination().reason == "many_lines_refused"
                }
            }
            try await expectPause()
            let critical = try report(1, as: "Grave", to: client, .critical)
            try await eventually("the critical record is delivered", within: .seconds(900)) {
                try client.show(critical[0]).fates.map(\.outcome) == [.delivered]
            }
            try await expectPause()
            let destination = try client.destination()
            #expect(destination.ledger.deadLettered == 0)
            #expect(destination.ledger.balances)
            #expect(!daemon.log.contains("accepts records again"))
            // After a restart with two unfinished batches, all records still arrive.
            try daemon.restart()
            let again = try RawClient(path: daemon.socket)
            try listener.plan()
            try await eventually("all records have arrived", within: .seconds(900)) {
                _ = try again.call(.flush, FlushParameters(timeout: .seconds(1)), returning: FlushReply.self)
                return try again.destination().ledger.delivered == 301
            }
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("The status shows that records wait for the send rate, and until when")
    func paced() async throws {
        try await withListener("SendRate=60/min") { _, _, client in
            _ = try report(100, as: "Many", to: client)
            try await eventually("the status shows the wait") {
                let destination = try client.destination()
                return destination.state == .waiting && destination.reason == "send_rate"
                    && destination.nextAttempt != nil
            }
        }
    }
}
