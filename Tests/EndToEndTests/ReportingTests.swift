import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Reports and queries", .daemonLog)
struct ReportingTests {
    @Test("Reported records are listed, shown and counted")
    func reportAndAsk() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let record = IssueRecord(
                message: "Timed out after 30 ms", severity: .critical, domain: "net", code: 110,
                source: IssueProtocol.SourceLocation(fileID: "Shop/Cart.swift", line: 42, function: "load()"),
                app: Application(name: "shop", version: "2.0.0"), metadata: .object([.init("attempt", 3)]))
            let id = try #require(try client.report([record]).first).storedID

            let group = try #require(try client.groups().first)
            #expect(group.records == 1)
            #expect(group.level == .critical)
            #expect(group.newestRecord == id)

            let stored = try #require(try client.allRecords().first)
            #expect(stored.id == id)
            #expect(stored.group == group.id)
            #expect(stored.record.message == "Timed out after 30 ms")
            #expect(stored.record.metadata == .object([.init("attempt", 3)]))
            #expect(stored.record.source?.line == 42)
            #expect(stored.record.app?.version == "2.0.0")

            let shown = try client.show(id)
            #expect(shown.record == stored)
            #expect(shown.group.id == group.id)
            #expect(try client.show(group.id).group.id == group.id)

            let status = try client.status()
            #expect(status.received == 1)
            #expect(status.store.records == 1)
            #expect(status.store.groups == 1)
        }
    }

    @Test("A stored record has the process id, the user id and the command of the process that sent it")
    func sender() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let id = try #require(try client.report("Something").first)
            let sender = try #require(try client.show(id).record).sender
            #expect(sender.pid == ownPID)
            #expect(sender.uid == ownUserID)
            #expect(sender.command != nil)
        }
    }

    @Test("An invalid record is rejected with its field, and the other records of the call are stored")
    func rejectedNeighbours() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let reply = try client.call(
                "org.issued.Collector.Report",
                #"{"records":[{"message":"one"},{"message":"two","severity":"dreadful"},{"nothing":1},{"message":"four"}]}"#
            )
            let receipts = try ReportReply(json: reply.parameters).receipts
            try #require(receipts.count == 4)
            #expect(throws: Never.self) { try receipts[0].storedID }
            #expect(throws: Never.self) { try receipts[3].storedID }
            guard case .rejected(let field, _) = receipts[1] else {
                Issue.record("\(receipts[1])")
                return
            }
            #expect(field == "severity")
            guard case .rejected(let missing, _) = receipts[2] else {
                Issue.record("\(receipts[2])")
                return
            }
            #expect(missing == "message")
            #expect(try client.allRecords().map(\.record.message) == ["four", "one"])
            #expect(try client.status().rejected == 2)
        }
    }

    @Test("A report that is answered with an error is counted as refused")
    func refused() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let reply = try client.call("org.issued.Collector.Report", #"{"records":"none"}"#)
            #expect(reply.error == "org.varlink.service.InvalidParameter")
            #expect(try client.status().refused == 1)
            try await eventually("the status counts no record") { try client.status().received == 0 }
        }
    }

    @Test("A oneway report gets no reply, and is stored")
    func oneway() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let silent = ReportParameters(records: [IssueRecord(message: "Said and gone")])
            try client.begin(.report, silent, oneway: true)
            // The next reply belongs to the next call.
            let id = try #require(try client.report("Asked for a receipt").first)
            #expect(try client.show(id).record?.id == id)
            try await eventually("both records are there") { try client.status().received == 2 }
        }
    }

    @Test("A oneway query with several replies gets none of them")
    func onewayStream() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            for number in 1...5 { _ = try client.report("Number \(number) went wrong") }
            try client.begin(CollectorMethod.records.fullName, #"{"limit":1}"#, oneway: true, more: true)
            try await eventually("the status has the records") { try client.status().received == 5 }
        }
    }

    @Test("Pipelined calls are answered in order, including queries between reports")
    func pipelining() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            for number in 1...50 {
                try client.begin(
                    .report, ReportParameters(records: [IssueRecord(message: "Number \(number) went wrong")]))
                try client.begin(.status, JSONValue.object([]))
            }
            var ids: [String] = []
            for number in 1...50 {
                ids += try client.answer(of: ReportReply.self).receipts.map { try $0.storedID }
                // A query sees all reports that were answered before it.
                #expect(try client.answer(of: DaemonStatus.self).received == Int64(number))
            }
            #expect(Set(ids).count == 50)
            #expect(try client.allRecords().map(\.id) == ids.reversed())
        }
    }

    @Test("Pages of groups and records contain each item once")
    func paging() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let words = ["ash", "birch", "cedar", "elm", "fir", "larch", "maple", "oak", "pine", "yew", "willow"]
            for word in words { _ = try client.report("No \(word) was found", app: word) }
            let all = try client.groups()
            #expect(all.count == words.count)

            var paged: [String] = []
            var after: String?
            repeat {
                let page: ListReply = try client.call(.list, ListParameters(limit: 3, after: after))
                #expect(page.groups.count <= 3)
                paged += page.groups.map(\.id)
                after = page.next
            } while after != nil
            #expect(paged == all.map(\.id))

            var records: [String] = []
            repeat {
                let page: RecordsReply = try client.call(
                    .records, RecordsParameters(order: .oldest, limit: 4, after: after))
                records += page.records.map(\.record.message)
                after = page.next
            } while after != nil
            #expect(records == words.map { "No \($0) was found" })
        }
    }

    @Test("A follower with the filter `since` gets the existing records from that time on, and then new ones")
    func followSince() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("before")
            let follower = try RawClient(path: daemon.socket)
            var filter = IssueFilter()
            filter.since = IssueTimestamp(millisecondsSince1970: 0)
            try follower.begin(.records, RecordsParameters(filter: filter, follow: true), more: true)

            let first = try RecordsReply(json: try follower.reply().parameters)
            _ = try client.report("after")
            let second = try RecordsReply(json: try follower.reply().parameters)

            #expect(first.records.map(\.record.message) == ["before"])
            #expect(second.records.map(\.record.message) == ["after"])
        }
    }

    @Test("A follower without the filter `since` gets only new records")
    func follow() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Before")
            let follower = try RawClient(path: daemon.socket)
            try follower.begin(.records, RecordsParameters(follow: true), more: true)
            // The follower starts when the id of the newest record is known, which is not visible from outside. So
            // records are reported until one arrives.
            var seen: [String] = []
            for number in 1...100 where seen.isEmpty {
                _ = try client.report("After \(number)")
                guard let reply = try? follower.reply(within: .milliseconds(200)) else { continue }
                #expect(reply.continues)
                seen = try RecordsReply(json: reply.parameters).records.map(\.record.message)
            }
            #expect(!seen.isEmpty)
            #expect(!seen.contains("Before"))
        }
    }

    @Test("A client that closes its sending side still gets all replies; then the connection is closed")
    func halfClosed() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            for number in 1...20 {
                try client.begin(.report, ReportParameters(records: [IssueRecord(message: "Number \(number)")]))
            }
            try client.begin(.status, JSONValue.object([]))
            try client.finishWriting()
            for _ in 1...20 { #expect(try client.answer(of: ReportReply.self).receipts.count == 1) }
            #expect(try client.answer(of: DaemonStatus.self).received == 20)
            #expect(try client.isClosed())
        }
    }

    @Test("Reports sent before a hang-up are stored, even if they follow an endless query on the same connection")
    func hungUp() async throws {
        try await DaemonFixture.with { daemon in
            do {
                let client = try RawClient(path: daemon.socket)
                try client.begin(.records, RecordsParameters(follow: true), more: true)
                for number in 1...20 {
                    try client.begin(.report, ReportParameters(records: [IssueRecord(message: "Number \(number)")]))
                }
            }
            let other = try RawClient(path: daemon.socket)
            try await eventually("all reports are stored, and the connection is closed") {
                let status = try other.status()
                return status.received == 20 && status.connections == 1
            }
        }
    }
}
