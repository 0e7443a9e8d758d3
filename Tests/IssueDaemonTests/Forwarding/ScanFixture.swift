import Foundation
import IssueProtocol
import IssueStore
import IssueTestSupport
import SQLiteKit
import UnixIO

@testable import IssueCore
@testable import IssueDaemon

/// Returns a log, and a function that returns its lines so far.
func keptLog(
    _ level: LogLevel = .notice, _ form: LogForm = .plain, journal: String = "/nonexistent/socket"
) -> (Log, lines: () -> [String]) {
    let lines = Monitor<[String]>([])
    let log = Log(level: level, form: form, journal: journal) { line in lines.withLock { $0.append(line) } }
    return (log, { lines.withLock { $0 } })
}

extension WriterService {
    /// Calls `body` with a running writer of a database.
    static func with<Value>(
        _ path: String, _ limits: LimitSettings = LimitSettings(),
        refused: @escaping @Sendable (Int) -> Void = { _ in },
        mustReopen: @escaping @Sendable () -> Void = {}, _ body: (WriterService) throws -> Value
    ) throws -> Value {
        let writer = WriterService(
            opening: StoreOpening(path: path, limits: limits, retention: RetentionSettings()), log: .silent)
        let thread = try JoinableThread(name: "writer") {
            writer.run(
                WriterService.Callbacks(
                    stored: { _ in }, refused: { refused($0.count) }, changed: { _ in }, mustReopen: mustReopen,
                    removed: {})
            ) { _ in }
        }
        defer {
            writer.stop()
            thread.join()
        }
        return try body(writer)
    }
}

/// A store with a destination, whose record log is scanned in portions, some of them by a new forwarding loop.
final class ScanFixture {
    let path: String
    let writer: StoreWriter
    let reader: StoreReader
    let limits: LimitSettings
    let destination: DestinationRow
    private var random: SeededGenerator
    private var wall: Int64 = 1_790_000_000_000
    private var monotonic: Int64 = 1_000_000

    /// The decisions, in the order of the record log.
    struct Decisions: Equatable {
        var sent: [[Int64]] = []
        var withheld: [RowID] = []
        var held: [RowID: SuppressionReason] = [:]
        var gone: Int64 = 0
        var drafts: [SummaryDraft] = []
    }

    static func with(_ limits: LimitSettings, seed: UInt64, _ body: (ScanFixture) throws -> Void) throws {
        try withPath { try body(ScanFixture($0, limits, seed: seed)) }
    }

    /// Calls `body` with the path of a database in a temporary folder.
    static func withPath(_ body: (String) throws -> Void) throws {
        let folder = try ScratchFolder()
        try body(folder["issues.db"])
    }

    /// Calls `body` with a running writer of a database.
    static func withWriter(_ path: String, _ body: (WriterService) throws -> Void) throws {
        try WriterService.with(path, .withoutLimits, body)
    }

    /// Returns random lower-case letters, which hardly compress.
    static func noise(_ count: Int, seed: UInt64) -> String {
        var random = SeededGenerator(seed)
        return String((0..<count).map { _ in "abcdefghijklmnopqrstuvwxyz".randomElement(using: &random) ?? "a" })
    }

    init(_ path: String, _ limits: LimitSettings, seed: UInt64) throws {
        self.path = path
        self.limits = limits
        random = SeededGenerator(seed)
        var settings = StoreWriterSettings(path: path, limits: LimitSettings(), randomBits: { 0x0123_4567_89AB_CDEF })
        settings.rangeRecords = 1000
        writer = try StoreWriter(settings)
        let configured = [StoreWriter.ConfiguredDestination(name: "d", kind: "silent", takesBacklog: true)]
        destination = try writer.configure(configured, at: IssueTimestamp(millisecondsSince1970: wall))[0]
        reader = try StoreReader(path: path)
    }

    func below(_ bound: Int64) -> Int64 {
        Int64.random(in: 0..<bound, using: &random)
    }

    // MARK: Record log

    func pass(_ milliseconds: Int64, wallToo: Bool = true) {
        monotonic += milliseconds
        if wallToo { wall += milliseconds }
    }

    /// Sets the wall clock of the commits to that of the host.
    func useCurrentTime() { wall = Clock.wall.millisecondsSince1970 }

    func commit(_ records: [IssueRecord]) throws {
        _ = try writer.commit(
            [Submission(records)], wall: IssueTimestamp(millisecondsSince1970: wall),
            monotonic: MonotonicInstant(sinceBoot: .milliseconds(monotonic)))
    }

    func execute(_ sql: String) throws {
        let connection = try DatabaseConnection(path: path, mode: .readWriteCreate, busyTimeout: .seconds(5))
        // Adds the table `records`.
        _ = try BlockReader(on: connection)
        try connection.execute(composedSQL: sql)
    }

    // MARK: Scanning

    /// A forwarding loop that resumes from the stored state, as after a crash.
    func forwarder() throws -> ForwardingLoop<SilentShipper> {
        let writer = WriterService(
            opening: StoreOpening(path: path, limits: limits, retention: RetentionSettings()), log: .silent)
        let service = ForwardingService(
            destination: destination,
            settings: ForwardingService.Settings(forward: ForwardSettings(), limits: limits, host: "h"), path: path,
            writer: writer, statusRegistry: StatusRegistry(path: path), log: .silent)
        return try ForwardingLoop(service, SilentShipper(), fatesChanged: {})
    }

    /// Scans to the end of the record log in portions, some of them with a new forwarding loop.
    func scan(_ limit: BatchLimit) throws -> Decisions {
        var decisions = Decisions()
        var loop = try forwarder()
        while true {
            let batch = try loop.scan(limit).finished
            guard batch.span != nil || batch.lineCount > 0 else { return decisions }
            decisions.add(batch)
            let stored = try writer.store(batch)
            if batch.lineCount > 0 { try settle(stored) }
            if below(4) == 0 { loop = try forwarder() } else { loop.cursor = batch.span?.upperBound ?? loop.cursor }
        }
    }

    func settle(_ batch: StoredBatch) throws {
        let outcome = BatchOutcome(delivered: [], dead: [], isConfirmed: true)
        try writer.settle(
            BatchSettlement(
                batch: batch, outcome: outcome, attempts: 1, answer: "200", deadLines: [:],
                at: IssueTimestamp(millisecondsSince1970: wall), state: DestinationRow.State()),
            destination: destination.id)
    }

    /// The decisions that the limiter makes when it evaluates each record individually, and its state afterwards.
    func judged() throws -> (Decisions, AdmissionChanges) {
        var decisions = Decisions()
        var admission = Admission(settings: limits)
        let priority = try reader.destination(destination.id)?.priority ?? 0
        var position: RowID = 0
        while let last = try reader.walk(after: position, limit: 5000).last?.candidate.record {
            let ahead = try reader.sentAhead(of: destination.id, in: (position + 1)...last, priority: priority)
            for record in try reader.walk(after: position, limit: 5000) {
                var candidate = record.candidate
                if ahead.singles.contains(candidate.record) {
                    decisions.gone += 1
                    continue
                }
                candidate.wasPriority = ahead.refused.contains(candidate.record)
                decisions.drafts += admission.dueSummaries(at: record.at)
                if !admission.knows(account: candidate.account), let of = try reader.account(candidate.account) {
                    admission.adopt(
                        account: candidate.account, limits: limits.limits(uid: of.uid, application: of.app))
                }
                switch admission.evaluate(candidate, at: record.at) {
                case .admit(let before, let occurrences):
                    decisions.sent.append([candidate.record.rawValue, candidate.count, before, occurrences])
                case .suppress(let reason): decisions.held[candidate.record] = reason
                case .withhold: decisions.withheld.append(candidate.record)
                }
            }
            position = last
        }
        return (decisions, admission.takeChanges())
    }
}

extension ScanFixture.Decisions {
    fileprivate mutating func add(_ batch: NewBatch) {
        sent += batch.sent.map { [$0.row.rawValue, $0.count, $0.suppressedBefore, $0.occurrences] }
        withheld += batch.withheld
        for (reason, rows) in batch.held { for row in rows { held[row] = reason } }
        gone += batch.exempt
        drafts += batch.newSummaries.map(\.draft)
    }
}

extension Submission {
    /// A call of a user with these records.
    init(_ records: [IssueRecord], uid: UInt32 = 1000) throws {
        var decoder = RecordDecoder(limits: RecordLimits(), seed: 99)
        let process = ReportingProcess(
            connection: UInt64(uid), sender: Sender(uid: uid, gid: 1000, pid: 7, command: "shop"), startTime: 1)
        self.init(process: process, batch: RecordBatch(), calls: [])
        for record in records {
            let json = record.json
            var scanner = JSONScanner(json.span, maximumDepth: 32, maximumKeys: 256)
            _ = try decoder.decode(&scanner, into: &batch)
        }
        calls = [ReportCall(token: 1, records: 0..<records.count, rejected: [], numbering: nil)]
    }
}

extension StoreReader {
    /// Returns the same records as `page`, with the attributes of their series, except those whose series is lost.
    func walk(after cursor: RowID, limit: Int) throws -> [OutboxRecord] {
        try snapshot {
            let page = try page(after: cursor, limit: limit)
            return try page.steps.compactMap {
                try info(ofSeries: $0.series, at: $0.row)?.record($0, offset: page.offset)
            }
        }
    }
}
