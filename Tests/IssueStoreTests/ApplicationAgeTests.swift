import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("A maximum age per application")
struct ApplicationAgeTests {
    /// Random records of four applications in ranges of 20 records, and a destination that is sometimes slow.
    private final class Fixture {
        struct Entry {
            var id: RowID
            var maxAge: Duration
            var at: MonotonicInstant
        }

        let store: TemporaryStore
        var writer: StoreWriter
        let destination: Int64
        var entries: [Entry] = []
        var generator: SampleRecords
        private var inFlight: StoredBatch?
        /// `true` from a kill until the next complete removal. The kill may have interrupted a removal; then the
        /// posting lists of its range are stale.
        private var wasKilled = false
        private(set) var audit: RetentionAudit

        init(_ store: TemporaryStore, seed: UInt64) throws {
            self.store = store
            store.settings.rangeRecords = 20
            store.settings.retention.maxSize = 1 << 40
            store.settings.retention.maxAge = .seconds(60)
            store.settings.retention.applicationAges = [
                ApplicationAge(name: "short", maxAge: .seconds(15)),
                ApplicationAge(name: "long", maxAge: .seconds(140)),
                ApplicationAge(name: "both", uid: 1001, maxAge: .seconds(30)),
                ApplicationAge(name: "both", maxAge: .seconds(200)),
            ]
            generator = SampleRecords(seed: seed)
            writer = try store.writer()
            destination = try Self.configure(writer, store)
            audit = RetentionAudit(store, destination: destination)
        }

        private static func configure(_ writer: StoreWriter, _ store: TemporaryStore) throws -> Int64 {
            try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)[0].id
        }

        /// Opens the store again, as after a kill.
        func reopen() throws {
            wasKilled = true
            writer = try store.writer()
            _ = try Self.configure(writer, store)
            inFlight = try store.reader().unansweredBatch(of: destination)
        }

        func report() throws {
            let app = ["short", "long", "both", "other"][Int(generator.below(4))]
            let uid: UInt32 = generator.below(2) == 0 ? 1000 : 1001
            let records = (0..<generator.below(9) + 1).map { _ in
                IssueRecord(message: "message \(generator.below(3))", app: Application(name: app))
            }
            let ids = try store.store(records, from: .of(uid: uid), to: writer)
            let age = store.settings.retention.maxAge(uid: uid, application: app)
            entries += ids.map { Entry(id: $0.row, maxAge: age, at: store.monotonic) }
        }

        /// Sends some records, or settles the batch in flight.
        func forward() throws {
            if let batch = inFlight {
                inFlight = nil
                try writer.settle(BatchSettlement(of: batch, at: store.wall), destination: destination)
                return
            }
            let batch = try store.reader().nextBatch(
                Int(generator.below(60)) + 1, for: destination, at: store.wall)
            if !batch.sent.isEmpty { inFlight = try writer.store(batch) }
        }

        /// Removes what is too old. Opens the store again after a random number of steps if `isKilled` is set.
        func retain(isKilled: Bool = false) throws {
            try audit.remember()
            var steps = isKilled ? generator.below(6) + 1 : .max
            var searches = 0
            while searches < 100 {
                let snapshot = try writer.retentionSnapshot(
                    freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
                switch Retention(settings: writer.retention).next(snapshot) {
                case .forget(let range, let reason):
                    #expect(reason == .age)
                    while !(try writer.forget(range).isDone) {
                        steps -= 1
                        if steps <= 0 { return try reopen() }
                    }
                case .expire(let aged):
                    var thinning = try writer.planExpiry(of: aged)
                    while !(try writer.thin(&thinning).isDone) {
                        steps -= 1
                        try expectSound(underWay: aged.range.id)
                        if steps <= 0 { return try reopen() }
                    }
                case .thin(_, let reason), .trim(_, _, let reason):
                    Issue.record("removed for \(reason)")
                    return
                case .countUnreferenced, .collect:
                    Issue.record("series are removed although there is room")
                    return
                case .closeRange: try writer.closeOpenRange()
                case .wait(let time):
                    guard time < .seconds(1) else {
                        wasKilled = false
                        return
                    }
                    searches += 1
                }
            }
            Issue.record("the search did not end")
        }

        /// Checks that sums, posting lists and the ledger are right, and that no record is gone too early.
        func expectSound(underWay: Int64? = nil, sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
            try audit.expectConsistentCounts(
                total: entries.count, underWay: underWay, isInterrupted: underWay != nil && wasKilled,
                sourceLocation: sourceLocation)
            let left = try audit.left()
            for entry in entries where !left.contains(entry.id) {
                #expect(entry.at.duration(to: store.monotonic) >= entry.maxAge, sourceLocation: sourceLocation)
            }
        }

        /// Checks that a closed range has no records of an application left when the range's newest record has reached
        /// the maximum age of that application.
        func expectNothingOld(sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
            let left = try audit.left()
            let shell = try store.shell()
            let ends = try shell.numbers("SELECT last_id FROM ranges ORDER BY id").map { RowID($0) }
            // A batch in flight protects the ranges of its records for a while, and later ranges are removed only after
            // those.
            let batch =
                try shell.numbers("SELECT first_id FROM batches WHERE state = 0").min().map { RowID($0) } ?? .max
            var first: RowID = 0
            for end in ends {
                let range = entries.filter { $0.id >= first && $0.id <= end }
                first = end + 1
                guard let newest = range.map(\.at).max(), end < batch else { continue }
                for entry in range where left.contains(entry.id) {
                    #expect(newest.duration(to: store.monotonic) < entry.maxAge, sourceLocation: sourceLocation)
                }
            }
        }
    }

    @Test(
        "The records of an application are removed at its maximum age, and all sums stay right, also after kills",
        arguments: 0..<6 as Range<UInt64>)
    func ages(seed: UInt64) throws {
        try TemporaryStore.with { store in
            let fixture = try Fixture(store, seed: seed)
            for round in 0..<90 {
                try fixture.report()
                if round % 3 == 0 { try fixture.forward() }
                if round % 10 == 4 { try fixture.reopen() }
                guard round % 5 == 0 else { continue }
                if fixture.generator.below(3) == 0 { try fixture.retain(isKilled: true) }
                try fixture.retain()
                try fixture.expectSound()
                try fixture.expectNothingOld()
            }
            let ages = Set(fixture.entries.map(\.maxAge))
            #expect(ages.count == 5)
            // Of the records that are older than 80 seconds, only those with a longer maximum age are left.
            let left = try fixture.audit.left()
            let youngest = fixture.entries.filter { $0.at.duration(to: store.monotonic) > .seconds(80) }
            #expect(youngest.contains { left.contains($0.id) && $0.maxAge > .seconds(60) })
            #expect(!youngest.contains { left.contains($0.id) && $0.maxAge <= .seconds(60) })

            store.pass(.seconds(500))
            try fixture.report()
            try fixture.writer.closeOpenRange()
            store.pass(.seconds(500))
            try fixture.reopen()
            try fixture.retain()
            #expect(try fixture.audit.left().isEmpty)
            try fixture.expectSound()
            #expect(try store.shell().number("SELECT count(*) FROM postings") == 0)
        }
    }

    @Test("Unreferenced series of an application with a short maximum age can be collected at that age")
    func collecting() throws {
        try TemporaryStore.with { store in
            store.settings.retention.maxAge = .seconds(1000)
            store.settings.retention.applicationAges = [ApplicationAge(name: "short", maxAge: .seconds(10))]
            let writer = try store.writer()
            for app in ["short", "other"] {
                try store.store([IssueRecord(message: "m", app: Application(name: app))], to: writer)
            }
            try writer.closeOpenRange()
            store.pass(.seconds(20))
            let expired = try writer.expiredRanges(wall: store.wall, monotonic: store.monotonic)
            #expect(expired.general == 0)
            #expect(expired.accounts.map(\.value) == [1])
            let snapshot = try writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
            guard case .expire(let aged) = Retention(settings: writer.retention).next(snapshot) else {
                Issue.record("nothing expires")
                return
            }
            var thinning = try writer.planExpiry(of: aged)
            while !(try writer.thin(&thinning).isDone) {}
            let reader = try store.reader()
            var references = StoreReader.References()
            while try reader.read(&references) {}
            let series = try reader.unreferenced(references, quietSince: expired).series
            let apps = try store.shell().table(
                "SELECT accounts.app FROM series JOIN accounts ON accounts.id = account WHERE series.id = \(series.first?.rawValue ?? 0)",
                columns: 1)
            #expect(series.count == 1)
            #expect(apps == [["short"]])
        }
    }
}
