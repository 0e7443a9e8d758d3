import FakeLogz
import IssueProtocol
import IssueTestSupport
import Issues
import Testing

@Suite("The client library and the daemon", .daemonLog)
struct ClientLibraryTests {
    private struct Broken: Error {}

    @Test("A reported issue is stored with its source location, level and metadata, and is delivered")
    func reported() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let delivery = Delivery(paths: [daemon.socket])
            defer { delivery.stop() }
            withIssueReporters([DaemonReporter(delivery: delivery)]) {
                withIssueMetadata(["request": "r-7"]) {
                    reportIssue("The shelf is empty", level: .critical)
                    reportIssue(Broken(), "While filling it")
                }
            }
            #expect(delivery.flush(timeout: .seconds(60)))
            let records = try RawClient(path: daemon.socket).allRecords()
            #expect(records.count == 2)
            let first = try #require(records.last)
            #expect(first.record.message == "The shelf is empty")
            #expect(first.record.severity == .critical)
            #expect(first.record.source?.fileID?.hasSuffix("ClientLibraryTests.swift") == true)
            #expect(first.record.metadata?["request"] == "r-7")
            #expect(listener.waitForAccepted(2))
            #expect(listener.compare(with: records.map(\.id)).isMet)
        }
    }

    @Test("A receipt provides the id and the fates of the issue")
    func receipt() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let delivery = Delivery(paths: [daemon.socket])
            defer { delivery.stop() }
            let receipt = DaemonReporter(delivery: delivery).submit(IssueReport("Promise me"))
            let id = try await receipt.stored()
            #expect(try RawClient(path: daemon.socket).show(id).record?.record.message == "Promise me")
            let fates = try await receipt.delivered(timeout: .seconds(60))
            #expect(fates.map(\.outcome) == [.delivered])
        }
    }

    @Test("Issues reported during an outage of the daemon are stored once each when it is back")
    func daemonAway() async throws {
        try await DaemonFixture.with { daemon in
            let delivery = Delivery(paths: [daemon.socket])
            defer { delivery.stop() }
            let reporter = DaemonReporter(delivery: delivery)
            func report(_ name: String) {
                for number in 1...50 { reporter.receive(IssueReport("\(name) \(number)")) }
            }
            report("Before")
            #expect(delivery.flush(timeout: .seconds(60)))
            // The daemon is killed with calls in flight. It is unknown which of them were stored.
            report("At the kill")
            try daemon.kill()
            report("Meanwhile")
            #expect(delivery.waitForFailure(timeout: .seconds(60)))
            try daemon.start()
            report("After")
            #expect(delivery.flush(timeout: .seconds(60)))
            let messages = try RawClient(path: daemon.socket).allRecords().map(\.record.message)
            #expect(messages.count == 200)
            #expect(Set(messages).count == 200)
            #expect(Set(messages).isSuperset(of: (1...50).map { "Meanwhile \($0)" }))
        }
    }

    @Test("Metadata above the daemon's limits is stored, partly as text")
    func largeMetadata() async throws {
        try await DaemonFixture.with { daemon in
            let delivery = Delivery(paths: [daemon.socket])
            defer { delivery.stop() }
            let keys = Dictionary(uniqueKeysWithValues: (0..<1000).map { ("key \($0)", $0) })
            let deep = (0..<100).reduce(IssueMetadata.Value(1)) { inner, _ in [inner] }
            let metadata: IssueMetadata = ["keys": .init(keys), "deep": deep, "till": 2]
            let receipt = DaemonReporter(delivery: delivery).submit(IssueReport("Much to say", metadata: metadata))
            let id = try await receipt.stored()
            let stored = try RawClient(path: daemon.socket).show(id).record?.record.metadata
            #expect(stored?["keys"]?.asString?.contains("\"key 999\":999") == true)
            #expect(stored?["till"]?.asInteger == 2)
        }
    }

    @Test("Reports from before a fork and from both processes after it are stored once, even if the daemon is killed")
    func forked() async throws {
        try await DaemonFixture.with { daemon in
            for round in 1...3 {
                let before = try RawClient(path: daemon.socket).status().received
                let program = try ChildProcess(
                    TestBinaries.path(of: "fork-reporter"), ["200"], in: daemon.folder, name: "fork-\(round)",
                    environment: ["ISSUED_SOCKET": daemon.socket])
                try await eventually("some records are stored") {
                    try RawClient(path: daemon.socket).status().received > before
                }
                try daemon.kill()
                try daemon.start()
                #expect(try program.end() == .exit(0))
                let records = try RawClient(path: daemon.socket).allRecords()
                let (counts, ids) = (Dictionary(grouping: records, by: \.record.message), Set(records.map(\.id)))
                #expect(records.count == 600 * round && ids.count == records.count)
                for who in ["Before", "Parent", "Child"] {
                    #expect((1...200).allSatisfy { counts["\(who) \($0)"]?.count == round }, "\(who)")
                }
            }
        }
    }

    @Test("Fates can be awaited during forks, and the library's thread ends even if children hold its connections")
    func forkedWhileAwaiting() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let program = try ChildProcess(
                TestBinaries.path(of: "fork-reporter"), ["awaited", "500"], in: daemon.folder, name: "fork",
                environment: ["ISSUED_SOCKET": daemon.socket])
            try await eventually("the program has ended") { !program.isRunning }
            #expect(try program.end() == .exit(0), "\(program.errors)")
            #expect(listener.compare(with: try RawClient(path: daemon.socket).allRecords().map(\.id)).isMet)
        }
    }

    @Test("A fork is delayed while another thread holds forks off, unless that thread is waiting for a descriptor")
    func forkedInHalves() throws {
        let folder = try ScratchFolder(named: "fork-reporter")
        let program = try ChildProcess(TestBinaries.path(of: "fork-reporter"), ["halves"], in: folder, name: "fork")
        #expect(try program.end() == .exit(0))
    }

    @Test("A child that was forked while a thread listed the loaded images can list them, too")
    func forkedAtTheLoader() throws {
        let folder = try ScratchFolder(named: "fork-reporter")
        let program = try ChildProcess(TestBinaries.path(of: "fork-reporter"), ["images"], in: folder, name: "fork")
        #expect(try program.end() == .exit(0))
    }

    @Test("The daemon answers queries through the library's connection")
    func connection() async throws {
        try await DaemonFixture.with { daemon in
            let ids = try RawClient(path: daemon.socket).report("One", "Two")
            var connection = try CollectorConnection(paths: [daemon.socket])
            let status = try connection.call(CollectorMethod.status.fullName, json: Array("{}".utf8))
            #expect(try DaemonStatus(json: status).received == 2)
            var pages: [[UInt8]] = []
            try connection.stream(
                CollectorMethod.records.fullName, json: RecordsParameters(order: .oldest).json
            ) { page in
                pages.append(page)
                return true
            }
            #expect(try pages.flatMap { try RecordsReply(json: $0).records.map(\.id) } == ids)
            #expect(throws: CollectorConnectionError.refused(.notFound(id: "nonsense"))) {
                _ = try connection.call(CollectorMethod.show.fullName, json: IDParameters(id: "nonsense").json)
            }
        }
    }
}
