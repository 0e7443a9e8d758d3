import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("The state of the store for issuectl retention")
struct RetentionUsageTests {
    @Test(
        "The state has the oldest records per maximum age, the last day's rate, and whom a space limit affects first"
    )
    func usage() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 10
            store.settings.retention.applicationAges = [ApplicationAge(name: "long", maxAge: .seconds(90 * 86_400))]
            let writer = try store.writer()
            let start = store.wall
            for _ in 0..<6 {
                try store.store(
                    [IssueRecord](repeating: IssueRecord(message: "m", app: Application(name: "shop")), count: 4),
                    to: writer)
                try store.store([IssueRecord(message: "m", app: Application(name: "long"))], to: writer)
            }
            store.pass(.seconds(2 * 86_400))
            try store.store(
                [IssueRecord(message: "new", app: Application(name: "shop"))], from: .of(uid: 7), to: writer)
            try store.store(
                [IssueRecord](repeating: IssueRecord(message: "m", app: Application(name: "shop")), count: 20),
                to: writer)

            let usage = try store.reader().retentionUsage(
                store.settings.retention, freeBytes: 12_345, now: store.wall)
            #expect(usage.records == 51)
            #expect(usage.oldest == start.advanced(by: .seconds(1)))
            #expect(usage.recentRecords == 21)
            #expect(usage.period == .seconds(86_400))
            #expect((10..<1000).contains(try #require(usage.averageBytes)))
            #expect(usage.freeBytes == 12_345)
            // A range has at least ten records: two calls of each application.
            #expect(usage.portions.map(\.app) == [nil, "long"])
            #expect(usage.portions.map(\.records) == [8, 2])
            #expect(usage.portions.map(\.newest) == [start, start].map { $0.advanced(by: .seconds(4)) })
            #expect(usage.portions.map(\.maxAge) == [.seconds(30 * 86_400), .seconds(90 * 86_400)])
            #expect(usage.largestUser == 1000)

            // A limit on space then removes records of this user.
            store.settings.retention.maxSize = 0
            writer.reload(LimitSettings(), store.settings.retention)
            let snapshot = try writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
            guard case .thin(let holding, .size) = Retention(settings: writer.retention).next(snapshot) else {
                Issue.record("nothing is removed")
                return
            }
            #expect(holding.user == 1000)
        }
    }

    @Test("An empty store has no rate and no portions")
    func empty() throws {
        try TemporaryStore.with { store in
            _ = try store.writer()
            let usage = try store.reader().retentionUsage(RetentionSettings(), freeBytes: nil, now: store.wall)
            #expect(usage.records == 0)
            #expect(usage.averageBytes == nil && usage.growth == nil)
            #expect(usage.portions.isEmpty)
            #expect(usage.largestUser == nil)
        }
    }
}
