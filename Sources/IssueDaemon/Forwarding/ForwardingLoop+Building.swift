import IssueCore
import IssueProtocol
import IssueStore

extension ForwardingLoop where Destination: ~Copyable {
    private static var mostSummaries: Int { 100 }

    /// Goes on behind what retention has taken.
    private func catchUp() throws {
        cursor = max(cursor, try reader.destination(service.destination.id)?.cursor ?? cursor)
    }

    /// What waits behind the cursor.
    func pending() throws -> PendingFacts {
        try catchUp()
        let backlog = try reader.backlog(of: service.destination.id, after: cursor, express: express)
        let now = Clock.monotonic
        let wall = Clock.wall
        func instant(_ time: Timestamp?) -> MonotonicInstant? {
            time.map { now.advanced(by: .milliseconds(min(0, $0.milliseconds - wall.milliseconds))) }
        }
        let records = Int(backlog.records + backlog.requeued + backlog.unsentSummaries)
        var oldest = instant(backlog.oldest) ?? (backlog.unsentSummaries > 0 ? now : nil)
        // Somebody has asked for these.
        if backlog.requeued > 0 { oldest = now.advanced(by: .zero - service.settings.forward.batchDelay) }
        return PendingFacts(
            records: records, bytes: 512 * records, oldest: oldest, expressRecords: Int(backlog.expressRecords),
            oldestExpress: instant(backlog.oldestExpress))
    }

    /// Walks the log, judges, and stores a batch before it is sent.
    func build(_ limit: BatchLimit) throws -> Step {
        // What is express goes before it also where it came meanwhile.
        if let next, next.limit == limit, try !isExpressWaiting() {
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
    func walk(_ limit: BatchLimit) throws -> Walk {
        var walk = Walk(NewBatch(destination: service.destination.id, at: Clock.wall), limit, shipper.prepare())
        for id in try reader.unsentSummaries(of: service.destination.id, limit: min(limit.records, Self.mostSummaries))
        {
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

    func store(_ walk: Walk) throws -> Step {
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
            try goOnFromStore()
            return batch == nil ? .build(walk.limit) : .overtake(walk.limit)
        }
        cursor = new.span?.upperBound ?? cursor
        express = max(express, new.expressThrough ?? express)
        if new.span != nil { fatesMoved() }
        guard new.lineCount > 0 else { return step(machine.nothingToSend(try pending(), at: now)) }
        if batch != nil { layAside() }
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
    func goOnFromStore() throws {
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

    private var logTime: LogInstant {
        get throws { LogInstant(milliseconds: Clock.wall.milliseconds + (try reader.logOffset())) }
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
            func wall(_ instant: LogInstant) -> Timestamp { Timestamp(milliseconds: instant.milliseconds - offset) }
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
