import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

/// In each `Kind` of transaction, the commit fails, and then each change of a row, one after the other.
@Suite("A failed transaction", .serialized)
struct RollbackTests {
    enum Kind: CaseIterable {
        case commit, numberedCommit, imported, closeRange, forget, thin, erase, finishErasing, eraseOwners
        case collectSeries, collectProcesses, collectOwners, collectMarks, setState, endMutes, importStates
        case declare, importDeployments, resolveQuiet, countdown
        case storeBatch, settle, requeue, configure
    }

    @Test("A failed transaction leaves the writer's memory as it was, and can be repeated", arguments: Kind.allCases)
    func leavesMemory(kind: Kind) throws {
        try TemporaryStore.with { store in
            try FaultDisk.with(store.folder, seed: 3) { disk in
                let fixture = try RollbackFixture(store)
                let run = try fixture.prepare(kind)
                let before = text(of: fixture.writer)

                disk.fail(1, of: .changes, with: .error, lasts: true)
                #expect(throws: StoreFailure.self, "at the commit") { try run() }
                disk.stopFailing()
                #expect(text(of: fixture.writer) == before, "at the commit")

                try fixture.addFuse()
                var (changes, isDone) = (0, false)
                while !isDone {
                    try fixture.setFuse(changes + 1)
                    do throws(StoreFailure) {
                        try run()
                        isDone = true
                    } catch {
                        changes += 1
                        #expect(text(of: fixture.writer) == before, "at change \(changes)")
                    }
                }
                #expect(changes > 0)
                try fixture.removeFuse()
                try store.store([IssueRecord(message: "afterwards")], to: fixture.writer)
                #expect(fixture.writer.nextID - 1 == (try store.shell().number("SELECT max(id) FROM records")))
                #expect(try store.shell().table("SELECT * FROM ledger_check", columns: 2) == [])
            }
        }
    }

    /// Describes every field of the memory. A failed transaction leaves all caches empty, so a cache is described only
    /// if it is not empty.
    private func text(of writer: StoreWriter) -> String {
        var text = ""
        dump(writer.memory.values, to: &text)
        dump(writer.memory.open, to: &text)
        let caches = Mirror(reflecting: writer.memory.caches).children
        for (empty, cache) in zip(Mirror(reflecting: WriterMemory.Caches()).children, caches) {
            var (expected, found) = ("", "")
            dump(empty.value, to: &expected)
            dump(cache.value, to: &found)
            if found != expected { text += "\(cache.label ?? "") is not empty" }
        }
        return text
    }
}

/// A store with closed ranges, a batch that awaits a response, dead letters, and a muted group.
private final class RollbackFixture {
    let store: TemporaryStore
    let writer: StoreWriter
    private let reader: StoreReader
    private let destination: Int64
    private let group: StoreReader.Subject
    private var batch: StoredBatch

    typealias Run = () throws(StoreFailure) -> Void

    init(_ store: TemporaryStore) throws {
        self.store = store
        store.settings.rangeRecords = 20
        store.settings.retention.maxSize = 1 << 40
        writer = try store.writer()
        destination = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)[0].id
        var samples = SampleRecords(seed: 4)
        for round in 0..<9 {
            try store.store(samples.records(5), from: .of(uid: round % 2 == 0 ? 1000 : 1001), to: writer)
        }
        reader = try store.reader()
        group = try reader.subject(reader.groups(.all, viewer: .everything).groups[0].id, viewer: .everything)
        let state = TriageState(.muted, mutedUntil: store.wall.advanced(by: .seconds(3600)))
        _ = try writer.set(state, ofGroup: group.group)
        batch = StoredBatch(id: 0, summaries: [], sent: [])
        batch = try writer.store(nextBatch())
        try writer.settle(settlement(dead: [1]), destination: destination)
        batch = try writer.store(nextBatch())
        // Every transaction below starts with empty caches, as a failed one leaves them.
        writer.memory.caches = WriterMemory.Caches()
    }

    private func nextBatch() throws -> NewBatch {
        try reader.nextBatch(6, for: destination, at: store.wall)
    }

    private func settlement(dead: [Int]) -> BatchSettlement {
        BatchSettlement(of: batch, dead: dead, at: store.wall)
    }

    /// Returns a function that runs one transaction of this kind.
    func prepare(_ kind: RollbackTests.Kind) throws -> Run {
        let (store, writer, destination) = (store, writer, destination)
        let (wall, monotonic) = (store.wall.advanced(by: .seconds(7200)), store.monotonic.advanced(by: .seconds(7200)))
        var samples = SampleRecords(seed: 9)
        // Enough records to close the range, in known series and in new ones.
        let records = samples.records(16) + [IssueRecord(message: "new", app: Application(name: "new"))]
        switch kind {
        case .commit:
            let submission = try Submission(of: records)
            return { () throws(StoreFailure) in
                _ = try writer.commit([submission], wall: wall, monotonic: monotonic)
            }
        case .numberedCommit:
            let call = SentCall(records, producer: ProducerID(high: 7, low: 1), sequence: 1)
            let submission = try Submission([call], from: .of(uid: 3000))
            return { () throws(StoreFailure) in
                _ = try writer.commit([submission], wall: wall, monotonic: monotonic)
            }
        case .imported:
            let submission = try Submission(of: records)
            return { () throws(StoreFailure) in
                _ = try writer.importSalvaged([submission], wall: wall, monotonic: monotonic)
            }
        case .closeRange: return { () throws(StoreFailure) in try writer.closeOpenRange() }
        case .forget:
            let range = try oldestRange()
            return { () throws(StoreFailure) in _ = try writer.forget(range) }
        case .thin:
            let plan = try writer.planThinning(of: oldestRange(), user: 1000)
            return { () throws(StoreFailure) in
                var plan = plan
                _ = try writer.thin(&plan)
            }
        case .erase:
            // Delivered records, dead letters, records in flight, and waiting ones.
            return { () throws(StoreFailure) in _ = try writer.erase([1, 2, 7, 8, 30]) }
        case .finishErasing:
            let erasure = try writer.erase(Array(1...40))
            return { () throws(StoreFailure) in try writer.finishErasing(erasure.series.sorted(), isWhole: true) }
        case .eraseOwners:
            try addUnusedSenders()
            return { () throws(StoreFailure) in try writer.eraseNewestOwners(processes: [], seenThrough: 0) }
        case .collectSeries:
            let all = try store.shell().numbers("SELECT id FROM series")
            while try !writer.forget(oldestRange()).isDone {}
            return { () throws(StoreFailure) in
                try writer.collect(series: all.map(SeriesID.init(rawValue:)), seenThrough: 20)
            }
        case .collectProcesses:
            // One process more, so that the processes of the first range are not the newest.
            try store.store([IssueRecord(message: "m")], from: .of(uid: 1002), to: writer)
            writer.memory.caches = WriterMemory.Caches()
            let all = try store.shell().numbers("SELECT id FROM processes")
            _ = try writer.erase(Array(1...40))
            return { () throws(StoreFailure) in
                try writer.collect(processes: all.map(ProcessRowID.init(rawValue:)), seenThrough: writer.nextID)
            }
        case .collectOwners:
            try addUnusedSenders()
            return { () throws(StoreFailure) in _ = try writer.collectOwners() }
        case .collectMarks:
            let call = SentCall([IssueRecord(message: "m")], producer: ProducerID(high: 7, low: 1), sequence: 1)
            try store.commit(try Submission([call]), to: writer)
            writer.memory.caches = WriterMemory.Caches()
            let later = writer.logTime(wall: wall, monotonic: monotonic)
            return { () throws(StoreFailure) in _ = try writer.deleteProducerMarks(before: later) }
        case .setState:
            let id = group.group
            return { () throws(StoreFailure) in _ = try writer.set(TriageState(.resolved), ofGroup: id) }
        case .endMutes: return { () throws(StoreFailure) in try writer.endMutes(at: wall) }
        case .importStates:
            let found = try store.shell().table(
                """
                SELECT uid, app, fingerprint FROM groups JOIN accounts ON accounts.id = account
                WHERE state = 0 LIMIT 1
                """, columns: 3)[0]
            let note = GroupNote(
                uid: UInt32(found[0] ?? "") ?? 0, app: found[1] ?? "", fingerprint: found[2] ?? "",
                standing: TriageState(.muted, mutedUntil: store.wall))
            return { () throws(StoreFailure) in try writer.importSalvaged([note]) }
        case .resolveQuiet:
            writer.reload(LimitSettings(), RetentionSettings(resolveAfter: .seconds(1)))
            try writer.closeOpenRange()
            writer.memory.caches = WriterMemory.Caches()
            store.pass(.seconds(100))
            let (wall, monotonic) = (store.wall, store.monotonic)
            return { () throws(StoreFailure) in
                _ = try writer.resolveQuiet(above: 0, wall: wall, monotonic: monotonic)
            }
        case .countdown:
            _ = try writer.set(TriageState(.muted, occurrencesLeft: 100), ofGroup: group.group)
            writer.memory.caches = WriterMemory.Caches()
            let again = try Submission(of: [IssueRecord(message: "m")])
            return { () throws(StoreFailure) in
                _ = try writer.commit([again], wall: wall, monotonic: monotonic)
            }
        case .declare:
            let parameters = DeployParameters(app: "shop", version: "9")
            return { () throws(StoreFailure) in
                _ = try writer.declare(parameters, of: .everyone, by: 0, at: wall)
            }
        case .importDeployments:
            let deployment = IssueDeployment(app: "shop", user: 1000, version: "9", deployedAt: wall)
            return { () throws(StoreFailure) in try writer.importSalvaged([deployment]) }
        case .storeBatch:
            try writer.settle(settlement(dead: []), destination: destination)
            let new = try nextBatch()
            return { () throws(StoreFailure) in _ = try writer.store(new) }
        case .settle:
            let settlement = settlement(dead: [1])
            return { () throws(StoreFailure) in try writer.settle(settlement, destination: destination) }
        case .requeue:
            let letters = try store.shell().numbers("SELECT id FROM dead_letters")
            return { () throws(StoreFailure) in _ = try writer.requeue(letters) }
        case .configure:
            let two: [StoreWriter.ConfiguredDestination] = [
                .init(name: "d", kind: "k", takesBacklog: false), .init(name: "e", kind: "k", takesBacklog: true),
            ]
            return { () throws(StoreFailure) in _ = try writer.configure(two, at: wall) }
        }
    }

    private func addUnusedSenders() throws {
        try store.shell().execute(
            "INSERT INTO senders (uid, command, executable, unit) VALUES (0, 'a', '', ''), (0, 'b', '', '')")
    }

    private func oldestRange() throws -> RetentionSnapshot.ClosedRange {
        try #require(try writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic).oldest)
    }

    // MARK: Failing changes

    private static let changes = ["INSERT", "UPDATE", "DELETE"]

    private var tables: [String] {
        get throws {
            try store.shell().table(
                """
                SELECT name FROM sqlite_schema
                WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                """, columns: 1
            ).compactMap(\.[0])
        }
    }

    /// Adds triggers to all tables, so that the change of a row fails once the fuse has counted down to zero.
    func addFuse() throws {
        try writer.connection.execute("CREATE TEMP TABLE fuse (remaining INTEGER); INSERT INTO fuse VALUES (-1)")
        for table in try tables {
            for change in Self.changes {
                try writer.connection.execute(
                    composedSQL: """
                        CREATE TEMP TRIGGER fuse_\(change)_\(table) BEFORE \(change) ON main.\(table) BEGIN
                            UPDATE fuse SET remaining = remaining - 1;
                            SELECT raise(ABORT, 'fuse') FROM fuse WHERE remaining = 0;
                        END
                        """)
            }
        }
    }

    /// Makes the nth change of a row from now on fail.
    func setFuse(_ nth: Int) throws {
        try writer.connection.execute(composedSQL: "UPDATE fuse SET remaining = \(nth)")
    }

    func removeFuse() throws {
        for table in try tables {
            for change in Self.changes {
                try writer.connection.execute(composedSQL: "DROP TRIGGER temp.fuse_\(change)_\(table)")
            }
        }
    }
}
