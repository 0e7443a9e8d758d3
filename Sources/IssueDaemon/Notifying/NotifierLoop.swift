import Destinations
import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Performs the work of a `NotifierService` on its thread.
///
/// Each step is stored before the next: the examined events, then the message with its attempt, then the result. After
/// a kill between the last two, it is unknown whether the message was sent. It is then sent again, and marked as a
/// possible repetition.
final class NotifierLoop {
    private let service: NotifierService
    private let settings: NotifierSettings
    private let webhook: Webhook
    private var pacer: NotificationPacer
    /// The reader and the stored state; nil until the first step, and after an error of the store.
    private var opened: (reader: StoreReader, row: NotifierRow)?
    /// The time at which the first of the waiting events arrived; nil if none waits.
    private var waitingSince: RecordLogInstant?
    /// The time of the next attempt to send the message; nil for immediately.
    private var nextAttempt: MonotonicInstant?
    /// The id and the age of the message that was attempted last.
    private var lastMessage: (id: Int64, at: IssueTimestamp, age: MessageAge)?
    /// When the next message may be sent; nil if none waits or one is pending.
    private var nextMessage: MonotonicInstant?
    /// The scan of the record log; nil until the first one, and after an error of the store.
    private var escalations: EscalationScan?
    /// When the record log is scanned next; nil if no records have arrived since.
    private var nextScan: MonotonicInstant?
    /// When the last scan began.
    private var lastScan = Clock.monotonic
    /// When the store is tried again after an error.
    private var recovery: MonotonicInstant?
    private var unstored = UnstoredEvents()
    private var lastVerdict: DeliveryVerdict?
    private var isFailureLogged = false

    /// How long to wait before another try while the WAL must be reset.
    private static let busyTime: Duration = .milliseconds(200)
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
        if service.countsRecords { nextScan = Clock.monotonic }
    }

    /// Sends messages until the service is stopped or the store is closed. Events that are not stored then are put back
    /// into the inbox, for the next service of this notifier.
    func run() {
        serve()
        let events = unstored.events
        service.inbox.withLock { $0.putBack(events) }
    }

    private func serve() {
        while true {
            let inbox = wait()
            for event in inbox.events { unstored.add(event, at: Clock.monotonic) }
            if inbox.isStopping { try? storeEvents() }
            for completed in inbox.tests { completed(test()) }
            if inbox.isStopping { return }
            if inbox.hasRecords { nextScan = nextScan ?? lastScan.advanced(by: Self.scanInterval) }
            do {
                // What arrives after an error of the store must not end the wait for the next try.
                if recovery.map({ $0 <= Clock.monotonic }) ?? true {
                    try step()
                    recovery = nil
                }
            } catch is WriterClosed {
                // The daemon is stopping or switching to another file. The next start continues from the stored state.
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
                recovery = Clock.monotonic.advanced(by: service.recoveryTime)
            }
            // A fault of the store is reported even if the store can't take the event.
            sendUnstored()
        }
    }

    private func wait() -> NotifierInbox {
        // After an error of the store, nothing else can be done before it is tried again.
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

    private func open() throws -> (reader: StoreReader, row: NotifierRow) {
        if let opened { return opened }
        let reader = try StoreReader(
            path: service.path, cache: 256, control: service.writer.snapshots.control(.background))
        reader.users = service.users
        guard let row = try reader.notifier(service.id) else { throw WriterClosed() }
        opened = (reader, row)
        // These events were already waiting before the start, so their delay is over.
        waitingSince = row.waiting.isEmpty ? nil : Clock.sinceBoot.advanced(by: .zero - settings.delay)
        return (reader, row)
    }

    private func update(_ row: NotifierRow?) throws {
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
        var queue = NoticeQueue(row.waiting)
        let notices = unstored.events.map { event in
            let isOwn = queue.add(event.uid, event.kind)
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

    /// Returns the events to report, and the number of those that each silence covers.
    private func notices(
        of alerts: [StoredAlert], _ reader: StoreReader, _ row: NotifierRow
    ) throws -> (notices: [Notice], silenced: [Int64: Int64]) {
        let now = Clock.wall
        let silences = try reader.effectiveSilences(at: now)
        var queue = NoticeQueue(row.waiting)
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
                let isOwn = queue.add(alert.uid, alert.kinds)
                notices.append(
                    Notice(
                        kinds: alert.kinds, record: isOwn ? alert.record : nil, uid: alert.uid, at: found.receivedAt))
            }
        }
        return (notices, silenced)
    }

    /// Counts the occurrences in new records, and stores the escalations among them.
    private func countOccurrences() throws {
        do {
            try scanRecords()
        } catch {
            // The scan may have counted records whose escalations are not stored. The next one starts from the stored
            // counts.
            escalations = nil
            throw error
        }
    }

    /// Plans a scan without waiting for the next record, because an error may have interrupted one.
    private func scanAgain() {
        if service.countsRecords { nextScan = Clock.monotonic }
    }

    private func scanRecords() throws {
        guard let rate = settings.escalation, let nextScan, nextScan <= Clock.monotonic else { return }
        self.nextScan = nil
        service.inbox.withLock { ($0.isScanPlanned, $0.hasRecords) = (false, false) }
        lastScan = Clock.monotonic
        // Nothing is counted if another service of this notifier has ended the counting.
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
            // Neither a stop nor a message waits for the end of a backlog.
            if !found.isEmpty || isMessageDue || !service.inbox.withLock({ $0.hasOnlyRecords }) {
                self.nextScan = Clock.monotonic
                return
            }
        }
    }

    // MARK: Sending

    /// `true` if a message can be sent now, or if it is not known when one can be sent.
    private var isMessageDue: Bool {
        guard let row = opened?.row, row.message != nil || !row.waiting.isEmpty else { return false }
        guard let next = row.message == nil ? nextMessage : nextAttempt else { return true }
        return next <= Clock.monotonic
    }

    /// Begins a message or attempts to send it, if it is time. Returns `true` if there may be more to do.
    private func deliver() throws -> Bool {
        nextMessage = nil
        var (reader, row) = try open()
        let id = service.id
        if row.message == nil {
            guard let since = waitingSince, !row.waiting.isEmpty else { return false }
            let now = Clock.sinceBoot
            guard let next = pacer.whenNext(row.waiting, since: since, at: now) else { return false }
            guard next <= now else {
                nextMessage = Clock.monotonic.advanced(by: now.duration(to: next))
                return false
            }
            pacer.take(row.waiting, at: now)
            try update(try service.writer.perform { try $0.beginMessage(notifier: id, at: Clock.wall) })
            waitingSince = nil
            (reader, row) = try open()
            guard let message = row.message else { return false }
            try attempt(message, mayBeRepetition: false, reader)
            return true
        }
        guard var message = row.message else { return false }
        if let nextAttempt, Clock.monotonic < nextAttempt { return false }
        let mayBeRepetition = message.maybeSent
        let number = message.id
        try service.writer.perform { try $0.beginAttempt(message: number) }
        message.attempts += 1
        opened?.row.message = message
        try attempt(message, mayBeRepetition: mayBeRepetition, reader)
        return true
    }

    /// Sends a message whose attempt is stored, and stores the result.
    private func attempt(_ message: StoredMessage, mayBeRepetition: Bool, _ reader: StoreReader) throws {
        var content = NotificationMessage(
            id: "\(service.name)-\(message.id)-\(message.at.millisecondsSince1970)", notifier: service.name,
            host: service.host, at: message.at, attempt: Int(clamping: message.attempts),
            mayBeRepetition: mayBeRepetition)
        try fill(&content, with: message.notices, reader)
        nextAttempt = nil
        lastVerdict = nil
        publish(isSending: true)
        let age = messageAge(of: message)
        let result = send(content)
        let outcome = NotificationOutcome(
            result.verdict, attempts: Int(clamping: message.attempts),
            age: age.duration(at: Clock.monotonic), retryFor: settings.retryFor)
        let fate: MessageFate
        switch outcome {
        case .delivered: fate = .delivered
        case .givenUp: fate = .givenUp
        case .retry(let delay, let mayHaveArrived):
            fate = .retry(maybeSent: mayBeRepetition || mayHaveArrived)
            nextAttempt = Clock.monotonic.advanced(by: delay)
        }
        lastVerdict = result.verdict
        note(outcome, result, content)
        let (id, number, answer) = (service.id, message.id, result.summary.text)
        let isRepeated = mayBeRepetition || result.mayHaveArrivedTwice
        try update(
            try service.writer.perform { writer in
                try writer.settle(
                    message: number, notifier: id, as: fate, isRepeated: isRepeated, answer: answer, at: Clock.wall)
            })
    }

    /// Returns the age of a message. All attempts of this run measure it from the same time.
    private func messageAge(of message: StoredMessage) -> MessageAge {
        if let lastMessage, lastMessage.id == message.id, lastMessage.at == message.at { return lastMessage.age }
        let age = MessageAge(since: message.at, wall: Clock.wall, monotonic: Clock.monotonic)
        lastMessage = (message.id, message.at, age)
        return age
    }

    /// Adds the events to a message. Records that no longer exist are only counted.
    private func fill(_ content: inout NotificationMessage, with notices: [Notice], _ reader: StoreReader) throws {
        let digest = NotificationDigest(notices)
        (content.counts, content.others) = (digest.counts, digest.others)
        try reader.snapshot {
            for notice in digest.listed {
                if let text = notice.text {
                    content.ownEvents.append(.init(kinds: notice.kinds, text: text, at: notice.at))
                } else if let row = notice.record, let found = try reader.record(row: row) {
                    var item = NotificationMessage.Item(found, kinds: notice.kinds)
                    if notice.kinds.contains(.escalated), let rate = settings.escalation {
                        item.escalation = "\(rate.count) in \(DurationText.text(rate.period))"
                    }
                    content.items.append(item)
                }
            }
        }
    }

    private func send(_ message: NotificationMessage) -> DeliveryResult {
        if let command = settings.command {
            return CommandNotifier(command: command, timeout: settings.requestTimeout)
                .send(webhook.content(of: message), cancellation: service.cancellation)
        }
        let configuration = service.configuration
        var url = settings.url
        if let file = configuration.urlFile { url = (try? file.read()).flatMap { WebhookURL($0.text) } }
        guard let url else {
            return DeliveryResult(.paused(.noCredential), ResponseSummary("the file of the URL can't be used"))
        }
        var token: ShippingToken?
        if let file = configuration.tokenFile {
            guard let found = try? file.read() else { return Credential.missing }
            token = found
        }
        return webhook.send(message, to: url, token: token, cancellation: service.cancellation) { Clock.wall }
    }

    private func test() -> TestNotifierReply {
        var message = NotificationMessage(
            id: "\(service.name)-test-\(Clock.wall.millisecondsSince1970)", notifier: service.name,
            host: service.host, at: Clock.wall, attempt: 1, mayBeRepetition: false)
        message.isTest = true
        let result = send(message)
        return TestNotifierReply(delivered: result.verdict == .accepted, answer: result.summary.text)
    }

    /// Sends events that the store can't take. Their fate is not stored.
    private func sendUnstored() {
        guard let nextAttempt = unstored.nextAttempt, nextAttempt <= Clock.monotonic, !unstored.events.isEmpty else {
            return
        }
        let notices = unstored.events.enumerated().map {
            Notice(id: Int64($0), kinds: $1.kind, uid: $1.uid, text: $1.text, at: $1.at)
        }
        let digest = NotificationDigest(notices)
        var message = NotificationMessage(
            id: "\(service.name)-unstored-\(unstored.id)", notifier: service.name, host: service.host,
            at: notices[0].at,
            attempt: unstored.attempts + 1, mayBeRepetition: false)
        (message.counts, message.others) = (digest.counts, digest.others)
        message.ownEvents = digest.listed.map { .init(kinds: $0.kinds, text: $0.text ?? "", at: $0.at) }
        let result = send(message)
        let isFirst = unstored.attempts == 0
        switch result.verdict {
        // A message that may have arrived is not repeated, because its attempts are not stored.
        case .accepted, .unconfirmed, .ambiguous: unstored.removeAll()
        case .partial, .paused, .tooLarge, .again:
            unstored.failed(nextAttempt: Clock.monotonic.advanced(by: service.recoveryTime))
        }
        // Only the first attempt and the end are logged: there are many attempts while both the store and the receiver
        // fail.
        guard isFirst || unstored.events.isEmpty else { return }
        service.log.notice(.notifierUnstored, ["notifier": service.name, "answer": result.summary.text])
    }

    // MARK: Status

    /// Logs the first failure of a message, a message that is given up, and the end of an outage.
    private func note(_ outcome: NotificationOutcome, _ result: DeliveryResult, _ message: NotificationMessage) {
        let fields: KeyValuePairs = [
            "notifier": service.name, "message": message.id, "events": "\(message.total)",
            "answer": result.summary.text,
        ]
        switch outcome {
        case .delivered:
            if isFailureLogged { service.log.notice(.notifierAvailable, ["notifier": service.name]) }
            isFailureLogged = false
        case .retry:
            if !isFailureLogged { service.log.warning(.notifierUnavailable, fields) }
            isFailureLogged = true
        case .givenUp:
            service.log.warning(.notifierGaveUp, fields)
            isFailureLogged = true
        }
    }

    /// `true` while events are gathered for `Delay=`.
    private var isGathering: Bool { waitingSince.map { Clock.sinceBoot < $0.advanced(by: settings.delay) } ?? false }

    private func publish(isSending: Bool = false) {
        guard let row = opened?.row else { return }
        var status = NotifierStatus(name: service.name, format: settings.shownFormat)
        status.received = Int(clamping: row.received)
        status.pending = Int(clamping: row.pending)
        status.delivered = Int(clamping: row.delivered)
        status.givenUp = Int(clamping: row.givenUp)
        status.silenced = Int(clamping: row.silenced)
        status.messages = Int(clamping: row.messages)
        status.repeated = Int(clamping: row.repeated)
        status.oldestPending = ((row.message?.notices ?? []) + row.waiting).map(\.at).min()
        status.lastAnswer = row.lastAnswer
        status.lastSuccess = row.lastSuccess
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
        service.board.update(status)
    }
}

/// Events of the daemon itself that are not stored yet.
private struct UnstoredEvents {
    private static let maxAttempts = 30

    private(set) var events: [DaemonEvent] = []
    private(set) var attempts = 0
    private(set) var id = ""
    /// The time of the next attempt to send them without having stored them; nil if there are none.
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

extension NotificationMessage.Item {
    init(_ row: RecordRow, kinds: NotificationKinds) {
        let record = row.stored.record
        self.init(
            kinds: kinds, record: row.stored.id, group: row.stored.group, title: record.message, app: row.accountName,
            version: record.app?.version, environment: record.app?.environment, severity: record.severity ?? .error,
            unit: row.stored.sender.unit, uid: row.stored.sender.uid, at: row.receivedAt)
    }
}
