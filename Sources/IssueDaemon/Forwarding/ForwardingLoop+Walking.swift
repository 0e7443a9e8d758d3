import IssueCore
import IssueProtocol
import IssueStore

extension ForwardingLoop where Destination: ~Copyable {
    /// How many rows one walk passes at most, or the rest of a range more, so that a flood of what is held back is
    /// stored in portions.
    private static var mostWalked: Int { 65_536 }
    private static var stretch: Int { 2048 }

    /// Walks on from the cursor until the batch is full, and says how far it came.
    func walkOn(_ walk: inout Walk) throws -> Int64 {
        var pass = LogPass(position: cursor, due: admission.nextSummaryDue)
        while !walk.isFull, walk.walked < Self.mostWalked {
            if pass.isHeldBack, pass.position >= pass.rowsThrough, let lists = try reader.lists(after: pass.position) {
                try walkOn(lists, &pass, &walk)
            } else {
                guard try walkOnByRows(&pass, &walk) else { break }
            }
            // The writer waits for this snapshot. What was walked is a batch, too.
            if service.writer.snapshots.isClosed { break }
        }
        count(pass.runs.end(), &walk)
        for (reason, rows) in pass.runs.held { walk.batch.held[reason, default: []] += rows }
        return pass.position
    }

    /// Passes the next stretch, record by record; false where there is none.
    private func walkOnByRows(_ pass: inout LogPass, _ walk: inout Walk) throws -> Bool {
        let stretch = try reader.stretch(after: pass.position, limit: Self.stretch)
        guard let lowest = stretch.steps.first?.row, let highest = stretch.steps.last?.row else { return false }
        let ahead = try reader.goneAhead(of: service.destination.id, in: lowest...highest, express: express)
        var held = 0
        for step in stretch.steps {
            if walk.isFull { break }
            let number = try pass.runs.number(of: step.series) { try reader.facts(ofSeries: step.series) }
            let now = LogInstant(milliseconds: step.receivedAt.milliseconds &+ stretch.offset)
            pass.position = step.row
            walk.walked += 1
            if pass.due.map({ $0 > now }) ?? true, ahead.isUsual(step.row), pass.runs.take(step, number, at: now) {
                held += 1
            } else {
                _ = try meet(step, number, ahead, offset: stretch.offset, &pass, &walk)
            }
        }
        pass.isHeldBack = held > stretch.steps.count / 4 * 3
        return true
    }

    /// Judges a record that no run holds back.
    ///
    /// - Returns: the series whose next records have to be judged since.
    func meet(
        _ step: LogStep, _ number: Int, _ ahead: StoreReader.GoneAhead, offset: Int64, _ pass: inout LogPass,
        _ walk: inout Walk
    ) throws -> [Int] {
        guard let facts = pass.runs.facts(number) else { return [] }
        if ahead.gone.contains(step.row) {
            walk.batch.gone += 1
            return []
        }
        var record = facts.record(step, offset: offset)
        let isDue = pass.due.map { $0 <= record.at } ?? false
        if isDue {
            count(pass.runs.end(), &walk)
            // Each has to open its window anew, so that it is told in time.
            pass.runs.forget()
            walk.batch.newSummaries += try summaries(of: admission.dueSummaries(at: record.at))
        }
        record.candidate.wasExpress = ahead.refused.contains(step.row)
        count(pass.runs.end(ofGroup: facts.group), &walk)
        let released = try judge(record, number, &pass.runs, &walk)
        // What is let through opens no window.
        if released == nil || isDue { pass.due = admission.nextSummaryDue }
        return isDue ? Array(0..<pass.runs.count) : released ?? []
    }

    private func count(_ runs: [HeldRun], _ walk: inout Walk) {
        for run in runs {
            admission.count(run)
            walk.summarise(run)
        }
    }

    /// Judges one record, and says of which series the next have to be judged where it was let through.
    private func judge(
        _ record: WalkedRecord, _ number: Int, _ runs: inout HeldRuns, _ walk: inout Walk
    ) throws -> [Int]? {
        let candidate = record.candidate
        try recall(candidate)
        switch admission.judge(candidate, at: record.at) {
        case .admit(let before, let occurrences):
            let sent = SentRecord(
                row: candidate.record, account: candidate.account, count: candidate.count, suppressedBefore: before,
                occurrences: occurrences)
            if let line = try line(of: sent) {
                walk.batch.sent.append(sent)
                walk.add(line, of: candidate.user)
                // Sent or not: what follows in this batch is judged by it.
                admission.dailyBytes.charge(line.count + 1, to: candidate.user)
            } else {
                walk.withhold(candidate)
            }
            return runs.admitted(inGroup: candidate.group)
        case .suppress(let reason):
            walk.summarise(candidate, reason)
            runs.begin(admission.run(after: candidate, heldFor: reason, at: record.at), number)
            return nil
        case .withhold:
            walk.withhold(candidate)
            return nil
        }
    }
}
