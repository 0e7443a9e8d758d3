import IssueBrowsing
import IssueProtocol
import Issues
import Testing

@Suite("Properties of what the daemon returns")
struct ReadingTests {
    @Test("The properties of a record have the values that the daemon returns")
    func record() throws {
        let record = try StoredRecord(json: Array(Replies.record.utf8))
        #expect(record.firstOccurredAt?.description == "2026-11-21T11:50:00.000Z")
        #expect(record.occurredAt.description == "2026-11-21T11:57:00.000Z")
        #expect(record.line == 42)
        #expect(record.column == 9)
        #expect(record.function == "load(page:)")
        #expect(record.module == "Shop")
        #expect(record.fingerprint == "prices")
        #expect(record.build == 2500)
        #expect(record.platform == "linux")
        #expect(record.network == "wifi")
        #expect(record.isDevelopment == false)
        #expect(record.user == 1000)
        #expect(record.userGroup == 1001)
        #expect(record.process == 4711)
        #expect(record.command == "shop-worker")
        #expect(record.executable == "/usr/bin/shop")
        #expect(record.unit == "shop.service")
        #expect(record.metadata["attempt"]?.integer == 3)
    }

    @Test("Missing members of a record are nil or empty")
    func plainRecord() throws {
        let record = try StoredRecord(json: Array(Replies.plainRecord.utf8))
        #expect(record.firstOccurredAt == nil)
        #expect(record.column == nil)
        #expect(record.module == nil)
        #expect(record.fingerprint == nil)
        #expect(record.build == nil)
        #expect(record.isDevelopment == nil)
        #expect(record.command == nil)
        #expect(record.executable == nil)
        #expect(record.backtrace.isEmpty)
    }

    @Test("A frame has the members that the sender gave; the others are nil")
    func backtrace() throws {
        let backtrace = try StoredRecord(json: Array(Replies.record.utf8)).backtrace
        #expect(backtrace.map(\.image) == ["shop", "libc.so.6", nil])
        #expect(backtrace.map(\.buildID) == ["ab12", nil, nil])
        #expect(backtrace.map(\.offset) == [74565, .max, nil])
        #expect(backtrace.map(\.symbol) == [nil, "abort", nil])
        #expect(backtrace.map(\.file) == [nil, "abort.c", nil])
        #expect(backtrace.map(\.line) == [nil, 79, nil])
    }

    @Test("A group contains its source location")
    func group() throws {
        let group = try IssueGroup(json: Array(Replies.group.utf8))
        #expect(group.fileID == "Shop/Catalogue.swift")
        #expect(group.line == 42)
        #expect(group.column == 9)
        #expect(group.function == "load(page:)")
        #expect(group.module == "Shop")
    }

    @Test("The status contains the store's size, the destinations and the suppressions")
    func status() throws {
        let status = try DaemonStatus(json: Array(Replies.status.utf8))
        #expect(status.store.id == "s1")
        #expect(status.store.bytes == 15_728_640)
        #expect(status.store.freeBytes == 21_474_836_480)
        #expect(status.store.oldest?.description == "2026-10-22T12:00:00.000Z")

        let destination = try #require(status.destinations.first)
        #expect(destination.nextAttempt?.description == "2026-11-21T12:00:20.000Z")
        #expect(destination.requests == 2500)
        #expect(destination.resent == 3)
        #expect(destination.possibleDuplicates == 2)
        #expect(destination.bytesToday == 1_572_864)
        #expect(status.destinations.map(\.balances) == [true, false])

        #expect(status.suppressions.map(\.destination) == ["logzio", "logzio"])
        #expect(status.suppressions.map(\.app) == ["shop", nil])
        #expect(status.suppressions.map(\.group) == ["g7", nil])
        #expect(status.suppressions.map(\.reason) == [.groupRate, .dailyBytes])
        #expect(status.suppressions.map(\.count) == [1200, 1])
        #expect(status.suppressions.first?.since.description == "2026-11-21T11:00:00.000Z")
    }

    @Test("If the store cannot be opened, the status has neither its id nor its size")
    func closedStore() throws {
        let status = try DaemonStatus(json: Array(Replies.closedStatus.utf8))
        #expect(status.store.id.isEmpty)
        #expect(status.store.bytes == nil)
        #expect(status.store.freeBytes == nil)
        #expect(status.store.oldest == nil)
        #expect(status.suppressions.isEmpty)
    }
}
