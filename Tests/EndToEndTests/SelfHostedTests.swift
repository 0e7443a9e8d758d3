import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite(
    "Self-hosted destinations", .daemonLog,
    .enabled(if: TestBinaries.python != nil, "scripts/dependencies test installs the parsers of their requests"))
struct SelfHostedTests {
    private func with(
        _ section: (FakeStores) throws -> String, _ body: (DaemonFixture, FakeStores, RawClient) async throws -> Void
    ) async throws {
        let stores = try await FakeStores(python: try #require(TestBinaries.python))
        let settings = "[Forward]\nBatchDelay=0\nCriticalDelay=0\n\(try section(stores))"
        try await DaemonFixture.with(DaemonConfiguration(settings)) { daemon in
            try await body(daemon, stores, try RawClient(path: daemon.socket))
        }
    }

    private func report(_ count: Int, _ message: String, _ client: RawClient) throws -> [String] {
        try client.report(
            (0..<count).map { number in
                var record = IssueRecord(message: "\(message) “\(number)”\n", app: Application(name: "shop"))
                record.metadata = ["number": .integer(Int64(number)), "more": ["a": [true, nil, 1.5, "b"]]]
                record.causes = [IssueCause(domain: "d", code: 7, message: "beneath")]
                if number == 3 {
                    record.domain = "shop.Error"
                    record.context = IssueContext(
                        traceID: "4bf92f3577b34da6a3ce929d0e0e4736", spanID: "00f067aa0ba902b7", requestID: "r-3",
                        user: "anna")
                }
                return record
            }
        ).map { try $0.storedID }
    }

    private func settled(_ client: RawClient, _ daemon: DaemonFixture) async throws {
        try await eventually("nothing is pending") {
            try client.destination().ledger.pending == 0
        }
        #expect(try client.destination().ledger.balances)
        #expect(try daemon.file.ledgerFaults == [])
    }

    @Test("The results of all documents are read, even if a proxy removes filter_path and the response is large")
    func longReply() async throws {
        try await with {
            "[Elasticsearch]\nURL=http://127.0.0.1:\($0.port)/behind-proxy\nCredential=TOKENFILE\nUser=elastic"
        } _: { daemon, stores, client in
            // Requests are small at first, so thousands of records are needed for a large response.
            let ids = try (0..<5).flatMap { _ in try report(1000, "Broken", client) }
            try await settled(client, daemon)
            #expect(try Set(stores.documents.keys) == Set(ids))
            // No document was sent again.
            #expect(try stores.state["conflicts"]?.asInteger == 0)
            #expect(try client.destination().possibleDuplicates == 0)
            #expect(try stores.faults == [])
        }
    }

    @Test("Elasticsearch stores every record once, under its id; a rejected record becomes a dead letter")
    func elasticsearch() async throws {
        try await with {
            "[Elasticsearch]\nURL=http://127.0.0.1:\($0.port)\nCredential=TOKENFILE\nUser=elastic\nIndex=issues"
        } _: { daemon, stores, client in
            var ids = try report(700, "Broken", client)
            try await settled(client, daemon)
            #expect(try Set(stores.documents.keys) == Set(ids))
            let first = try #require(try stores.documents[ids[3]])
            #expect(first["message"] == "Broken “3”\n")
            #expect(first["metadata"]?["number"] == 3)
            #expect(first["causes"]?.asArray?.first?["code"] == 7)
            #expect(first["trace.id"] == "4bf92f3577b34da6a3ce929d0e0e4736")
            #expect(first["http.request.id"] == "r-3")
            // The records are stored, but the reply is an error. The ids prevent duplicates.
            try stores.plan(#"[{"status": 503, "takes": true}, {"status": 429, "headers": {"Retry-After": "1"}}]"#)
            ids += try report(20, "Again", client)
            try await settled(client, daemon)
            #expect(try Set(stores.documents.keys) == Set(ids))
            #expect(try (stores.state["conflicts"]?.asInteger ?? 0) >= 20)

            let bad = try client.report("POISON")
            ids += try report(5, "Beside it", client)
            try await settled(client, daemon)
            #expect(try Set(stores.documents.keys) == Set(ids))
            let fate = try #require(try client.show(bad[0]).fates.first)
            #expect(fate.outcome == .deadLettered)
            #expect(fate.answer?.contains("mapper_parsing_exception") == true)
            // The two records are sent in one request, so its response has the results of both.
            let both = try client.report("Taken", "POISON")
            ids.append(both[0])
            try await settled(client, daemon)
            let fates = try both.map { try client.show($0).fates.first }
            #expect(fates.map { $0?.outcome } == [.delivered, .deadLettered])
            #expect(fates[0]?.answer == "accepted, while others were rejected")
            #expect(fates[1]?.answer?.contains("mapper_parsing_exception") == true)
            #expect(try Set(stores.authorizations) == ["Basic ZWxhc3RpYzphLXRva2VuLW9mLXRoaXMtdGVzdA=="])
            #expect(try stores.faults == [])
        }
    }

    @Test("An OTLP receiver can parse all logs; records it rejects are dead letters or unconfirmed")
    func otlp() async throws {
        try await with {
            "[OTLP]\nURL=http://127.0.0.1:\($0.port)"
        } _: { daemon, stores, client in
            let ids = try report(40, "Broken", client)
            try await settled(client, daemon)
            #expect(try stores.faults == [])
            #expect(try stores.logs.compactMap { $0["id"]?.asString } == ids)
            let third = try #require(try stores.logs.dropFirst(3).first)
            #expect(third["service"] == "shop")
            #expect(third["body"] == "Broken “3”\n")
            #expect(third["severity"] == 17)
            #expect(third["metadata"] == 3)
            #expect(third["trace"] == "4bf92f3577b34da6a3ce929d0e0e4736")
            #expect(third["span"] == "00f067aa0ba902b7")
            #expect(third["user"] == "anna")
            #expect(third["exception"] == "shop.Error")
            #expect(try client.destination().ledger.delivered == 40)

            let bad = try client.report("POISON")
            try await settled(client, daemon)
            #expect(try client.show(bad[0]).fates.map(\.outcome) == [.deadLettered])
            // If the receiver rejects some of several records, it returns only their number. None may be sent again.
            _ = try client.report("Good", "POISON again", "Good too")
            try await settled(client, daemon)
            #expect(try client.destination().ledger.unconfirmed == 3)
            try await daemon.logs("Destination rejected records without naming them")
            try await daemon.logs("count=1 of=3")
            #expect(try stores.logs.count == 42)
        }
    }

    @Test(
        "If a server returns 200 but not the expected response, the destination is paused, and no record is lost",
        arguments: ["ClickHouse", "Elasticsearch", "OTLP"])
    func anyServer(section: String) async throws {
        try await with {
            "[\(section)]\nURL=http://127.0.0.1:\($0.port)"
        } _: { daemon, stores, client in
            try stores.plan(#"[{"status": 200, "body": "It works!"}]"#)
            _ = try client.report("Kept")
            try await eventually("the destination is paused") { try client.destination().reason == "not_found" }
            let destination = try client.destination()
            #expect(destination.ledger.pending == 1)
            #expect(destination.lastAnswer?.contains(": not a response from ") == true)
            #expect(!daemon.log.contains("It works"))
        }
    }

    @Test("If Elasticsearch refuses each document because of the index, nothing is given up, and all arrive later")
    func blockedIndex() async throws {
        try await with {
            "[Elasticsearch]\nURL=http://127.0.0.1:\($0.port)"
        } _: { daemon, stores, client in
            let item = #"{\"create\": {\"status\": 403, \"error\": {\"type\": \"cluster_block_exception\"}}}"#
            try stores.plan(#"[{"status": 200, "body": "{\"errors\": true, \"items\": [\#(item)]}"}]"#)
            let ids = try client.report("Kept")
            try await eventually("the destination is paused") { try client.destination().reason == "forbidden" }
            #expect(try client.destination().lastAnswer == "200: 403 cluster_block_exception")
            #expect(try client.destination().advice?.contains("Index=") == true)
            #expect(try client.destination().ledger.pending == 1)
            try await eventually("nothing is pending") {
                _ = try client.call(.flush, FlushParameters(timeout: .seconds(1)), returning: FlushReply.self)
                return try client.destination().ledger.pending == 0
            }
            #expect(try Set(stores.documents.keys) == Set(ids))
            #expect(try client.destination().ledger.deadLettered == 0)
        }
    }

    @Test("If an OTLP receiver rejects all of many records, they become dead letters")
    func allRejected() async throws {
        try await with {
            "[OTLP]\nURL=http://127.0.0.1:\($0.port)"
        } _: { daemon, stores, client in
            _ = try report(200, "POISON", client)
            try await settled(client, daemon)
            #expect(try client.destination().ledger.deadLettered == 200)
        }
    }

    @Test("A summary names the user and the issue of the records that were held back")
    func summary() async throws {
        try await with {
            "[Elasticsearch]\nURL=http://127.0.0.1:\($0.port)\nGroupBurst=2\nGroupRefill=1/5min\nSummaryInterval=1s"
        } _: { daemon, stores, client in
            let ids = try report(20, "Broken", client)
            func summaries() throws -> [JSONValue] {
                try stores.documents.values.filter { $0["event_kind"] == "suppression_summary" }
            }
            try await eventually("there is a summary") { try !summaries().isEmpty }
            let first = try #require(try stores.documents[ids[0]])
            for summary in try summaries() {
                #expect(summary["uid"] == first["uid"] && summary["uid"] != nil)
                #expect(summary["group_id"] == first["group_id"] && summary["group_id"] != nil)
                #expect(summary["fingerprint"] == first["fingerprint"])
            }
        }
    }

    @Test("If a reply repeats a part of the request, that part is neither in the log nor in the status")
    func echo() async throws {
        try await with {
            "[OTLP]\nURL=http://127.0.0.1:\($0.port)"
        } _: { daemon, stores, client in
            let secret = "what only the application may read"
            let body = "No such path for \(secret), try another"
            try stores.plan("[{\"status\": 404, \"body\": \"\(body)\"}]")
            _ = try client.report([IssueRecord(message: "Broken", source: SourceLocation(fileID: secret, line: 1))])
            try await eventually("the destination is paused") { try client.destination().state == .paused }
            let answer = try #require(try client.destination().lastAnswer)
            #expect(answer.hasPrefix("404 from 127.0.0.1:") && !answer.contains("path"))
            #expect(!daemon.log.contains(secret))
        }
    }

    @Test("An unknown destination is an error, not an empty result")
    func unknownName() async throws {
        try await with {
            "[OTLP]\nURL=http://127.0.0.1:\($0.port)"
        } _: { daemon, stores, client in
            let id = try client.report("Here")[0]
            try await settled(client, daemon)
            let unknown = CollectorError.invalidFilter(
                field: "destination", reason: #"there is no destination "nope"; known: otlp"#)
            var filter = IssueFilter()
            filter.outcomes = [.deadLettered]
            filter.destination = "nope"
            #expect(try client.refusal(of: .records, RecordsParameters(filter: filter)) == unknown)
            #expect(try client.refusal(of: .deadLetters, DeadLettersParameters(destination: "nope")) == unknown)
            #expect(try client.refusal(of: .requeue, RequeueParameters(destination: "nope")) == unknown)
            #expect(try client.refusal(of: .await, AwaitParameters(id: id, destination: "nope")) == unknown)
            #expect(
                try client.call(.await, AwaitParameters(id: id, destination: "otlp"), returning: AwaitReply.self)
                    .fates.map(\.outcome) == [.delivered])
        }
    }

    @Test("An outage of one destination does not delay the others")
    func several() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try listener.down()
        try await with { stores in
            """
            [LogzIO]
            URL=http://127.0.0.1:\(listener.port)
            Credential=TOKENFILE
            ConnectTimeout=300ms
            GroupBurst=0
            [Elasticsearch]
            URL=http://127.0.0.1:\(stores.port)
            [OTLP collector]
            URL=http://127.0.0.1:\(stores.port)/v1/logs
            """
        } _: { daemon, stores, client in
            let ids = try report(30, "Broken", client)
            func ledgers() throws -> [String: Ledger] {
                Dictionary(uniqueKeysWithValues: try client.status().destinations.map { ($0.name, $0.ledger) })
            }
            try await eventually("two destinations have the records") {
                let ledgers = try ledgers()
                return ledgers["elasticsearch"]?.delivered == 30 && ledgers["collector"]?.delivered == 30
            }
            #expect(try ledgers()["logzio"]?.pending == 30)
            try daemon.kill()
            try listener.up()
            try daemon.start()
            let again = try RawClient(path: daemon.socket)
            try await eventually("the third destination has the records, too") {
                try again.status().destinations.allSatisfy { $0.ledger.pending == 0 && $0.ledger.balances }
            }
            #expect(listener.compare(with: ids).isMet)
            #expect(try Set(stores.documents.keys) == Set(ids))
            #expect(try again.show(ids[0]).fates.count == 3)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }
}
