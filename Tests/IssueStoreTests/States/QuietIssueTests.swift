import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("Quiet issues on disk")
struct QuietIssueTests {
    private func report(_ messages: String..., store: TemporaryStore, to writer: StoreWriter) throws {
        try store.store(
            messages.map { IssueRecord(message: $0, app: Application(name: "shop", version: "1.0")) }, to: writer)
    }

    /// Makes one pass over all groups, and returns the number of resolved ones.
    private func pass(_ store: TemporaryStore, _ writer: StoreWriter) throws -> Int {
        var (last, count) = (GroupID(rawValue: 0), 0)
        while true {
            let step = try writer.resolveQuiet(above: last, wall: store.wall, monotonic: store.monotonic)
            count += step.resolved
            guard !step.isDone else { return count }
            last = step.last
        }
    }

    private func states(_ store: TemporaryStore) throws -> [[String?]] {
        try store.shell().table("SELECT title, state FROM groups ORDER BY title", columns: 2)
    }

    private func day(_ store: TemporaryStore, _ writer: StoreWriter) throws {
        try writer.closeOpenRange()
        store.pass(.seconds(86_400))
    }

    @Test("Open issues without a record for the whole period are resolved, and their next record is a regression")
    func resolves() throws {
        try TemporaryStore.with { store in
            store.settings.retention.resolveAfter = .seconds(2 * 86_400 + 30)
            let writer = try store.writer()
            try report("quiet", "muted", "lasting", "in the open range", store: store, to: writer)
            let muted = try store.shell().number("SELECT id FROM groups WHERE title = 'muted'")
            _ = try writer.set(TriageState(.muted), ofGroup: GroupID(rawValue: muted))
            try day(store, writer)
            try report("lasting", store: store, to: writer)
            try day(store, writer)
            try report("in the open range", store: store, to: writer)
            #expect(try pass(store, writer) == 0)
            store.pass(.seconds(60))
            #expect(try pass(store, writer) == 1)
            #expect(
                try states(store) == [["in the open range", "0"], ["lasting", "0"], ["muted", "2"], ["quiet", "1"]])
            #expect(try pass(store, writer) == 0)
            try report("quiet", store: store, to: writer)
            #expect(try store.shell().number("SELECT regressed FROM groups WHERE title = 'quiet'") == 1)
            try expectSound(store)
        }
    }

    @Test("A wall clock that jumps ahead resolves nothing, and without a period nothing is ever resolved")
    func clocks() throws {
        for period in [Duration.zero, .seconds(2 * 86_400)] {
            try TemporaryStore.with { store in
                store.settings.retention.resolveAfter = period
                let writer = try store.writer()
                try report("one", store: store, to: writer)
                try writer.closeOpenRange()
                store.wall = store.wall.advanced(by: .seconds(1000 * 86_400))
                #expect(try pass(store, writer) == 0)
                if period == .zero {
                    try day(store, writer)
                    try day(store, writer)
                    try day(store, writer)
                    #expect(try pass(store, writer) == 0)
                }
            }
        }
    }

    @Test("A pass examines all groups in several transactions")
    func many() throws {
        try TemporaryStore.with { store in
            store.settings.retention.resolveAfter = .seconds(60)
            let writer = try store.writer()
            for number in 0..<600 {
                // Each record has a group of its own, within the limits on new groups of an application.
                try store.store(
                    [IssueRecord(message: "m", app: Application(name: "app\(number)"))],
                    from: .of(uid: 1000 + UInt32(number)),
                    to: writer)
            }
            try writer.closeOpenRange()
            store.pass(.seconds(3600))
            let first = try writer.resolveQuiet(above: 0, wall: store.wall, monotonic: store.monotonic)
            #expect(first.resolved == 256)
            #expect(!first.isDone)
            #expect(try pass(store, writer) == 344)
        }
    }
}
