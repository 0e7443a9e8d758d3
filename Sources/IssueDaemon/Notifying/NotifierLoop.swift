import Destinations
import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Performs the work of a `NotifierService` on its thread.
///
/// Each step is stored before the next: the examined events, then the message with its attempt, then the result. If the
/// daemon is killed after storing an attempt but before storing its result, the message may have been sent. It is then
/// sent again, and marked as a possible repetition.
final class NotifierLoop {
    let service: NotifierService
    let settings: NotifierSettings
    let webhook: Webhook
    var pacer: NotificationPacer
    /// The reader and the stored state; nil while they are not open.
    var opened: (reader: StoreReader, row: NotifierRow)?
    /// The start of the delay before the waiting events are sent; nil if none waits.
    var waitingSince: RecordLogInstant?
    /// The time of the next attempt to send the pending message; nil if it may be sent immediately.
    var nextAttempt: MonotonicInstant?
    /// The id, the time and the age of the message that was attempted last.
    var lastMessage: (id: Int64, at: IssueTimestamp, age: MessageAge)?
    /// When the next message may be sent; nil if this is unknown, if no events wait or if a message is pending already.
    var nextMessage: MonotonicInstant?
    /// The scan of the record log; nil if the next scan must begin with reading the stored counts.
    private var escalations: EscalationScan?
    /// When the record log is scanned next; nil if no scan is planned.
    private var nextScan: MonotonicInstant?
    /// When the last scan began.
    private var lastScan = Clock.monotonic
    /// When the store is tried again after an error; nil without an error.
    private var recovery: MonotonicInstant?
    var unstored = UnstoredEvents()
    var lastVerdict: DeliveryVerdict?
    var isFailureLogged = false

    /// How long to wait before the store is read again if the WAL was too large.
    private static let busyTime: Duration = .milliseconds(200)
    /// The maximum number of changes of groups that are examined and stored at a time.
    private static let maxAlerts = 256
    /// The minimum time between two scans of the record log.
    private static let scanInterval: Duration = .milliseconds(500)

    init(_ service: NotifierService) {
        self.service = service
        settings = service.configuration.settings
        webhook = Webhook(
            format: settings.format, template: settings.template, caFile: settings.caFile, proxy: settings.proxy,
            timeout: settings.requestTimeout, version: ProductVersion.text)
        pacer = NotificationPacer(settings.limit, delay: settings.delay, at: Clock.sinceBoot)
        if service.countsRecords, service.hasStore { nextScan = Clock.monotonic }
    }

    /// Sends messages until the service is stopped or the store is closed. Events that could not be stored are then put
    /// back into the inbox, for the next service of this notifier.
    func run() {
        serve()
        let events = unstored.events
        service.inbox.withLock { $0.putBack(events) }
    }

    private func serve() {
        while true {
            let inbox = wait()
            for event in inbox.events { unstored.add(event, at: Clock.monotonic) }
            if inbox.isStopping, service.hasStore { try? storeEvents() }
            for completed in inbox.tests { completed(test()) }
            if inbox.isStopping { return }
            if inbox.hasRecords { nextScan = nextScan ?? lastScan.advanced(by: Self.scanInterval) }
            do {
                // After an error of the store, new events must not end the wait for the next try.
                if service.hasStore, recovery.map({ $0 <= Clock.monotonic }) ?? true {
                    try step()
                    recovery = nil
                }
            } catch is WriterClosed {
                // The daemon is stopping or opens the store again, or the notifier no longer exists. If there is a next
                // service, it continues from the stored state.
                return
            } catch StoreFailure.walTooLarge {
                scanAgain()
                recovery = Clock.monotonic.advanced(by: Self.busyTime)
            } catch {
                if recovery == nil {
                    service.log.error(.notifierFailed, ["notifier": service.name, "error": "\(error)"])
                }
                _ = service.writer.mustReopen(after: error)
                opened = nil
                escalations = nil
                scanAgain()
                let next = Clock.monotonic.advanced(by: service.recoveryTime)
                recovery = next
                service.statusRegistry.storeFailed(notifier: service.name, nextAttempt: next)
            }
            // A fault of the store is reported even if the store can't take the event.
            sendUnstored()
        }
    }

    private func wait() -> NotifierInbox {
        // After an error of the store, only unstored events can be sent before the store is tried again.
        let next = recovery ?? [nextMessage, nextAttempt, nextScan].compactMap { $0 }.min()
        let deadline = [next, unstored.nextAttempt].compactMap { $0 }.min()
        _ = service.inbox.wait(deadline: deadline.map { Clock.kernel($0) }) { $0.isEmpty ? nil : true }
        return service.inbox.withLock { $0.take() }
    }

    private func step() throws {
        try storeEvents()
        try examine()
        try countOccurrences()
        while try deliver() {}
        publish()
    }

    // MARK: Store

    /// Returns the reader and the stored state. Opens the reader and reads the state if necessary.
    ///
    /// - Throws: `WriterClosed` if the notifier no longer exists, or the error of the store.
    func open() throws -> (reader: StoreReader, row: NotifierRow) {
        if let opened { return opened }
        let reader = try StoreReader(
            path: service.path, cache: 256, control: service.writer.snapshots.control(.background))
        reader.users = service.users
        guard let row = try reader.notifier(service.id) else { throw WriterClosed() }
        opened = (reader, row)
        // Stored events have waited before, so their delay is taken to be over.
        waitingSince = row.waiting.isEmpty ? nil : Clock.sinceBoot.advanced(by: .zero - settings.delay)
        return (reader, row)
    }

    /// Sets `opened` to the stored state after a change by the writer.
    ///
    /// - Throws: `WriterClosed` if the notifier no longer exists.
    func update(_ row: NotifierRow?) throws {
        guard let row, opened != nil else { throw WriterClosed() }
        opened?.row = row
        if row.waiting.isEmpty {
            waitingSince = nil
        } else {
            waitingSince = waitingSince ?? Clock.sinceBoot
        }
    }

    /// Stores the events of the daemon itself.
    private func storeEvents() throws {
        guard !unstored.events.isEmpty else { return }
        let (_, row) = try open()
        var limiter = NoticeLimiter(row.waiting)
        let notices = unstored.events.map { event in
            let isOwn = limiter.add(event.uid, event.kind)
            return Notice(kinds: event.kind, uid: event.uid, text: isOwn ? event.text : nil, at: event.at)
        }
        let id = service.id
        let changed = try service.writer.perform { try $0.add(notices, cursor: nil, notifier: id) }
        unstored.removeAll()
        try update(changed)
    }

    /// Examines new changes of groups, and stores those that are to be reported.
    private func examine() throws {
        while true {
            let (reader, row) = try open()
            let alerts = try reader.alerts(after: row.cursor, limit: Self.maxAlerts)
            guard let last = alerts.last else { return }
            let (added, covered) = try notices(of: alerts, reader, row)
            let id = service.id
            try update(
                try service.writer.perform { writer in
                    try writer.add(added, silenced: covered, cursor: last.record, notifier: id)
                })
        }
    }

    /// Returns the events to report, and the number of events that each silence holds back. If several silences cover
    /// an event, it counts only for the first one.
    private func notices(
        of alerts: [StoredAlert], _ reader: StoreReader, _ row: NotifierRow
    ) throws -> (notices: [Notice], silenced: [Int64: Int64]) {
        let now = Clock.wall
        let silences = try reader.effectiveSilences(at: now)
        var limiter = NoticeLimiter(row.waiting)
        var notices: [Notice] = []
        var silenced: [Int64: Int64] = [:]
        try reader.snapshot {
            for alert in alerts {
                // Retention or a purge may have removed the record.
                guard let found = try reader.record(row: alert.record) else { continue }
                let subject = NotificationSubject(found, kinds: alert.kinds)
                guard settings.filter.admits(subject) else { continue }
                if let silence = silences.first(where: { $0.silence.covers(subject, at: now) }) {
                    silenced[silence.number, default: 0] += 1
                    continue
                }
                let isOwn = limiter.add(alert.uid, alert.kinds)
                notices.append(
                    Notice(
                        kinds: alert.kinds, record: isOwn ? alert.record : nil, uid: alert.uid, at: found.receivedAt))
            }
        }
        return (notices, silenced)
    }

    /// Counts the occurrences in new records, and stores the resulting escalations.
    private func countOccurrences() throws {
        do {
            try scanRecords()
        } catch {
            // The scan may have counted records whose escalations are not stored. The next scan starts from the stored
            // counts.
            escalations = nil
            throw error
        }
    }

    /// Plans a scan without waiting for the next record, because an error may have interrupted the last scan.
    private func scanAgain() {
        if service.countsRecords { nextScan = Clock.monotonic }
    }

    private func scanRecords() throws {
        guard let rate = settings.escalation, let nextScan, nextScan <= Clock.monotonic else { return }
        self.nextScan = nil
        service.inbox.withLock { ($0.isScanPlanned, $0.hasRecords) = (false, false) }
        lastScan = Clock.monotonic
        // There is no scan if, according to the store, the notifier no longer exists or no longer counts.
        guard let scan = try escalations ?? EscalationScan(of: service.id, rate, try open().reader) else { return }
        escalations = scan
        scan.begin()
        while let found = try service.writer.readingRecordLog({ try scan.next(try open().reader) }) {
            if !found.isEmpty || scan.isDue {
                let (reader, row) = try open()
                let (added, covered) = try notices(of: found, reader, row)
                let (id, progress) = (service.id, scan.takeProgress())
                try update(
                    try service.writer.perform { writer in
                        try writer.store(progress, notices: added, silenced: covered, notifier: id)
                    })
            }
            // Neither a stop nor a message waits for the end of a long scan.
            if !found.isEmpty || isMessageDue || !service.inbox.withLock({ $0.hasOnlyRecords }) {
                self.nextScan = Clock.monotonic
                return
            }
        }
    }

    // MARK: Status

    /// Whether events are being gathered for `Delay=`.
    private var isGathering: Bool { waitingSince.map { Clock.sinceBoot < $0.advanced(by: settings.delay) } ?? false }

    /// Publishes the status of the notifier. Does nothing while the stored state is unknown.
    func publish(isSending: Bool = false) {
        guard let row = opened?.row else { return }
        var status = NotifierStatus(row, format: settings.shownFormat)
        if isSending {
            status.state = .sending
        } else if row.message != nil, let next = nextAttempt {
            status.nextAttempt = Clock.wall.advanced(by: Clock.monotonic.duration(to: next))
            switch lastVerdict {
            case .paused(let reason):
                status.state = .paused
                status.reason = reason.rawValue
            case .again(let failure, _), .ambiguous(let failure):
                status.state = .waiting
                status.reason = settings.command == nil ? failure.rawValue : "command_failed"
            case .accepted, .unconfirmed, .partial, .tooLarge, nil: status.state = .waiting
            }
        } else if let next = nextMessage {
            status.state = .waiting
            status.reason = isGathering ? "gathering" : "rate"
            status.nextAttempt = Clock.wall.advanced(by: Clock.monotonic.duration(to: next))
        }
        service.statusRegistry.update(status)
    }
}

/// Events of the daemon itself that are not stored yet.
struct UnstoredEvents {
    /// The number of attempts to send the events, after which the events are dropped.
    private static let maxAttempts = 30

    private(set) var events: [DaemonEvent] = []
    private(set) var attempts = 0
    private(set) var id = ""
    /// The time of the next attempt to send the events although they are not stored; nil if there are no events.
    private(set) var nextAttempt: MonotonicInstant?

    mutating func add(_ event: DaemonEvent, at now: MonotonicInstant) {
        if events.isEmpty { (id, attempts, nextAttempt) = ("\(event.at.millisecondsSince1970)", 0, now) }
        events.append(event)
    }

    mutating func failed(nextAttempt: MonotonicInstant) {
        attempts += 1
        self.nextAttempt = nextAttempt
        if attempts >= Self.maxAttempts { removeAll() }
    }

    mutating func removeAll() {
        events = []
        nextAttempt = nil
    }
}

extension NotifierSettings {
    /// The format as `status` shows it.
    var shownFormat: String { command != nil ? "command" : template == nil ? format.rawValue : "template" }
}

extension NotificationSubject {
    init(_ row: RecordRow, kinds: NotificationKinds) {
        let record = row.stored.record
        self.init(
            kinds: kinds, app: row.accountName, environment: record.app?.environment,
            severity: record.severity ?? .error, unit: row.stored.sender.unit, group: row.stored.group)
    }
}

/// Counts the occurrences of all groups for one notifier, by reading the record log. Counts neither imported nor muted
/// records.
///
/// The counts are stored together with the position up to which records were counted: when a group is reported, and
/// otherwise every ten seconds while records arrive. After a crash, the records after that position are counted again.
final class EscalationScan {
    private let rate: Rate
    private var counter: EscalationCounter
    private var position: RowID
    private var lastTime = RecordLogInstant(milliseconds: 0)
    /// When counts were last stored. Nil before the first time, so that they are stored at once and a scan advances
    /// even if errors keep interrupting it.
    private var lastStored: MonotonicInstant?
    /// Attributes of series, valid for the current `move`.
    private var series: [SeriesID: SeriesInfo?] = [:]
    /// The last row before the next move of series to other groups; `RowID.max` if there is none. The attributes are
    /// valid up to this row. Nil before the first page of a scan.
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

    /// Forgets attributes of series, which may have changed since the last scan.
    func begin() {
        series = [:]
        move = nil
    }

    /// Counts the next records.
    ///
    /// - Returns: The groups to report, each with the record that reached the configured number, in the order of these
    ///   records; nil if there are no further records to count.
    func next(_ reader: StoreReader) throws -> [StoredAlert]? {
        try reader.snapshot {
            let page = try reader.page(after: position, limit: Self.pageRows, marksImports: true)
            guard let last = page.steps.last else { return nil }
            if page.move != move || series.count > Self.maxSeries { series = [:] }
            move = page.move
            var alerts: [StoredAlert] = []
            // An imported record has the time of the import, but occurred before.
            for step in page.steps where !step.isImported {
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

    /// Whether the counts were not stored in the last ten seconds.
    var isDue: Bool { lastStored.map { $0.duration(to: Clock.monotonic) >= Self.storeInterval } ?? true }

    /// Returns the counts to store. If storing them fails, this scan must not be used again.
    func takeProgress() -> EscalationProgress {
        lastStored = Clock.monotonic
        return EscalationProgress(
            through: position, slotLength: EscalationCounter.slotLength(of: rate),
            changes: counter.takeChanges(at: lastTime))
    }
}

extension NotifierStatus {
    /// Creates the status of an idle notifier.
    ///
    /// - Parameters:
    ///   - row: The stored state.
    ///   - format: The format of its messages; empty if it is unknown.
    init(_ row: NotifierRow, format: String) {
        self.init(
            name: row.name, format: format, received: Int(clamping: row.received), pending: Int(clamping: row.pending),
            delivered: Int(clamping: row.delivered), givenUp: Int(clamping: row.givenUp),
            silenced: Int(clamping: row.silenced), messages: Int(clamping: row.messages),
            repeated: Int(clamping: row.repeated),
            oldestPending: ((row.message?.notices ?? []) + row.waiting).map(\.at).min(), lastAnswer: row.lastAnswer,
            lastSuccess: row.lastSuccess, lastGivenUp: row.lastGivenUp)
    }
}
