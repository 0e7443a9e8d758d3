import IssueCore
import IssueProtocol
import IssueStore

extension ForwardingLoop where Destination: ~Copyable {
    private static var maxSummaries: Int { 100 }

    /// Goes on behind what retention has taken.
    private func catchUp() throws {
        cursor = max(cursor, try reader.destination(service.destination.id)?.cursor ?? cursor)
    }

    /// What waits behind the cursor.
    func pending() throws -> PendingCounts {
        try catchUp()
        let backlog = try reader.backlog(of: service.destination.id, after: cursor, priority: priority)
        let now = Clock.monotonic
        let wall = Clock.wall
        func instant(_ time: Timestamp?) -> MonotonicInstant? {
            time.map { now.advanced(by: .milliseconds(min(0, $0.milliseconds - wall.milliseconds))) }
        }
        let records = Int(backlog.records + backlog.requeued + backlog.unsentSummaries)
        var oldest = instant(backlog.oldest) ?? (backlog.unsentSummaries > 0 ? now : nil)
        // Somebody has asked for these.
        if backlog.requeued > 0 { oldest = now.advanced(by: .zero - service.settings.forward.batchDelay) }
        return PendingCounts(
            records: records, bytes: 512 * records, oldest: oldest, priorityRecords: Int(backlog.priorityRecords),
            oldestPriority: instant(backlog.oldestPriority))
    }

    /// Walks the log, judges, and stores a batch before it is sent.
    func build(_ limit: BatchLimit) throws -> Step {
        // What is express goes before it also where it came meanwhile.
        if let next, next.limit == limit, try !isPriorityWaiting() {
            self.next = nil
            return try store(next)
        }
        try forgetNext()
        admission.dailyBytes = budget.today(at: Clock.wall)
        try catchUp()
        if let step = try buildAhead(limit) { return step }
        return try store(try walk(limit))
    }

    /// What waits behind the cursor, judged and made into lines.
    func walk(_ limit: BatchLimit) throws -> OutboxScan {
        var walk = OutboxScan(NewBatch(destination: service.destination.id, at: Clock.wall), limit, shipper.prepare())
        for id in try reader.unsentSummaries(of: service.destination.id, limit: min(limit.records, Self.maxSummaries)) {
            let line = try reader.line(ofSummary: id)
            walk.batch.summaries.append(id)
            walk.add(line, of: nil)
        }
        let first = cursor + 1
        let position = try service.writer.readingLog { try reader.snapshot { try walkOn(&walk) } }
        if position >= first { walk.batch.span = first...position }
        walk.batch.changes = admission.takeChanges()
        walk.batch.fieldTypes = types.takeAdded()
        return walk
    }

    func store(_ walk: OutboxScan) throws -> Step {
        let now = Clock.monotonic
        let new = walk.finished
        if new.span == nil, new.lineCount == 0, new.changes.isEmpty {
            return step(machine.nothingToSend(try pending(), at: now))
        }
        let stored: StoredBatch
        do {
            stored = try service.writer.perform { try $0.store(new) }
        } catch StoreFailure.outdated {
            // Retention was faster.
            try reloadStateFromStore()
            return batch == nil ? .build(walk.limit) : .overtake(walk.limit)
        }
        cursor = new.span?.upperBound ?? cursor
        priority = max(priority, new.priorityThrough ?? priority)
        if new.span != nil { fatesMoved() }
        guard new.lineCount > 0 else { return step(machine.nothingToSend(try pending(), at: now)) }
        if batch != nil { preempt() }
        (batch, lines) = (stored, BatchLines(of: walk))
        return step(machine.batchStored(ForwardingBatch(of: stored, lines), at: now))
    }

    func line(of sent: SentRecord) throws -> [UInt8]? {
        guard let row = try reader.outbound(row: sent.row) else { return nil }
        return shipper.line(
            of: OutboundRecord(
                stored: row.stored, storedMetadata: row.metadata, app: row.accountName, fingerprint: row.fingerprint,
                host: service.settings.host, suppressedBefore: sent.suppressedBefore, occurrences: sent.occurrences,
                memory: row.memory),
            types: &types)
    }

    /// Makes the lines of a stored batch again; nothing in the place of one whose record is gone.
    func makeLines(of batch: StoredBatch, _ take: ([UInt8]?, _ user: UInt32?) -> Void) throws {
        for id in batch.summaries { take(try reader.line(ofSummary: id), nil) }
        var users: [Int64: UInt32] = [:]
        for sent in batch.sent {
            let user = try users[sent.account] ?? reader.account(sent.account).map { reader.users.owner(of: $0.uid) }
            users[sent.account] = user
            take(try line(of: sent), user)
        }
    }

    /// The limiter has judged what does not go, so it goes on from what is stored.
    func reloadStateFromStore() throws {
        admission = try Self.admission(service, reader)
        types = try reader.fieldTypes(of: service.destination.id)
    }

    // MARK: Summaries

    /// When the next window closes, by the monotonic clock; nothing while the walk has not come to the end of the log,
    /// since then it closes windows by the way.
    func summariesDue() throws -> MonotonicInstant? {
        guard let due = admission.nextSummaryDue, cursor >= (try reader.newest()) else { return nil }
        let wait = due.milliseconds - (Clock.wall.milliseconds + (try reader.logOffset()))
        return Clock.monotonic.advanced(by: .milliseconds(max(wait, 0)))
    }

    /// Closes windows by the clock, once the walk has come to the end of the log.
    func closeWindows() throws {
        guard let due = admission.nextSummaryDue else { return }
        let now = try logTime
        guard due <= now else { return }
        try catchUp()
        guard cursor >= (try reader.newest()) else { return }
        let drafts = admission.dueSummaries(at: now)
        try storeSummaries(try summaries(of: drafts), admission.takeChanges())
        try perform(step(machine.recordsArrived(try pending(), at: Clock.monotonic)))
    }

    /// Closes all windows, so that nothing that was held back is left untold; the next start sends what this one can't.
    func closeAllWindows() throws {
        let drafts = admission.closeAll(at: try logTime)
        let changes = admission.takeChanges()
        if !drafts.isEmpty || !changes.isEmpty { try storeSummaries(try summaries(of: drafts), changes) }
    }

    private var logTime: RecordLogInstant {
        get throws { RecordLogInstant(milliseconds: Clock.wall.milliseconds + (try reader.logOffset())) }
    }

    private func storeSummaries(_ summaries: [StoreWriter.NewSummary], _ changes: AdmissionChanges) throws {
        let id = service.destination.id
        let now = Clock.wall
        try service.writer.perform { try $0.store(summaries, changes: changes, destination: id, at: now) }
    }

    func summaries(of drafts: [SummaryDraft]) throws -> [StoreWriter.NewSummary] {
        let offset = try reader.logOffset()
        return try drafts.map { draft in
            let subject = try reader.subject(of: draft)
            func wall(_ instant: RecordLogInstant) -> Timestamp {
                Timestamp(milliseconds: instant.milliseconds - offset)
            }
            let summary = OutboundSummary(
                eventID: SummaryID.text(of: draft, destination: service.destination.name, host: service.settings.host),
                app: subject.app, host: service.settings.host, fingerprint: subject.fingerprint, title: subject.title,
                domain: subject.domain, code: subject.code, application: subject.application,
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

/// What goes before the log is walked on.
extension ForwardingLoop where Destination: ~Copyable {
    /// How many records are put in order by their users' turns at once, and how often that is done for one batch.
    private static var priorityPortion: Int { 4096 }
    private static var maxPriorityPortions: Int { 64 }

    /// Stores a batch of what is critical or new, or of what somebody wants to go once more; nothing where the walk is
    /// next.
    func buildAhead(_ limit: BatchLimit) throws -> Step? {
        if let step = try buildPriority(limit) { return step }
        let again = try reader.requeued(for: service.destination.id, limit: limit.records)
        var walk = OutboxScan(
            NewBatch(destination: service.destination.id, kind: .requeued, at: Clock.wall), limit, shipper.prepare())
        for record in again where !walk.isFull {
            let candidate = record.candidate
            let occurrences = try admission.occurrences(of: candidate.group) ?? occurrences(of: candidate)
            try add(candidate, suppressedBefore: 0, occurrences: occurrences, to: &walk)
        }
        return walk.lineCount == 0 ? nil : try store(walk)
    }

    /// The same of what is critical or new alone, while the batch that is under way can't come to its end.
    func buildOvertaking(_ limit: BatchLimit) throws -> Step {
        try forgetNext()
        admission.dailyBytes = budget.today(at: Clock.wall)
        let step = try buildPriority(limit, isOvertaking: true)
        return try step ?? self.step(machine.nothingToSend(try pending(), at: Clock.monotonic))
    }

    func isPriorityWaiting() throws -> Bool {
        try reader.snapshot {
            try !reader.priority(for: service.destination.id, above: max(cursor, priority), limit: 1).isEmpty
        }
    }

    private func buildPriority(_ limit: BatchLimit, isOvertaking: Bool = false) throws -> Step? {
        // What all goes into one batch needs no order.
        guard try isOvertaking || reader.newest() - cursor > Int64(limit.records) else { return nil }
        var walk = OutboxScan(
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
            // Users take turns, so nobody's records wait for the many of somebody else.
            let order = RoundRobinOrder.order(records.map(\.candidate.user))
            let judged = try order.prefix { place in
                guard !room.isFull else { return false }
                guard let (record, line) = try evaluatePriority(records[place]) else { return true }
                chosen.append((record, line, records[place].candidate.user))
                admission.dailyBytes.charge(line.count + 1, to: records[place].candidate.user)
                room.add(bytes: line.count + 1)
                return true
            }
            // Those behind the first that was not asked are asked again, but for those that go.
            let left = order[judged.count...].map { records[$0].candidate.record }.min()
            above = left.map { $0 - 1 } ?? (records.count < Self.priorityPortion ? max(last, newest) : last)
        }
        guard above > max(cursor, priority) || !chosen.isEmpty else { return nil }
        walk.batch.priorityThrough = above
        for (record, line, user) in chosen.sorted(by: { $0.record.row < $1.record.row }) {
            walk.batch.sent.append(record)
            walk.add(line, of: user)
        }
        walk.batch.changes = admission.takeChanges()
        walk.batch.fieldTypes = types.takeAdded()
        guard walk.lineCount == 0 else { return try store(walk) }
        // None may go ahead: that is noted, so that they are not asked again, and the walk is next.
        let refused = walk.finished
        _ = try service.writer.perform { try $0.store(refused) }
        priority = max(priority, refused.priorityThrough ?? priority)
        return nil
    }

    /// Returns the record with its line if it may go before the walk.
    private func evaluatePriority(_ record: OutboxRecord) throws -> (SentRecord, line: [UInt8])? {
        let candidate = record.candidate
        // What is not for this destination is for the walk to say.
        guard candidate.isReportable, !candidate.isMuted else { return nil }
        try recall(candidate)
        guard case .admit(let before, let occurrences) = admission.evaluatePriority(candidate, at: record.at) else {
            return nil
        }
        let sent = SentRecord(
            row: candidate.record, account: candidate.account, count: candidate.count, suppressedBefore: before,
            occurrences: occurrences)
        return try line(of: sent).map { (sent, $0) }
    }

    private func add(
        _ candidate: Candidate, suppressedBefore: Int64, occurrences: Int64, to walk: inout OutboxScan
    ) throws {
        let sent = SentRecord(
            row: candidate.record, account: candidate.account, count: candidate.count,
            suppressedBefore: suppressedBefore, occurrences: occurrences)
        guard let line = try line(of: sent) else { return }
        walk.batch.sent.append(sent)
        walk.add(line, of: candidate.user)
    }

    private func occurrences(of candidate: Candidate) throws -> Int64 {
        try reader.limits(ofGroup: candidate.group, service.destination.id)?.occurrences ?? candidate.count
    }

    // MARK: What the limiter goes by

    /// Gives the limiter what the store knows and it does not hold.
    func recall(_ candidate: Candidate) throws {
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

    /// The limiter as it was stored, with each application's own limits.
    static func admission(_ service: ForwardingService, _ reader: StoreReader) throws -> Admission {
        let limits = service.settings.limits
        let state = try reader.admissionState(of: service.destination.id)
        let accounts = Set(state.buckets.compactMap(\.key.account)).union(state.groups.map(\.account))
        var known: [Int64: ApplicationLimits] = [:]
        for account in accounts where !limits.overrides.isEmpty {
            guard let found = try reader.account(account) else { continue }
            known[account] = limits.limits(uid: found.uid, application: found.app)
        }
        return Admission(settings: limits, state: state) { known[$0] ?? limits.ofAnyApplication }
    }

    /// The machine, with the pace at which the last run left off.
    static func machine(_ settings: ForwardSettings, from state: DestinationRow.State) -> Forwarding {
        let now = Clock.monotonic
        guard let pace = state.pace, let at = state.pacedAt else { return Forwarding(settings: settings, at: now) }
        // A clock that was set must not fill the bucket, nor empty it for years.
        let passed = min(
            max(Duration.milliseconds(Clock.wall.milliseconds - at.milliseconds), .zero), Duration.seconds(86_400))
        return Forwarding(
            settings: settings, pacer: SendPacer(settings: settings, from: pace, after: passed, at: now), at: now)
    }
}

/// The lines of the batch that is under way: how many they are, and the body that they make all together.
///
/// The lines themselves are there only once a part of them had to be sent.
struct BatchLines {
    static var none: BatchLines { BatchLines(count: 0, bytes: 0, whole: nil) }

    private(set) var count: Int
    private(set) var bytes: Int
    /// Whose records take how many of the bytes.
    private(set) var users: [UInt32: Int] = [:]
    /// All of them as one body, which may be sent again; nothing where one of them has changed since.
    private(set) var whole: (any PreparedBody)?
    /// Each of them, where that was asked for; nothing in the place of one whose record is gone.
    var all: [[UInt8]?]?

    private init(count: Int, bytes: Int, whole: (any PreparedBody)?) {
        self.count = count
        self.bytes = bytes
        self.whole = whole
    }

    init(of walk: OutboxScan) {
        self.init(count: walk.lineCount, bytes: walk.lineBytes, whole: walk.body)
        users = walk.users
    }

    /// None as yet, for which there is a body.
    init(in body: any PreparedBody) {
        self.init(count: 0, bytes: 0, whole: body)
    }

    mutating func add(_ line: [UInt8], of user: UInt32?) {
        whole?.add(line)
        count += 1
        bytes += line.count + 1
        if let user { users[user, default: 0] += line.count + 1 }
    }

    /// Those that were to be sent once more and could not be, since their records are gone.
    var left: Set<Int> { Set((all ?? []).indices.filter { all?[$0] == nil }) }

    /// Leaves only some of them, which have been made.
    mutating func keep(_ left: LineSet) {
        all = all.map { all in all.indices.filter { left.contains($0) }.map { all[$0] } }
        count = all?.count ?? 0
        users = users(in: (all ?? []).reduce(0) { $0 + ($1?.count ?? 0) + 1 })
        bytes = (all ?? []).reduce(0) { $0 + ($1?.count ?? 0) + 1 }
        whole = nil
    }

    /// Whose records take how many bytes of some of the lines, as if each user had the same part of them.
    func users(in bytes: Int) -> [UInt32: Int] {
        let part = Double(bytes) / Double(max(1, self.bytes))
        return users.mapValues { Int(Double($0) * part) }
    }

    mutating func replace(_ line: Int, by other: [UInt8]) {
        all?[line] = other
        whole = nil
    }
}

/// A batch that another one has overtaken, with all that belongs to it.
struct PreemptedBatch {
    var batch: StoredBatch
    var lines: BatchLines
    /// The last answer that found fault with lines of it, and the last one that took some of them.
    var refusal: String?
    var taking: String?
    /// How often it was tried.
    var attempts: Int64 = 0
}

/// The `event_id` of a summary: the same whenever the same is told again.
enum SummaryID {
    static func text(of draft: SummaryDraft, destination: String, host: String) -> String {
        var hash = SipHash(key0: 3)
        hash.append(field: host)
        hash.append(field: destination)
        hash.append(UInt64(bitPattern: draft.group ?? -draft.account))
        hash.append(field: draft.reason.rawValue)
        hash.append(UInt64(bitPattern: draft.windowStart.milliseconds))
        hash.append(UInt64(bitPattern: draft.summarySequence))
        return "s-\(Fingerprint.hexadecimal(hash.finish()))"
    }
}
