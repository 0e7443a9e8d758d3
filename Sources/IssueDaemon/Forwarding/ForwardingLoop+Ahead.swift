import IssueCore
import IssueProtocol
import IssueStore

/// What goes before the log is walked on.
extension ForwardingLoop where Destination: ~Copyable {
    /// How many records are put in order by their users' turns at once, and how often that is done for one batch.
    private static var expressPortion: Int { 4096 }
    private static var maxExpressPortions: Int { 64 }

    /// Stores a batch of what is critical or new, or of what somebody wants to go once more; nothing where the walk is
    /// next.
    func buildAhead(_ limit: BatchLimit) throws -> Step? {
        if let step = try buildExpress(limit) { return step }
        let again = try reader.requeued(for: service.destination.id, limit: limit.records)
        var walk = Walk(
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
        let step = try buildExpress(limit, isOvertaking: true)
        return try step ?? self.step(machine.nothingToSend(try pending(), at: Clock.monotonic))
    }

    func isExpressWaiting() throws -> Bool {
        try reader.snapshot {
            try !reader.express(for: service.destination.id, above: max(cursor, express), limit: 1).isEmpty
        }
    }

    private func buildExpress(_ limit: BatchLimit, isOvertaking: Bool = false) throws -> Step? {
        // What all goes into one batch needs no order.
        guard try isOvertaking || reader.newest() - cursor > Int64(limit.records) else { return nil }
        var walk = Walk(
            NewBatch(destination: service.destination.id, kind: .express, at: Clock.wall), limit, shipper.prepare())
        var chosen: [(record: SentRecord, line: [UInt8], user: UInt32)] = []
        var room = BatchBuilder(limit: limit)
        var above = max(cursor, express)
        for _ in 0..<Self.maxExpressPortions where !room.isFull {
            let (records, newest) = try reader.snapshot {
                let id = service.destination.id
                return (
                    try reader.express(for: id, above: above, limit: Self.expressPortion), try reader.newestExpress()
                )
            }
            guard let last = records.last?.candidate.record else {
                above = max(above, newest)
                break
            }
            // Users take turns, so nobody's records wait for the many of somebody else.
            let order = UserTurns.order(records.map(\.candidate.user))
            let judged = try order.prefix { place in
                guard !room.isFull else { return false }
                guard let (record, line) = try judgeExpress(records[place]) else { return true }
                chosen.append((record, line, records[place].candidate.user))
                admission.dailyBytes.charge(line.count + 1, to: records[place].candidate.user)
                room.add(bytes: line.count + 1)
                return true
            }
            // Those behind the first that was not asked are asked again, but for those that go.
            let left = order[judged.count...].map { records[$0].candidate.record }.min()
            above = left.map { $0 - 1 } ?? (records.count < Self.expressPortion ? max(last, newest) : last)
        }
        guard above > max(cursor, express) || !chosen.isEmpty else { return nil }
        walk.batch.expressThrough = above
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
        express = max(express, refused.expressThrough ?? express)
        return nil
    }

    /// Returns the record with its line if it may go before the walk.
    private func judgeExpress(_ record: WalkedRecord) throws -> (SentRecord, line: [UInt8])? {
        let candidate = record.candidate
        // What is not for this destination is for the walk to say.
        guard candidate.isReportable, !candidate.isMuted else { return nil }
        try recall(candidate)
        guard case .admit(let before, let occurrences) = admission.judgeExpress(candidate, at: record.at) else {
            return nil
        }
        let sent = SentRecord(
            row: candidate.record, account: candidate.account, count: candidate.count, suppressedBefore: before,
            occurrences: occurrences)
        return try line(of: sent).map { (sent, $0) }
    }

    private func add(
        _ candidate: Candidate, suppressedBefore: Int64, occurrences: Int64, to walk: inout Walk
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
