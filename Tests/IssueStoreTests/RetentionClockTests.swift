import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("Retention after the wall clock was set")
struct RetentionClockTests {
    /// Returns the writer of a store whose newest record was received while the wall clock was set back. Later records
    /// have been erased.
    private func setBack(_ store: TemporaryStore) throws -> StoreWriter {
        let writer = try store.writer()
        try store.store([IssueRecord(message: "before")], to: writer)
        let right = store.wall
        store.wall = right.advanced(by: .seconds(-400 * 86_400))
        try store.store([IssueRecord(message: "meanwhile")], to: writer)
        store.wall = right
        try store.store([IssueRecord(message: "after"), IssueRecord(message: "after")], to: writer)
        try writer.closeOpenRange()
        _ = try writer.erase([3, 4])
        return writer
    }

    @Test("Log time continues after the wall clock was set back, whether or not any records remain")
    func clockGoesOn() throws {
        for isEmpty in [false, true] {
            try TemporaryStore.with { store in
                var writer = try setBack(store)
                let before = writer.logTime(wall: store.wall, monotonic: store.monotonic)
                if isEmpty { try store.shell().execute("DELETE FROM blocks") }
                writer = try store.writer()
                let after = writer.logTime(wall: store.wall, monotonic: store.monotonic)
                #expect(before <= after && before.duration(to: after) < .seconds(60))
            }
        }
    }

    @Test("A range without records is as old as its last record was")
    func ageOfNothing() throws {
        try TemporaryStore.with { store in
            let writer = try setBack(store)
            func oldest() throws -> RetentionSnapshot.ClosedRange? {
                try writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic).oldest
            }
            let range = try #require(try oldest())
            #expect(try writer.forget(range).records == 2)
            let now = writer.logTime(wall: store.wall, monotonic: store.monotonic)
            let left = try #require(try oldest())
            #expect(left.newest.duration(to: now) < .seconds(60))
        }
    }
}
