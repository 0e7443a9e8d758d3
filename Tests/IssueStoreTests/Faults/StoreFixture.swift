import Foundation
import IssueProtocol
import Testing

@testable import IssueCore
@testable import IssueStore

/// A store in use on a disk that fails, and the model of its expected contents.
final class StoreFixture {
    /// The steps of a daemon that change its store.
    enum Step: CaseIterable {
        case report, reportNumbered, batch, settle, closeRange, forget, checkpoint, shrink, regroup, restart
    }

    let store: TemporaryStore
    var model: StoreModel
    /// Another model that the store may match after a power cut, such as the one including the step that failed last.
    /// Nil after a step that succeeded.
    private(set) var doubtful: StoreModel?
    private(set) var writer: StoreWriter?
    private(set) var reader: StoreReader?
    private var samples: SampleRecords
    private var padding = 0
    private var sequences: [ProducerID: Int64] = [:]

    static let destinations: [StoreWriter.ConfiguredDestination] = [
        .init(name: "forwarded", kind: "k", takesBacklog: false), .init(name: "idle", kind: "k", takesBacklog: false),
    ]
    private static let forwarded: Int64 = 1

    init(_ store: TemporaryStore, seed: UInt64, model: StoreModel = StoreModel()) {
        self.store = store
        self.model = model
        samples = SampleRecords(seed: seed)
        store.settings.rangeRecords = 20
        store.settings.retention.maxSize = 1 << 40
    }

    /// Runs `body` with a fixture on a disk of its own.
    static func with<Value>(seed: UInt64, _ body: (StoreFixture, FaultDisk) throws -> Value) throws -> Value {
        try TemporaryStore.with { store in
            try FaultDisk.with(store.folder, seed: seed) { disk in
                try body(StoreFixture(store, seed: seed), disk)
            }
        }
    }

    func below(_ bound: Int64) -> Int64 { samples.below(bound) }

    func open() throws {
        let writer = try store.writer()
        let rows = try writer.configure(Self.destinations, at: store.wall)
        if model.cursors.isEmpty { model.cursors = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0.cursor) }) }
        self.writer = writer
        reader = try store.reader()
    }

    /// The current log time.
    var now: RecordLogInstant {
        writer?.logTime(wall: store.wall, monotonic: store.monotonic) ?? RecordLogInstant(milliseconds: 0)
    }

    func close() {
        writer = nil
        reader = nil
    }

    /// Performs a step and applies it to the model. Has no effect if the step has nothing to do.
    func take(_ step: Step) throws {
        doubtful = nil
        if writer == nil || reader == nil {
            close()
            try open()
        }
        guard let writer, let reader else { return }
        switch step {
        case .report: try report(to: writer, isNumbered: false)
        case .reportNumbered: try report(to: writer, isNumbered: true)
        case .batch: try storeBatch(writer, reader)
        case .settle: try settle(writer, reader)
        case .closeRange: try writer.closeOpenRange()
        case .forget: try forget(writer)
        case .checkpoint: _ = try writer.checkpoint()
        case .shrink:
            _ = try writer.shrink(pages: 1)
            _ = try writer.checkpoint()
        case .regroup:
            if !writer.mustRegroup { try ageGroups(writer) }
            _ = try writer.regroup(groups: 2, series: 1)
        case .restart:
            close()
            store.pass(.seconds(below(100)))
            try open()
        }
        doubtful = nil
    }

    /// Makes sure that a step has something to do.
    func prepare(_ step: Step) throws {
        if writer == nil { try open() }
        switch step {
        case .batch:
            if model.unanswered[Self.forwarded] != nil { try take(.settle) }
            if model.cursors[Self.forwarded] == RowID(model.lastRow) { try take(.report) }
        case .settle:
            while model.unanswered[Self.forwarded] == nil {
                try take(.report)
                try take(.batch)
            }
        case .forget:
            while model.lastRow - model.goneCount < 60 { try take(.report) }
            // The oracle must know the series and times of rows before the rows are removed.
            if model.rowInfo.count < Int(model.lastRow) { #expect(try faults() == []) }
        case .closeRange: try take(.report)
        case .shrink:
            // The first record of each call takes more than a page, so that removing it frees one.
            padding = 9000
            while try spareBytes() == 0 {
                for _ in 0..<4 { try take(.report) }
                try prepare(.forget)
                try take(.forget)
            }
            padding = 0
            try take(.checkpoint)
        case .regroup:
            while try !hasOlderGroups() {
                try take(.report)
                if let writer { try ageGroups(writer) }
            }
        case .report, .reportNumbered, .checkpoint, .restart: break
        }
    }

    private func hasOlderGroups() throws -> Bool {
        try writer?.mustRegroup == true && store.shell().number("SELECT count(*) FROM groups WHERE rule < 2") > 0
    }

    private func ageGroups(_ writer: StoreWriter) throws {
        try writer.connection.ageGroups(keepsFingerprints: below(2) == 0)
        writer.memory.values.regroupedThrough = 0
    }

    private func spareBytes() throws -> Int64 {
        try writer?.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic).spareBytes ?? 0
    }

    // MARK: Steps

    private func report(to writer: StoreWriter, isNumbered: Bool) throws {
        let producer = ProducerID(high: 7, low: UInt64(below(2)))
        let process = isNumbered ? ReportingProcess.of(uid: 2000) : .of(uid: below(3) == 0 ? 1001 : 1000)
        var records = samples.records(1 + Int(below(6)))
        if padding > 0 { records[0].metadata = ["padding": .string(samples.noise(padding))] }
        var call = SentCall(records)
        if isNumbered { call = SentCall(records, producer: producer, sequence: sequences[producer] ?? 1) }
        var after = model
        after.received(records, call, from: process)
        doubtful = after
        let outcomes = try store.commit(try Submission([call], from: process), to: writer)
        #expect(outcomes.flatMap(\.ids).map(\.row) == (model.lastRow + 1...after.lastRow).map { RowID($0) })
        model = after
        if isNumbered { sequences[producer, default: 1] += Int64(records.count) }
    }

    private func storeBatch(_ writer: StoreWriter, _ reader: StoreReader) throws {
        guard model.unanswered[Self.forwarded] == nil, let cursor = model.cursors[Self.forwarded] else { return }
        let walked = try reader.walk(after: cursor, limit: 7).map(\.candidate)
        guard let last = walked.last?.record else { return }
        var batch = NewBatch(destination: Self.forwarded, at: store.wall)
        batch.span = (cursor + 1)...last
        for candidate in walked {
            let tally = NewBatch.Tally(account: candidate.account, records: 1, occurrences: candidate.count)
            switch candidate.record.rawValue % 4 {
            case 0:
                batch.withheld.append(candidate.record)
                batch.withheldTally.append(tally)
            case 1: batch.summarised.append(tally)
            default:
                batch.sent.append(
                    SentRecord(
                        row: candidate.record, account: candidate.account, count: candidate.count,
                        suppressedBefore: 0, occurrences: 1))
            }
        }
        var after = model
        after.stored(batch)
        doubtful = after
        _ = try writer.store(batch)
        model = after
    }

    private func settle(_ writer: StoreWriter, _ reader: StoreReader) throws {
        guard let batch = try reader.unansweredBatch(of: Self.forwarded) else { return }
        let dead: Set<Int> = batch.sent.count > 2 ? [1] : []
        var after = model
        after.settled(batch, dead: dead, destination: Self.forwarded)
        doubtful = after
        try writer.settle(
            BatchSettlement(of: batch, dead: Array(dead), at: store.wall), destination: Self.forwarded)
        model = after
    }

    private func forget(_ writer: StoreWriter) throws {
        let snapshot = try writer.retentionSnapshot(freeBytes: nil, wall: store.wall, monotonic: store.monotonic)
        guard let range = snapshot.oldest, model.lastRow - range.lastID.rawValue > 20 else { return }
        var after = model
        after.forgot(through: range.lastID)
        doubtful = after
        let progress = try writer.forget(range)
        if progress.records > 0 { model.forgot(through: RowID(model.goneCount + progress.records)) }
    }

    // MARK: Checks

    /// Checks the image that a power cut leaves, and deletes it. The store in it must match the fixture's model or
    /// `doubtful`, and must continue from there.
    func expectSound(
        image folder: String, or doubtful: StoreModel?, _ context: String,
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // A disk of its own, so that its syncs take no time.
        try FaultDisk.with(folder, seed: 0) { _ in
            let image = StoreFixture(TemporaryStore(path: folder + "/issues.db"), seed: 77, model: model)
            (image.store.wall, image.store.monotonic) = (store.wall, store.monotonic)
            image.doubtful = doubtful
            let found = try image.recover()
            #expect(found == [], "\(context), after a cut", sourceLocation: sourceLocation)
            let later = try image.faultsAfterContinuing()
            #expect(later == [], "\(context), continuing", sourceLocation: sourceLocation)
        }
    }

    /// Returns the faults of the store in its current state, and adds the series and times of new rows to the model.
    func faults() throws -> [String] { try StoreOracle.faults(store, &model) }

    /// Returns the faults of the store's ids, ledger and outbox only, which is faster.
    func obviousFaults() throws -> [String] { try StoreOracle.obviousFaults(store, model) }

    /// Opens the store after a cut, and continues with the model that matches it: with or without the interrupted step.
    /// Returns the faults if neither matches.
    func recover() throws -> [String] {
        let doubtful = doubtful
        self.doubtful = nil
        close()
        try open()
        let found = try faults()
        guard !found.isEmpty, var other = doubtful else { return found }
        if other.cursors.isEmpty { other.cursors = model.cursors }
        let otherFaults = try StoreOracle.faults(store, &other)
        guard otherFaults.isEmpty else { return found + ["or else"] + otherFaults }
        model = other
        return []
    }

    /// Returns the faults after a few more steps. The steps show that the store still works, and that a call
    /// that is sent again gets receipts for duplicates, with the same ids.
    func faultsAfterContinuing() throws -> [String] {
        var faults: [String] = []
        for numbered in model.newest.values {
            let outcomes = try store.commit(
                try Submission([numbered.call], from: numbered.process), to: try #require(writer))
            let rows = (0..<numbered.call.json.count).map { numbered.firstRow + $0 }
            let ids = try rows.map {
                RecordReceipt.duplicate(id: try #require(writer).memory.values.recordID(row: $0).text)
            }
            if outcomes.flatMap(\.mixed) != ids { faults.append("a repeated call returned \(outcomes)") }
        }
        for producer in model.newest.keys {
            let newest = model.newest[producer]
            sequences[producer] = (newest?.call.numbering?.sequence ?? 1) + Int64(newest?.call.json.count ?? 0)
        }
        for step in [Step.report, .reportNumbered, .batch, .settle] { try take(step) }
        return try faults + self.faults()
    }
}
