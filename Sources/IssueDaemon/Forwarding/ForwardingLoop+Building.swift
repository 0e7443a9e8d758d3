import IssueCore
import IssueProtocol
import IssueStore

extension ForwardingLoop where Destination: ~Copyable {
    private static var maxSummaries: Int { 100 }

    /// Moves the cursor past records that retention has removed.
    private func advancePastRetention() throws {
        cursor = max(cursor, try reader.destination(service.destination.id)?.cursor ?? cursor)
    }

    /// Returns the counts of what waits to be sent: records after the cursor, requeued records, summaries and
    /// corrections.
    func pending() throws -> PendingCounts {
        try advancePastRetention()
        let backlog = try reader.backlog(of: service.destination.id, after: cursor, priority: priority)
        let now = Clock.monotonic
        let wall = Clock.wall
        func instant(_ time: IssueTimestamp?) -> MonotonicInstant? {
            time.map { now.advanced(by: min(.zero, wall.duration(to: $0))) }
        }
        let summaries = backlog.unsentSummaries - Int64(summariesInBatches.count) + backlog.corrections
        let records = Int(backlog.records + backlog.requeued + summaries)
        var oldest = instant(backlog.oldest) ?? (summaries > 0 ? now : nil)
        // Records that an operator has requeued are sent at once. Records in damaged blocks expire at once if no others
        // are left.
        if backlog.requeued > 0 || backlog.records > 0 && backlog.oldest == nil {
            oldest = now.advanced(by: .zero - service.settings.forward.batchDelay)
        }
        return PendingCounts(
            records: records, bytes: 512 * records, oldest: oldest, priorityRecords: Int(backlog.priorityRecords),
            oldestPriority: instant(backlog.oldestPriority))
    }

    /// Builds a batch, and stores it before it is sent. The batch consists of the first of these that has any lines:
    /// priority records, if there are more records after the cursor than fit into a batch; requeued records; the result
    /// of scanning the record log.
    func build(_ limit: BatchLimit) throws -> Forwarding.NextAction {
        admission.dailyBytes = budget.today(at: Clock.wall)
        try advancePastRetention()
        return try buildAhead(limit) ?? store(try scan(limit))
    }

    /// Builds a batch from the lines of summaries and corrections, followed by records after the cursor.
    func scan(_ limit: BatchLimit) throws -> OutboxScan {
        var scan = OutboxScan(NewBatch(destination: service.destination.id, at: Clock.wall), limit, shipper.prepare())
        for id in try unsentSummaries(limit: min(limit.records, Self.maxSummaries)) {
            guard let line = try reader.line(ofSummary: id) else { continue }
            scan.batch.summaries.append(id)
            scan.add(line, of: nil)
        }
        let first = cursor + 1
        let position = try service.writer.readingRecordLog { try reader.snapshot { try scanRows(&scan) } }
        if position >= first { scan.batch.span = first...position }
        scan.batch.changes = admission.takeChanges()
        scan.batch.fieldTypes = types.takeAdded()
        return scan
    }

    func store(_ scan: OutboxScan) throws -> Forwarding.NextAction {
        let now = Clock.monotonic
        let new = scan.finished
        if new.span == nil, new.lineCount == 0, new.changes.isEmpty {
            return machine.nothingToSend(try pending(), hasAdvanced: false, at: now)
        }
        let stored: StoredBatch
        do {
            stored = try service.writer.perform { try $0.store(new) }
        } catch StoreFailure.outdated {
            // Meanwhile, records of the batch were removed or scanned, or have become unreadable. The decisions on the
            // batch were not stored.
            admission = try Self.admission(service, reader)
            types = try reader.fieldTypes(of: service.destination.id)
            defer { wasOutdated = true }
            // The reason may remain, so only the first retry is immediate.
            if wasOutdated { return machine.nothingToSend(try pending(), hasAdvanced: false, at: now) }
            return new.kind == .priority ? .preempt(scan.limit) : .build(scan.limit)
        }
        wasOutdated = false
        // Called last, because it may look up names in the store.
        defer { service.settings.limitMonitor?.heldBack(scan.reachedLimits, by: service.destination.name, reader) }
        cursor = new.span?.upperBound ?? cursor
        priority = max(priority, new.priorityThrough ?? priority)
        if new.span != nil { fatesChanged() }
        guard new.lineCount > 0 else {
            return machine.nothingToSend(try pending(), hasAdvanced: new.span != nil, at: now)
        }
        if current != nil { preempt() }
        let built = BatchInFlight(batch: stored, lines: scan.lines)
        current = built
        return machine.batchStored(built.fresh, at: now)
    }

    /// Returns the line for a record; nil if the record was removed or can't be read.
    func line(of sent: SentRecord) throws -> [UInt8]? {
        guard let record = try reader.outbound(sent, host: service.settings.host) else { return nil }
        return shipper.line(of: record, types: &types)
    }

    /// Builds the lines of a stored batch again, and passes each with its user to `take`. Passes nil for a line whose
    /// record or summary was removed or can't be read.
    func makeLines(of batch: StoredBatch, _ take: ([UInt8]?, _ user: UInt32?) -> Void) throws {
        for id in batch.summaries { take(try reader.line(ofSummary: id), nil) }
        var users: [AccountID: UInt32] = [:]
        for sent in batch.sent {
            let user = try users[sent.account] ?? reader.account(sent.account).map { reader.users.owner(of: $0.uid) }
            users[sent.account] = user
            take(try line(of: sent), user)
        }
    }

    /// Returns the ids of the lines of summaries and corrections that wait to be sent. If there are fewer than `limit`,
    /// first makes the lines of further corrections.
    private func unsentSummaries(limit: Int) throws -> [Int64] {
        let (id, inBatches) = (service.destination.id, summariesInBatches)
        func unsent() throws -> [Int64] {
            let unsent = try reader.unsentSummaries(of: id, limit: limit + inBatches.count)
            return Array(unsent.filter { !inBatches.contains($0) }.prefix(limit))
        }
        let waiting = try unsent()
        guard waiting.count < limit, try makeCorrectionLines(limit: limit - waiting.count) else { return waiting }
        return try unsent()
    }

    /// The ids of the lines of summaries and corrections that are in an unfinished batch.
    private var summariesInBatches: Set<Int64> {
        Set((current?.batch.summaries ?? []) + (preempted?.batch.summaries ?? []))
    }

    // MARK: Summaries

    /// Returns when summaries are next due; nil if no window of suppressed records is open. Also nil while the scan has
    /// not reached the end of the record log, because the scan closes windows until then.
    func summariesDue() throws -> MonotonicInstant? {
        guard let due = admission.nextSummaryDue, cursor >= (try reader.newest()) else { return nil }
        let wait = due.milliseconds - (Clock.wall.millisecondsSince1970 + (try reader.recordLogOffset()))
        return Clock.monotonic.advanced(by: .milliseconds(max(wait, 0)))
    }

    /// Closes due windows and stores their summaries, if the scan has reached the end of the record log. Windows for
    /// which the rate limit of summaries has no room stay open.
    func closeWindows() throws {
        guard let due = admission.nextSummaryDue else { return }
        let now = try logTime
        guard due <= now else { return }
        try advancePastRetention()
        guard cursor >= (try reader.newest()) else { return }
        let drafts = admission.dueSummaries(at: now)
        try storeSummaries(try summaries(of: drafts), admission.takeChanges())
        try perform(machine.recordsArrived(try pending(), at: Clock.monotonic))
    }

    /// Closes all windows, so that all suppressed records are summarised. If the service is stopping, the summaries are
    /// sent after the next start.
    func closeAllWindows() throws {
        let drafts = admission.closeAll(at: try logTime)
        let changes = admission.takeChanges()
        if !drafts.isEmpty || !changes.isEmpty { try storeSummaries(try summaries(of: drafts), changes) }
    }

    private var logTime: RecordLogInstant {
        get throws { RecordLogInstant(milliseconds: Clock.wall.millisecondsSince1970 + (try reader.recordLogOffset())) }
    }

    private func storeSummaries(_ summaries: [StoreWriter.NewSummary], _ changes: AdmissionChanges) throws {
        let id = service.destination.id
        let now = Clock.wall
        try service.writer.perform { try $0.store(summaries, changes: changes, destination: id, at: now) }
    }

    func summaries(of drafts: [SummaryDraft]) throws -> [StoreWriter.NewSummary] {
        let offset = try reader.recordLogOffset()
        return try drafts.map { draft in
            let subject = try reader.subject(of: draft)
            func wall(_ instant: RecordLogInstant) -> IssueTimestamp {
                IssueTimestamp(millisecondsSince1970: instant.milliseconds - offset)
            }
            let summary = OutboundSummary(
                eventID: SummaryID.text(of: draft, destination: service.destination.name, host: service.settings.host),
                app: subject.app, host: service.settings.host, uid: try reader.account(draft.account)?.uid,
                group: try draft.group.flatMap { try reader.publicID(of: $0) }, fingerprint: subject.fingerprint,
                title: subject.title, domain: subject.domain, code: subject.code, application: subject.application,
                severity: draft.maxSeverity, reason: draft.reason, windowStart: wall(draft.windowStart),
                windowEnd: wall(draft.windowEnd), firstSeen: wall(draft.firstSeen), lastSeen: wall(draft.lastSeen),
                suppressedCount: draft.suppressedCount, forwardedCount: draft.forwardedCount,
                occurrences: draft.occurrences, sequence: draft.summarySequence,
                distinctGroups: draft.distinctGroups, sampleIDs: subject.sampleIDs,
                stillSuppressing: draft.stillSuppressing)
            return StoreWriter.NewSummary(draft: draft, line: shipper.line(of: summary))
        }
    }
}

/// Batches that are built before the record log is scanned further.
extension ForwardingLoop where Destination: ~Copyable {
    /// The maximum number of priority records in a portion. Each portion is put into round-robin order.
    private static var priorityPortion: Int { 4096 }
    /// The maximum number of portions per batch.
    private static var maxPriorityPortions: Int { 64 }

    /// Stores a batch of priority or requeued records. Returns nil if there are none to send, so that the scan is next.
    private func buildAhead(_ limit: BatchLimit) throws -> Forwarding.NextAction? {
        if let action = try buildPriority(limit) { return action }
        let again = try reader.requeued(for: service.destination.id, limit: limit.records)
        var scan = OutboxScan(
            NewBatch(destination: service.destination.id, kind: .requeued, at: Clock.wall), limit, shipper.prepare())
        for record in again where !scan.isFull {
            let candidate = record.candidate
            let occurrences =
                try admission.occurrences(of: candidate.group)
                ?? reader.limits(ofGroup: candidate.group, service.destination.id)?.occurrences ?? candidate.count
            let sent = SentRecord(candidate, suppressedBefore: 0, occurrences: occurrences)
            guard let line = try line(of: sent) else { continue }
            scan.batch.sent.append(sent)
            scan.add(line, of: candidate.user)
        }
        return scan.lineCount == 0 ? nil : try store(scan)
    }

    /// Stores a batch of priority records that is sent before the rest of the current batch.
    func buildPreempting(_ limit: BatchLimit) throws -> Forwarding.NextAction {
        admission.dailyBytes = budget.today(at: Clock.wall)
        return try buildPriority(limit, isPreempting: true)
            ?? machine.nothingToSend(try pending(), at: Clock.monotonic)
    }

    private func buildPriority(_ limit: BatchLimit, isPreempting: Bool = false) throws -> Forwarding.NextAction? {
        // If everything fits into one batch, no order is needed.
        guard try isPreempting || reader.newest() - cursor > limit.records else { return nil }
        var scan = OutboxScan(
            NewBatch(destination: service.destination.id, kind: .priority, at: Clock.wall), limit, shipper.prepare())
        var chosen: [(record: SentRecord, line: [UInt8], user: UInt32)] = []
        var room = BatchBuilder(limit: limit)
        var above = max(cursor, priority)
        for _ in 0..<Self.maxPriorityPortions where !room.isFull {
            let (records, newest) = try reader.snapshot {
                let id = service.destination.id
                return (
                    try reader.priority(for: id, above: above, limit: Self.priorityPortion), try reader.newestPriority()
                )
            }
            guard let last = records.last?.candidate.record else {
                above = max(above, newest)
                break
            }
            // Users take turns, so that one user's many records do not delay those of other users.
            let order = RoundRobinOrder.order(records.map(\.candidate.user))
            let evaluated = try order.prefix { index in
                guard !room.isFull else { return false }
                guard let (record, line) = try evaluatePriority(records[index]) else { return true }
                chosen.append((record, line, records[index].candidate.user))
                admission.charge(line.count + 1, to: records[index].candidate.user, at: records[index].at)
                room.add(bytes: line.count + 1)
                return true
            }
            // The next evaluation starts at the oldest record that was not evaluated, and leaves out later records that
            // were chosen.
            let left = order[evaluated.count...].map { records[$0].candidate.record }.min()
            above = left.map { $0 - 1 } ?? (records.count < Self.priorityPortion ? max(last, newest) : last)
        }
        guard above > max(cursor, priority) || !chosen.isEmpty else { return nil }
        scan.batch.priorityThrough = above
        for (record, line, user) in chosen.sorted(by: { $0.record.row < $1.record.row }) {
            scan.batch.sent.append(record)
            scan.add(line, of: user)
        }
        scan.batch.changes = admission.takeChanges()
        scan.batch.fieldTypes = types.takeAdded()
        guard scan.lineCount == 0 else { return try store(scan) }
        // No record was admitted. `priorityThrough` is stored, so that only the scan, which is next, evaluates these
        // records again.
        let refused = scan.finished
        _ = try service.writer.perform { try $0.store(refused) }
        priority = max(priority, refused.priorityThrough ?? priority)
        return nil
    }

    /// Returns the record with its line if it may be sent before the scan reaches it; otherwise nil.
    private func evaluatePriority(_ record: OutboxRecord) throws -> (SentRecord, line: [UInt8])? {
        let candidate = record.candidate
        // Records that must not be forwarded are left to the scan.
        guard candidate.isReportable, !candidate.isMuted else { return nil }
        try recall(candidate)
        guard case .admit(let before, let occurrences) = admission.evaluatePriority(candidate, at: record.at) else {
            return nil
        }
        let sent = SentRecord(candidate, suppressedBefore: before, occurrences: occurrences)
        return try line(of: sent).map { (sent, $0) }
    }

    // MARK: State of the limiter

    /// Loads the limiter's state for the record's account and group from the store, unless it is loaded already.
    func recall(_ candidate: AdmissionCandidate) throws {
        let lacks = admission.lacks(candidate)
        guard lacks.account || lacks.group else { return }
        let id = service.destination.id
        if lacks.account, let account = try reader.account(candidate.account) {
            admission.adopt(
                account: candidate.account,
                limits: service.settings.limits.limits(uid: account.uid, application: account.app),
                buckets: try reader.buckets(of: candidate.account, id))
        }
        if lacks.group, let row = try reader.limits(ofGroup: candidate.group, id) { admission.adopt(row) }
    }

    /// Returns the limiter with its stored state, and with the limits of each application in that state.
    static func admission(_ service: ForwardingService, _ reader: StoreReader) throws -> Admission {
        let limits = service.settings.limits
        let state = try reader.admissionState(of: service.destination.id)
        let accounts = Set(state.buckets.compactMap(\.key.account)).union(state.groups.map(\.account))
        var known: [AccountID: ApplicationLimits] = [:]
        for account in accounts where !limits.overrides.isEmpty {
            guard let found = try reader.account(account) else { continue }
            known[account] = limits.limits(uid: found.uid, application: found.app)
        }
        // Up to a second of the history may be lost. That does no harm, because the history is only displayed.
        let history = service.statusRegistry.limitHistory(of: service.destination.name)
        var admission = Admission(settings: limits, state: state, history: history) {
            known[$0] ?? limits.defaultApplicationLimits
        }
        admission.historyBegan(at: Clock.wall)
        return admission
    }

    /// Returns the state machine, with the stored state of the send pacer.
    static func machine(
        _ settings: ForwardSettings, from state: DestinationRow.State, failing: FailureClass?
    ) -> Forwarding {
        let now = Clock.monotonic
        guard let pace = state.pace, let at = state.pacedAt else {
            return Forwarding(settings: settings, failing: failing, at: now)
        }
        // Limited to between 0 and 24 hours, because the wall clock may have been changed.
        let passed = min(
            max(at.duration(to: Clock.wall), .zero),
            Duration.seconds(86_400))
        return Forwarding(
            settings: settings, pacer: SendPacer(settings: settings, from: pace, after: passed, at: now),
            failing: failing, at: now)
    }
}

/// The lines of an unfinished batch: their number and size, and the request body with all of them.
///
/// The individual lines are made only when they are needed, for example to send a part of the batch.
struct BatchLines {
    private(set) var count = 0
    private(set) var bytes = 0
    /// The number of bytes of each user's lines; an estimate after lines were removed or replaced.
    private(set) var users: [UInt32: Int] = [:]
    /// The user of each line; nil for a summary or a correction.
    private(set) var lineUsers: [UInt32?] = []
    /// All lines as one request body; nil if a line is missing, or after lines were changed or merged.
    private(set) var whole: (any PreparedBody)?
    /// The individual lines; nil if they have not been needed yet. An element is nil if the line's record was removed.
    var all: [[UInt8]?]?

    /// Creates an empty value that adds lines to `body`.
    init(in body: any PreparedBody) {
        whole = body
    }

    /// Adds a line; nil for one whose record was removed. After a nil line, the request body is built when it is sent.
    mutating func add(_ line: [UInt8]?, of user: UInt32?) {
        count += 1
        lineUsers.append(user)
        guard let line else {
            whole = nil
            return
        }
        whole?.add(line)
        bytes += line.count + 1
        if let user { users[user, default: 0] += line.count + 1 }
    }

    /// Returns the body with all lines if a range covers all of them and the body can be sent; otherwise nil.
    func body(for range: Range<Int>) -> (any PreparedBody)? {
        guard let whole, !whole.isBroken, range.count == count else { return nil }
        return whole
    }

    /// Removes the lines that could not be made again because their records were removed.
    ///
    /// - Parameter made: All lines, made again; nil for those that could not be made.
    mutating func drop(missingFrom made: [[UInt8]?]) {
        guard made.count == count, made.contains(where: { $0 == nil }) else { return }
        // Lines in memory are kept, because some may have been truncated.
        var lines = all ?? made
        for index in lines.indices where made[index] == nil { lines[index] = nil }
        (all, whole) = (lines, nil)
    }

    /// The indices of the lines that can't be sent because their records were removed; empty if the individual lines
    /// have not been made.
    var removed: Set<Int> { Set((all ?? []).indices.filter { all?[$0] == nil }) }

    /// Keeps only these lines. The individual lines must have been made.
    mutating func keep(_ left: LineSet) {
        all = all.map { all in all.indices.filter { left.contains($0) }.map { all[$0] } }
        count = all?.count ?? 0
        lineUsers = left.ranges.flatMap { lineUsers[$0] }
        let left = (all ?? []).reduce(0) { $0 + ($1?.count ?? 0) + 1 }
        (users, bytes, whole) = (users(in: left), left, nil)
    }

    /// Adds the lines of another batch. The individual lines of both must have been made.
    mutating func merge(_ other: BatchLines, order: MergedLines) {
        all = order.values(ofFirst: all ?? [], ofSecond: other.all ?? [])
        lineUsers = order.values(ofFirst: lineUsers, ofSecond: other.lineUsers)
        count += other.count
        bytes += other.bytes
        users.merge(other.users, uniquingKeysWith: +)
        whole = nil
    }

    /// Returns each user's share of `bytes`, in proportion to the user's share of the whole batch.
    func users(in bytes: Int) -> [UInt32: Int] {
        let part = Double(bytes) / Double(max(1, self.bytes))
        return users.mapValues { Int(Double($0) * part) }
    }

    mutating func replace(_ line: Int, by other: [UInt8]) {
        all?[line] = other
        whole = nil
    }
}

/// A batch that is being sent, or that another one has preempted.
struct BatchInFlight {
    var batch: StoredBatch
    var lines: BatchLines
    /// The last reply with the verdict `partial` or `tooLarge`; nil if there was none.
    var refusal: String?
    /// The last reply with the verdict `accepted` or `unconfirmed`; nil if there was none.
    var acceptance: String?
    /// Whether some of the batch's lines were delivered since it was built or loaded.
    var hasDelivered = false
    /// The number of attempts until the batch was preempted.
    var attempts: Int64 = 0

    /// The batch for the state machine, without the results of earlier attempts.
    var fresh: ForwardingBatch {
        ForwardingBatch(
            id: batch.id, count: lines.count, bytes: lines.bytes, isPriority: batch.kind == .priority,
            users: lines.lineUsers)
    }

    /// Returns the batch of an earlier run for the state machine.
    ///
    /// - Parameter unacknowledged: For each batch, the lines that may have arrived. Without an entry for this batch,
    ///   each of its lines may have arrived.
    func resumed(_ unacknowledged: [BatchID: LineSet]) -> ForwardingBatch {
        var resumed = fresh
        resumed.unacknowledged = unacknowledged[batch.id] ?? LineSet([0..<lines.count])
        return resumed
    }
}

extension SentRecord {
    init(_ candidate: AdmissionCandidate, suppressedBefore: Int64, occurrences: Int64) {
        self.init(
            row: candidate.record, account: candidate.account, count: candidate.count,
            suppressedBefore: suppressedBefore, occurrences: occurrences)
    }
}

/// The `event_id` of a summary. It is the same each time the same summary is sent.
enum SummaryID {
    static func text(of draft: SummaryDraft, destination: String, host: String) -> String {
        var hash = SipHash(key0: 3)
        hash.append(field: host)
        hash.append(field: destination)
        hash.append(UInt64(bitPattern: draft.group?.rawValue ?? -draft.account.rawValue))
        hash.append(field: draft.reason.rawValue)
        hash.append(UInt64(bitPattern: draft.windowStart.milliseconds))
        hash.append(UInt64(bitPattern: draft.summarySequence))
        return "s-\(String(hexadecimal: hash.finish(), width: 16))"
    }
}

extension ForwardingLoop where Destination: ~Copyable {
    /// Makes the lines of corrections that the destination has no lines for yet, and stores them to be sent.
    ///
    /// - Parameter limit: The maximum number of lines.
    /// - Returns: `true` if lines were made; `false` if no correction is left.
    /// - Throws: The error of the reader or the writer.
    func makeCorrectionLines(limit: Int) throws -> Bool {
        let destination = service.destination.id
        while true {
            let found = try reader.correctionEvents(for: destination, limit: limit)
            guard let last = found.last else { return false }
            let lines = found.events.filter(\.isReportable).map { event in
                CorrectionLine(
                    event: event.id,
                    line: shipper.line(of: OutboundCorrection(event, host: service.settings.host)))
            }
            let now = Clock.wall
            try service.writer.perform { try $0.store(lines, through: last, destination: destination, at: now) }
            if !lines.isEmpty { return true }
        }
    }
}

extension OutboundCorrection {
    init(_ event: CorrectionEvent, host: String) {
        self.init(
            eventID: Self.id(of: event, host: host), host: host, correction: event.correction,
            isUndone: event.isUndone, fingerprint: event.fingerprint, otherFingerprint: event.otherFingerprint)
    }

    /// Returns the `event_id`. It depends on the correction's time, since a database that replaces a lost one assigns
    /// the same numbers again.
    private static func id(of event: CorrectionEvent, host: String) -> String {
        var hash = SipHash(key0: 6)
        hash.append(field: host)
        hash.append(UInt64(bitPattern: event.id))
        hash.append(UInt64(bitPattern: event.correction.id))
        hash.append(UInt64(bitPattern: event.correction.timestamp.millisecondsSince1970))
        return "c-\(String(hexadecimal: hash.finish(), width: 16))"
    }
}
