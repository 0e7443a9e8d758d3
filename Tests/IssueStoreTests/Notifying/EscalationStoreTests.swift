import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("Counts of occurrences on disk")
struct EscalationStoreTests {
    private static let rate = Rate(100, per: .seconds(3600))

    private func with(_ body: (TemporaryStore, StoreWriter, Int64) throws -> Void) throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let row = try #require(try writer.configureNotifiers(["oncall"]).rows.first)
            try body(store, writer, row.id)
        }
    }

    private func entry(_ group: GroupID, reportedAt: Int64? = nil) -> EscalationCounter.Entry {
        EscalationCounter.Entry(
            group: group, uid: 1000, slot: 7, counts: [3, 0, 4],
            reportedAt: reportedAt.map { RecordLogInstant(milliseconds: $0) })
    }

    private func progress(_ row: RowID, _ changes: EscalationCounter.Changes) -> EscalationProgress {
        EscalationProgress(through: row, slotLength: EscalationCounter.slotLength(of: Self.rate), changes: changes)
    }

    @Test("Counting begins with the next record, and counts are stored with the events that they cause")
    func progress() throws {
        try with { store, writer, id in
            #expect(try store.reader().escalations(of: id, Self.rate) == nil)
            try store.store([IssueRecord(message: "Broken")], to: writer)
            try writer.count(Self.rate, notifier: id)
            #expect(try store.reader().escalations(of: id, Self.rate)?.counted == 1)
            var changes = EscalationCounter.Changes()
            changes.entries = [entry(1), entry(2, reportedAt: 5)]
            let notice = Notice(kinds: .escalated, record: 1, uid: 1000, at: store.wall)
            let row = try writer.store(progress(9, changes), notices: [notice], silenced: [:], notifier: id)
            #expect(row?.waiting.map(\.kinds) == [.escalated] && row?.received == 1)
            var found = try #require(try store.reader().escalations(of: id, Self.rate))
            #expect(found.counted == 9 && found.entries == changes.entries)

            changes.entries = []
            changes.removed = [1]
            _ = try writer.store(progress(12, changes), notices: [], silenced: [:], notifier: id)
            // A start that changes nothing keeps everything.
            try writer.count(Self.rate, notifier: id)
            found = try #require(try store.reader().escalations(of: id, Self.rate))
            #expect(found.counted == 12 && found.entries.map(\.group) == [2])
        }
    }

    @Test("Counts are removed when the period changes and when counting ends")
    func reconfigured() throws {
        try with { store, writer, id in
            try writer.count(Self.rate, notifier: id)
            var changes = EscalationCounter.Changes()
            changes.entries = [entry(1)]
            _ = try writer.store(progress(9, changes), notices: [], silenced: [:], notifier: id)
            try writer.count(Rate(5, per: .seconds(3600)), notifier: id)
            #expect(try store.shell().number("SELECT count(*) FROM escalations") == 1)
            try writer.count(Rate(5, per: .seconds(60)), notifier: id)
            #expect(try store.shell().number("SELECT count(*) FROM escalations") == 0)
            #expect(try store.reader().escalations(of: id, Self.rate)?.counted == 9)
            _ = try writer.store(progress(9, changes), notices: [], silenced: [:], notifier: id)
            try writer.count(nil, notifier: id)
            #expect(try store.reader().escalations(of: id, Self.rate) == nil)
            #expect(try store.shell().number("SELECT count(*) FROM escalations") == 0)
        }
    }

    @Test("When a notifier is removed, its counts are removed and counting ends")
    func deactivated() throws {
        try with { store, writer, id in
            try writer.count(Self.rate, notifier: id)
            var changes = EscalationCounter.Changes()
            changes.entries = [entry(1)]
            _ = try writer.store(progress(9, changes), notices: [], silenced: [:], notifier: id)
            _ = try writer.configureNotifiers([])
            #expect(try store.shell().number("SELECT count(*) FROM escalations") == 0)
            #expect(try store.reader().escalations(of: id, Self.rate) == nil)
        }
    }

    @Test("A file of the version before escalations is upgraded in place, with its notifiers")
    func upgrade() throws {
        try TemporaryStore.with { store in
            _ = try store.writer()
            try store.downgrade(to: 14)
            try store.shell().execute(
                "INSERT INTO notifiers (name, cursor, received, delivered) VALUES ('oncall', 0, 5, 5)")
            let writer = try store.writer()
            let row = try #require(try writer.configureNotifiers(["oncall"]).rows.first)
            #expect(row.received == 5)
            try writer.count(Self.rate, notifier: row.id)
            #expect(try store.reader().escalations(of: row.id, Self.rate)?.counted == 0)
        }
    }
}
