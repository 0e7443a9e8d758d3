import FakeLogz
import Foundation
import IssueBrowsing
import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import UnixIO

@Suite("IssueBrowser and the daemon", .daemonLog)
struct BrowserTests {
    private static func report(_ reports: [IssueReport], to daemon: DaemonFixture) async throws -> [String] {
        let delivery = Delivery(paths: [daemon.socket])
        defer { delivery.stop() }
        let reporter = DaemonReporter(delivery: delivery)
        let receipts = reports.map { reporter.submit($0) }
        var ids: [String] = []
        for receipt in receipts { ids.append(try await receipt.stored()) }
        return ids
    }

    @Test("IssueBrowser lists groups by severity, filters them by level, and lists records page by page")
    func listed() async throws {
        try await DaemonFixture.with { daemon in
            let ids = try await Self.report(
                [
                    IssueReport("The shelf is empty", level: .critical, metadata: ["shelf": 7]),
                    IssueReport("The door is open", level: .warning),
                    IssueReport("The lamp is out", level: .info),
                ], to: daemon)
            let browser = IssueBrowser(socket: daemon.socket)

            let worst = try await browser.list(order: .worst)
            #expect(worst.elements.map(\.title) == ["The shelf is empty", "The door is open", "The lamp is out"])
            #expect(worst.elements.first?.level == .critical)
            #expect(worst.elements.first?.occurrences == 1)
            #expect(try await browser.list(.init(level: .warning)).elements.count == 2)

            let first = try await browser.records(order: .oldest, limit: 2)
            #expect(first.elements.map(\.id) == Array(ids.prefix(2)))
            let second = try await browser.records(order: .oldest, limit: 2, after: first.next)
            #expect(second.elements.map(\.message) == ["The lamp is out"])
            #expect(first.elements.first?.metadata["shelf"] == 7)
            #expect(first.elements.first?.fileID?.hasSuffix("BrowserTests.swift") == true)
            #expect(first.elements.first?.process == CurrentProcess.pid)
        }
    }

    @Test("IssueBrowser waits for the fates of a record, and shows the record with its group and fates")
    func shown() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let id = try #require(try await Self.report([IssueReport("Promise me")], to: daemon).first)
            let browser = IssueBrowser(socket: daemon.socket)
            let fates = try await browser.fates(of: id, timeout: .seconds(60))
            #expect(fates.map(\.outcome) == [.delivered])
            let details = try await browser.show(id)
            #expect(details.record?.message == "Promise me")
            #expect(details.group.newestRecord == id)
            #expect(details.fates.map(\.outcome) == [.delivered])

            let status = try await browser.status()
            #expect(status.received == 1)
            #expect(try #require(status.store.bytes) > 0)
            #expect(try #require(status.store.freeBytes) > 0)
            #expect(status.store.oldest == details.record?.receivedAt)
            #expect(details.record?.executable == CurrentProcess.executable)
            #expect(details.record?.backtrace.isEmpty == false)
            let destination = try #require(status.destinations.first)
            #expect(destination.count(of: .delivered) == 1)
            #expect(destination.count(of: .delivered) == destination.received)
            #expect(try await browser.flush(timeout: .seconds(60)).map(\.name) == [destination.name])
        }
    }

    @Test("IssueBrowser lists dead letters with their lines, and requeues them")
    func deadLetters() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            try listener.plan(FaultStep(.poison("POISON"), times: .forever))
            let id = try #require(try await Self.report([IssueReport("POISON")], to: daemon).first)
            let browser = IssueBrowser(socket: daemon.socket)
            #expect(try await browser.fates(of: id, timeout: .seconds(60)).map(\.outcome) == [.deadLettered])
            let letters = try await browser.deadLetters(withLines: true).elements
            #expect(letters.map(\.record) == [id])
            #expect(letters.first?.reason == "refused")
            #expect(letters.first?.line?.contains("POISON") == true)
            try listener.plan()
            #expect(try await browser.requeue(records: [id]).requeued == 1)
            #expect(try await browser.fates(of: id, timeout: .seconds(60)).map(\.outcome) == [.delivered])
        }
    }

    @Test("IssueBrowser requests backups, repairs and purges")
    func operated() async throws {
        try await DaemonFixture.with { daemon in
            _ = try await Self.report([IssueReport("Forget me"), IssueReport("Keep me", level: .info)], to: daemon)
            let browser = IssueBrowser(socket: daemon.socket)
            #expect(try FileSystem.status(of: try await browser.backup()).kind == .regular)
            let repaired = try await browser.repair(dryRun: true)
            #expect(repaired.files.isEmpty)
            let filter = IssueFilter(level: .error)
            #expect(try await browser.purge(filter, dryRun: true).count == 1)
            #expect(try await browser.purge(filter).count == 1)
            #expect(try await browser.records().elements.map(\.message) == ["Keep me"])
        }
    }

    @Test(
        "IssueBrowser counts records over time by level, even after a kill, and buckets that are too short are refused")
    func counted() async throws {
        try await DaemonFixture.with { daemon in
            let reports = (1...9).map { IssueReport("Report \($0)", level: $0 % 3 == 0 ? .critical : .warning) }
            _ = try await Self.report(reports, to: daemon)
            let browser = IssueBrowser(socket: daemon.socket)
            let counted = try await browser.histogram(bucket: .seconds(3600), by: .level)
            #expect(counted.series.map(\.key) == ["critical", "warning"])
            #expect(counted.series.map { $0.counts.reduce(0, +) } == [3, 6])
            #expect(counted.series.first?.counts.count == 25)
            #expect(counted.start.millisecondsSince1970 % 3_600_000 == 0)
            try daemon.kill()
            try daemon.start()
            let total = try await browser.histogram(.init(level: .critical))
            #expect(total.series.map { $0.counts.reduce(0, +) } == [3])
            #expect(counted.start(ofBucket: 2).millisecondsSince1970 == counted.start.millisecondsSince1970 + 7_200_000)
            // Half a minute; a minute, which makes too many buckets in 24 hours; and zero.
            for bucket in [Duration.seconds(30), .seconds(60), .zero] {
                let error = await #expect(throws: IssueDeliveryError.self) {
                    try await browser.histogram(bucket: bucket)
                }
                #expect(error?.code == .refused)
                let beginning = "Invalid bucket length \(bucket): "
                #expect(error?.message.hasPrefix(beginning) == true)
                #expect(error?.message.hasSuffix(". Without `since`, the time range is 24 hours.") == true)
            }
            #expect(try await browser.histogram(bucket: .seconds(120)).series.first?.counts.count == 721)
        }
    }

    @Test("IssueBrowser follows new records until the task is cancelled")
    func followed() async throws {
        try await DaemonFixture.with { daemon in
            let browser = IssueBrowser(socket: daemon.socket)
            let start = IssueTimestamp.fromNow(.seconds(-60))
            let (seen, continuation) = AsyncStream<String>.makeStream()
            let follower = Task {
                defer { continuation.finish() }
                for try await record in browser.follow(.init(since: start)) { continuation.yield(record.message) }
            }
            let few = Task {
                var messages: [String] = []
                for try await record in browser.follow(.init(since: start)) {
                    messages.append(record.message)
                    if messages.count == 3 { break }
                }
                return messages
            }
            _ = try await Self.report([IssueReport("One"), IssueReport("Two")], to: daemon)
            _ = try await Self.report([IssueReport("Three")], to: daemon)
            #expect(try await few.value == ["One", "Two", "Three"])
            var messages: [String] = []
            for await message in seen {
                messages.append(message)
                if messages.count == 3 { follower.cancel() }
            }
            #expect(messages == ["One", "Two", "Three"])
            try await follower.value
        }
    }

    @Test("Cancelling a task ends its query, wait, operation or loop at once, even if the daemon hangs")
    func cancelled() async throws {
        try await DaemonFixture.with { daemon in
            let id = try #require(try await Self.report([IssueReport("Wait for me")], to: daemon).first)
            let browser = IssueBrowser(socket: daemon.socket)
            daemon.process?.signal(SIGSTOP)
            defer { daemon.process?.signal(SIGCONT) }
            let tasks: [Task<Void, any Error>] = [
                Task { _ = try await browser.status() },
                Task { _ = try await browser.list() },
                Task { _ = try await browser.fates(of: id, timeout: .seconds(600)) },
                Task { try await browser.flush(timeout: .seconds(600)) },
                Task { _ = try await browser.backup() },
            ]
            let follower = Task { for try await _ in browser.follow() {} }
            for task in tasks + [follower] { task.cancel() }
            for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
            try await follower.value

            daemon.process?.signal(SIGCONT)
            #expect(try await browser.show(id).record?.message == "Wait for me")
        }
    }

    @Test("Queries of many tasks share one connection")
    func shared() async throws {
        try await DaemonFixture.with { daemon in
            let id = try #require(try await Self.report([IssueReport("Many ask")], to: daemon).first)
            let browser = IssueBrowser(socket: daemon.socket)
            let client = try RawClient(path: daemon.socket)
            // The daemon may not have noticed yet that the reporter has closed its connection.
            try await eventually("only the raw client is connected") { try client.status().connections ?? 0 <= 1 }
            try await withThrowingTaskGroup { group in
                for _ in 1...500 { group.addTask { try await browser.show(id).record?.message } }
                for try await message in group { #expect(message == "Many ask") }
            }
            #expect(try client.status().connections ?? 0 <= 2)
        }
    }

    @Test(
        "IssueBrowser throws an error if there is no daemon, if the daemon is killed, and if an id or name is unknown")
    func failures() async throws {
        await #expect(throws: IssueDeliveryError.self) { try await IssueBrowser(socket: "/nowhere/at.all").status() }
        try await DaemonFixture.with { daemon in
            do {
                _ = try await IssueBrowser(socket: daemon.socket).show("nonsense")
                Issue.record("An unknown id was found")
            } catch let error as IssueDeliveryError {
                #expect(error.code == .notFound)
            }
            let browser = IssueBrowser(socket: daemon.socket)
            let error = await #expect(throws: IssueDeliveryError.self) {
                try await browser.flush(destination: "nowhere")
            }
            #expect(error == IssueDeliveryError(.notFound, "There is no destination named nowhere."))
            let unknown = [
                await #expect(throws: IssueDeliveryError.self) { try await browser.requeue(destination: "nowhere") },
                await #expect(throws: IssueDeliveryError.self) {
                    try await browser.deadLetters(destination: "nowhere")
                },
            ]
            #expect(unknown.map(\.?.code) == [.notFound, .notFound])
            let (followed, continuation) = AsyncStream.makeStream(of: Void.self)
            let start = IssueTimestamp.fromNow(.seconds(-60))
            _ = try RawClient(path: daemon.socket).report("Followed")
            let follower = Task {
                for try await _ in browser.follow(.init(since: start)) { continuation.yield() }
            }
            for await _ in followed { break }
            try daemon.kill()
            await #expect(throws: IssueDeliveryError.self) { try await follower.value }
        }
    }
}
