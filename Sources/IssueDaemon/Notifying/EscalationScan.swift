import IssueCore
import IssueProtocol
import IssueStore

/// Counts the occurrences of all groups for one notifier, by reading the record log.
///
/// The counts are stored with the position up to which records were counted: when a group is to be reported, and
/// otherwise now and then. After a crash, the records since then are counted again.
final class EscalationScan {
    private let rate: Rate
    private var counter: EscalationCounter
    private var position: RowID
    private var lastTime = RecordLogInstant(milliseconds: 0)
    /// When counts were last stored; nil before the first time, so that a scan which errors interrupt again and again
    /// still advances.
    private var lastStored: MonotonicInstant?
    /// Attributes of series, valid until `move`.
    private var series: [SeriesID: SeriesInfo?] = [:]
    private var move: RowID?

    private static let pageRows = 2048
    private static let storeInterval: Duration = .seconds(10)
    private static let maxSeries = 10_000

    /// Reads the stored counts. Returns nil if the notifier does not exist or does not count.
    init?(of notifier: Int64, _ rate: Rate, _ reader: StoreReader) throws {
        guard let stored = try reader.escalations(of: notifier, rate) else { return nil }
        self.rate = rate
        counter = EscalationCounter(rate, entries: stored.entries)
        position = stored.counted
    }

    /// Forgets what may have changed since the last scan.
    func begin() {
        series = [:]
        move = nil
    }

    /// Counts the next records.
    ///
    /// - Returns: The groups to report, each with the record that was the last one needed, in the order of the
    ///   records; nil if there are no further records.
    func next(_ reader: StoreReader) throws -> [StoredAlert]? {
        try reader.snapshot {
            let page = try reader.stretch(after: position, limit: Self.pageRows)
            guard let last = page.steps.last else { return nil }
            if page.move != move || series.count > Self.maxSeries { series = [:] }
            move = page.move
            var alerts: [StoredAlert] = []
            for step in page.steps {
                guard let info = try info(of: step, reader), !info.mutes.contains(step.row) else { continue }
                lastTime = RecordLogInstant(milliseconds: step.receivedAt.millisecondsSince1970 &+ page.offset)
                if counter.count(step.count, of: info.group, uid: info.user, at: lastTime) {
                    alerts.append(StoredAlert(record: step.row, uid: info.user, kinds: .escalated))
                }
            }
            position = last.row
            return alerts
        }
    }

    private func info(of step: ScanRow, _ reader: StoreReader) throws -> SeriesInfo? {
        if let known = series[step.series] { return known }
        let found = try reader.info(ofSeries: step.series, at: step.row)
        series[step.series] = .some(found)
        return found
    }

    /// `true` if the counts were not stored for a while.
    var isDue: Bool { lastStored.map { $0.duration(to: Clock.monotonic) >= Self.storeInterval } ?? true }

    /// Returns the counts to store. They must be stored, or the scan must be made anew.
    func takeProgress() -> EscalationProgress {
        lastStored = Clock.monotonic
        return EscalationProgress(
            through: position, slotLength: EscalationCounter.slotLength(of: rate),
            changes: counter.takeChanges(at: lastTime))
    }
}
