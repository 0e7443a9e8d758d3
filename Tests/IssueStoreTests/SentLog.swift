import IssueCore
import IssueProtocol
import IssueStore

/// The records that a test has sent and their receipts: the plain list that all results of the store are compared with.
struct SentLog {
    struct Entry {
        var row: RowID
        var id: String
        var process: ReportingProcess
        var record: IssueRecord
        var receivedAt: IssueTimestamp

        var app: String { record.app?.name ?? process.sender.command ?? "" }
    }

    private(set) var entries: [Entry] = []

    /// Commits records of a process as one call.
    mutating func send(
        _ records: [IssueRecord], from process: ReportingProcess = .ordinary, to writer: StoreWriter,
        of store: TemporaryStore
    ) throws {
        let ids = try store.store(records, from: process, to: writer)
        for (id, record) in zip(ids, records) {
            entries.append(
                Entry(row: id.row, id: id.text, process: process, record: record, receivedAt: store.wall))
        }
    }

    /// Fills a store with calls of two users. With small ranges (`rangeRecords`), some are then closed and one is open.
    static func filled(
        _ store: TemporaryStore, _ writer: StoreWriter, calls: Int = 60, seed: UInt64 = 1
    ) throws -> SentLog {
        var log = SentLog()
        var samples = SampleRecords(seed: seed)
        for call in 0..<calls {
            store.pass(.seconds(samples.below(50)))
            let process = ReportingProcess.of(uid: call % 4 == 3 ? 1001 : 1000)
            try log.send(samples.records(1 + Int(samples.below(9))), from: process, to: writer, of: store)
        }
        return log
    }

    /// Returns the entries that a viewer may see and that match a filter. Considers only fields of the filter that
    /// depend on the series or the time of a record.
    func matching(_ filter: IssueFilter, _ viewer: Viewer) -> [Entry] {
        entries.filter { entry in
            let record = entry.record
            func holds<Value: Equatable>(_ list: [Value]?, _ value: Value?) -> Bool {
                list.map { list in value.map { list.contains($0) } ?? false } ?? true
            }
            let file = record.source?.fileID
            switch viewer {
            case .everything: break
            case .user(let uid): if entry.process.sender.uid != uid { return false }
            case .nothing: return false
            }
            return holds(filter.apps, entry.app) && holds(filter.versions, record.app?.version)
                && holds(filter.environments, record.app?.environment)
                && (record.severity ?? .error) >= (filter.level ?? .debug)
                && holds(filter.domains, record.domain) && holds(filter.codes, record.code.map { Int($0) })
                && (filter.files.map { $0.contains { file == $0 || file?.hasSuffix("/" + $0) == true } } ?? true)
                && holds(filter.users, entry.process.sender.uid) && holds(filter.units, entry.process.sender.unit)
                && (filter.since.map { entry.receivedAt >= $0 } ?? true)
                && (filter.until.map { entry.receivedAt <= $0 } ?? true)
        }
    }
}

extension IssueRecord {
    /// Returns the record as the store returns it: with defaults for missing values.
    func withDefaults(receivedAt: IssueTimestamp) -> IssueRecord {
        var record = self
        record.severity = severity ?? .error
        record.count = count ?? 1
        record.occurredAt = occurredAt ?? receivedAt
        record.reportable = reportable ?? true
        return record
    }
}
