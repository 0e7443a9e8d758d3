package import IssueCore
import IssueProtocol
import SQLiteKit

/// Subtracts erased records from the ledger.
extension ForwardingOutbox {
    /// Identifies a row of one destination's ledger.
    private struct Key: Hashable {
        var account: AccountID
        var fate: IssueFate.Outcome
    }

    /// Subtracts records from the ledger before they are erased, and removes them from batches that await a response.
    ///
    /// - Parameter toErase: The records. They must still exist.
    /// - Returns: For each destination, by name, the number of these records that it has or may have received
    ///   (`FateSearch.Found.mayHaveArrived`). Also the rows that are in flight.
    func subtractFates(of toErase: [RecordToErase]) throws(SQLiteError) -> (
        delivered: [String: Int64], inFlight: Set<RowID>
    ) {
        var ledger = LedgerChanges()
        for (account, records) in Dictionary(grouping: toErase, by: \.account) {
            let occurrences = records.reduce(0) { $0 + $1.count }
            ledger.erased(
                .init(records: Int64(records.count), occurrences: occurrences), account: account, destination: 0,
                fate: nil)
        }
        var delivered: [String: Int64] = [:]
        var inFlight: Set<RowID> = []
        for var destination in try fateSearches() {
            var sums: [Key: LedgerChanges.Sum] = [:]
            var sending: Set<RowID> = []
            for record in toErase where destination.rows.contains(record.row) {
                let found = try destination.fate(of: record.row, on: self)
                var fate = found.fate
                if fate == .pending, found.batch != nil { sending.insert(record.row) }
                if fate == .summarised, !found.isSingle, let reason = found.batch?.notes.held.reason(of: record.row),
                    let summary = try connection.summary(counting: record.row, for: reason, destination.id)
                {
                    try subtract(.init(records: 1, occurrences: record.count), fromSummary: summary.id)
                    if summary.state == .dead { fate = .deadLettered }
                }
                sums[Key(account: record.account, fate: fate), default: .init()].records += 1
                sums[Key(account: record.account, fate: fate), default: .init()].occurrences += record.count
                if found.mayHaveArrived { delivered[destination.name, default: 0] += 1 }
            }
            if !sending.isEmpty { try removeFromBatches(sending, of: destination.id) }
            inFlight.formUnion(sending)
            for (key, sum) in sums { try subtract(sum, key, destination.id, &ledger) }
        }
        try ledger.write(on: connection)
        return (delivered, inFlight)
    }

    /// Returns the ledger's sum for an account, a destination and a fate.
    func sum(of fate: IssueFate.Outcome, _ account: AccountID, _ destination: Int64) throws(SQLiteError)
        -> LedgerChanges.Sum
    {
        try connection.first(
            "SELECT records, occurrences FROM ledger WHERE destination = ?1 AND account = ?2 AND fate = ?3",
            destination, account, Int64(fate.databaseValue)
        ) { LedgerChanges.Sum(records: $0.int64(0), occurrences: $0.int64(1)) } ?? .init()
    }

    /// Subtracts erased records of one fate from the ledger.
    ///
    /// If a summary becomes a dead letter, so do the records that it counts. Once retention has deleted the summary, it
    /// is not known which records it counted. Therefore, the part of `sum` that exceeds the ledger's summarised records
    /// is subtracted from the dead letters.
    private func subtract(
        _ sum: LedgerChanges.Sum, _ key: Key, _ destination: Int64, _ ledger: inout LedgerChanges
    ) throws(SQLiteError) {
        guard key.fate == .summarised else {
            return ledger.erased(sum, account: key.account, destination: destination, fate: key.fate)
        }
        let own = try self.sum(of: .summarised, key.account, destination).limited(to: sum)
        ledger.erased(own, account: key.account, destination: destination, fate: .summarised)
        ledger.erased(
            .init(records: sum.records - own.records, occurrences: sum.occurrences - own.occurrences),
            account: key.account, destination: destination, fate: .deadLettered)
    }

    /// Removes erased records from batches in flight, because a restart may send these batches again.
    private func removeFromBatches(_ rows: Set<RowID>, of destination: Int64) throws(SQLiteError) {
        let ids = try connection.all(
            "SELECT id FROM batches WHERE destination = ?1 AND state = 0 AND kind <> 1", destination
        ) { $0.id(0, as: BatchID.self) }
        for id in ids {
            guard let batch = try batch(id) else { continue }
            var notes = batch.notes
            let left = zip(batch.sent, batch.notes.sent).filter { !rows.contains($0.0) }
            guard left.count < batch.sent.count else { continue }
            notes.sent = left.map(\.1)
            let sent = PostingList.encode(left.map(\.0), base: batch.rows.lowerBound)
            // A batch with neither records nor summaries does not await a response.
            let isAnswered = left.isEmpty && notes.summaries.isEmpty
            try connection.run(
                "UPDATE batches SET sent = ?2, notes = ?3, state = ?4 WHERE id = ?1", batch.id,
                DatabaseBytes.blob(sent), notes.json, isAnswered)
        }
    }
}

/// Cleans up the series, processes, senders and accounts whose records were erased.
extension StoreWriter {
    /// The maximum number of series per transaction.
    package static let maxSeriesPerTransaction = 32

    /// Corrects the first and last times of series. Erases series that have no records left, and groups that have no
    /// series left.
    ///
    /// Call `collectCounts(from:)` afterwards to remove the remaining counts of erased series.
    ///
    /// - Parameters:
    ///   - series: Series ids, at most `maxSeriesPerTransaction`.
    ///   - isWhole: `true` if all records of the series were to be erased. The counts of records that retention
    ///     removed are then erased too. Otherwise, a series with such counts is kept.
    package func finishErasing(_ series: [SeriesID], isWhole: Bool) throws(StoreFailure) {
        try erasing { () throws(SQLiteError) in try removal.finishErasing(series, isWhole: isWhole, &memory) }
    }

    /// Clears the rows of the newest process, sender and account if nothing refers to them. Also removes each summary
    /// that covers several groups and whose account was erased, with its dead letter; if the summary is in flight, it is
    /// only cleared.
    ///
    /// The newest rows cannot be deleted, because SQLite would assign their ids again. A process is not cleared if it
    /// is cached or if records in damaged blocks may refer to it.
    ///
    /// - Parameters:
    ///   - processes: Ids of processes that have no record up to and including row `edge`.
    ///   - edge: The last row that was examined.
    package func eraseNewestOwners(processes: [ProcessRowID], seenThrough edge: RowID) throws(StoreFailure) {
        try erasing { () throws(SQLiteError) in
            try removal.eraseNewestOwners(processes: processes, seenThrough: edge, &memory)
        }
    }
}

extension RecordRemoval {
    func finishErasing(_ series: [SeriesID], isWhole: Bool, _ memory: inout WriterMemory) throws(SQLiteError) {
        let reported = try reported(from: memory.open.firstID)
        for id in series {
            let chain = try chain(of: id)
            if chain.isEmpty, try isErasable(id, isWhole: isWhole) {
                try deletePostingChain(of: id)
                try connection.run("DELETE FROM totals WHERE series = ?1", id)
                if reported.contains(id) {
                    // The series has records in the open range. They are counted when that range closes.
                    try connection.run("DELETE FROM counts WHERE series = ?1", id)
                } else {
                    try erase(series: id)
                }
            } else {
                try setTimes(of: id, to: chain)
            }
        }
        memory.caches = WriterMemory.Caches()
    }

    func eraseNewestOwners(processes: [ProcessRowID], seenThrough edge: RowID, _ memory: inout WriterMemory)
        throws(SQLiteError)
    {
        let cached = Set(memory.caches.processes.values.map(\.process))
        let newest =
            try connection.first(
                """
                SELECT max(id) FROM processes
                WHERE NOT EXISTS (SELECT 1 FROM records WHERE id > ?1 AND process = (SELECT max(id) FROM processes))
                """, edge
            ) { $0.id(0, as: ProcessRowID.self) } ?? 0
        if processes.contains(newest), !cached.contains(newest), try !newerThanDamage([newest]).isEmpty {
            let sender = try placeholderOwner().sender
            try connection.run(
                "UPDATE processes SET sender = ?2, pid = 0, gid = 0, started = 0 WHERE id = ?1", newest, sender)
        }
        try connection.execute(
            """
            UPDATE senders SET uid = 4294967295, command = '', executable = '', unit = 'erased ' || id
            WHERE id = (SELECT max(id) FROM senders)
                AND id NOT IN (SELECT sender FROM processes) AND id NOT IN (SELECT sender FROM series);
            UPDATE accounts SET uid = 4294967295, app = 'erased ' || id
            WHERE id = (SELECT max(id) FROM accounts)
                AND id NOT IN (SELECT account FROM groups) AND id NOT IN (SELECT account FROM series)
                AND id NOT IN (SELECT account FROM ledger);
            -- Summaries of several groups. The id of one that is in flight must not be used again.
            UPDATE summaries SET line = '' WHERE "group" IS NULL
                AND account NOT IN (SELECT id FROM accounts WHERE uid <> 4294967295);
            DELETE FROM summaries WHERE "group" IS NULL AND line = ''
                AND id NOT IN (
                    SELECT told.value FROM batches, json_each(batches.notes, '$.summaries') AS told
                    WHERE batches.state = 0);
            DELETE FROM dead_letters WHERE summary IS NOT NULL AND summary NOT IN (SELECT id FROM summaries)
            """)
        memory.caches = WriterMemory.Caches()
    }

    /// Returns the account and the sender to which cleared rows refer. Inserts them if they are missing. Their user id
    /// is 4294967295, which no user has (user_namespaces(7)).
    private func placeholderOwner() throws(SQLiteError) -> (account: AccountID, sender: Int64) {
        try connection.execute(
            """
            INSERT OR IGNORE INTO accounts (uid, app, first_at) VALUES (4294967295, '', 0);
            INSERT OR IGNORE INTO senders (uid, command, executable, unit) VALUES (4294967295, '', '', '')
            """)
        let ids = try connection.first(
            """
            SELECT accounts.id, senders.id FROM accounts, senders
            WHERE accounts.uid = 4294967295 AND app = ''
                AND senders.uid = 4294967295 AND command = '' AND executable = '' AND unit = ''
            """
        ) { ($0.id(0, as: AccountID.self), $0.int64(1)) }
        guard let ids else { throw SQLiteError(code: .corrupt, message: "the row for erased owners is missing") }
        return ids
    }

    /// Returns the series that have a record at this row or a later one.
    func reported(from row: RowID) throws(SQLiteError) -> Set<SeriesID> {
        try Set(connection.all("SELECT DISTINCT series FROM records WHERE id >= ?1", row) { $0.id(0) })
    }

    /// The first and last times of a series in closed ranges.
    private struct Chain {
        /// In milliseconds since 1970-01-01 UTC, like `lastAt`; nil if no records are left.
        var firstAt: Int64?
        var lastAt: Int64?
        /// Whether retention has removed earlier posting lists of the chain.
        var isCut = false
        /// Whether the series has no records in closed ranges.
        var isEmpty: Bool { lastAt == nil }
    }

    private func chain(of series: SeriesID) throws(SQLiteError) -> Chain {
        var chain = Chain()
        var range = try connection.first("SELECT last_range FROM totals WHERE series = ?1", series) { $0.int64(0) }
        while let next = range {
            let found = try connection.first(
                "SELECT records, first_at, last_at, previous FROM postings WHERE range = ?1 AND series = ?2", next,
                series
            ) { ($0.int64(0), $0.int64(1), $0.int64(2), $0.optionalInt64(3)) }
            guard let (records, first, last, previous) = found else {
                chain.isCut = true
                break
            }
            if records > 0 {
                chain.firstAt = min(chain.firstAt ?? first, first)
                chain.lastAt = max(chain.lastAt ?? last, last)
            }
            range = previous
        }
        return chain
    }

    /// Returns `true` if a series that has no records in closed ranges may be erased with its counts.
    private func isErasable(_ series: SeriesID, isWhole: Bool) throws(SQLiteError) -> Bool {
        if isWhole { return true }
        let counted = try connection.integer("SELECT records FROM totals WHERE series = ?1", series)
        return counted <= 0
    }

    /// Deletes the posting lists in the chain of a series.
    func deletePostingChain(of series: SeriesID) throws(SQLiteError) {
        try connection.run(
            """
            WITH RECURSIVE chain (range) AS (
                SELECT last_range FROM totals WHERE series = ?1
                UNION
                SELECT previous FROM chain JOIN postings ON postings.range = chain.range AND postings.series = ?1
                WHERE previous IS NOT NULL
            )
            DELETE FROM postings WHERE series = ?1 AND range IN (SELECT range FROM chain)
            """, series)
    }

    private func setTimes(of series: SeriesID, to chain: Chain) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE totals SET last_at = coalesce(?2, last_at),
                first_at = CASE WHEN ?4 THEN min(first_at, coalesce(?3, first_at)) ELSE coalesce(?3, first_at) END
            WHERE series = ?1
            """, series, chain.lastAt, chain.firstAt, chain.isCut)
    }

    // MARK: Series and groups

    /// Erases a series, and its group if no other series is left. The newest row of each table is only cleared,
    /// because SQLite would assign its id again.
    private func erase(series: SeriesID) throws(SQLiteError) {
        let group = try connection.first(#"SELECT "group" FROM series WHERE id = ?1"#, series) {
            $0.id(0, as: GroupID.self)
        }
        guard let group else { return }
        try connection.run("DELETE FROM moves WHERE series = ?1", series)
        try connection.run("DELETE FROM series WHERE id = ?1 AND id < (SELECT max(id) FROM series)", series)
        let owner = try placeholderOwner()
        // Replaces the whole row, so that no column keeps a text of the series.
        try connection.run(
            """
            REPLACE INTO series (id, "group", account, sender, hash, key, severity, reportable, template, first_at, home)
            SELECT id, "group", ?2, ?3, 0, x'', severity, reportable, '', first_at, home FROM series WHERE id = ?1
            """, series, owner.account, owner.sender)
        let next = try connection.first(
            #"SELECT key FROM series WHERE "group" = ?1 AND key <> x'' ORDER BY id LIMIT 1"#, group
        ) { $0.bytes(0) }
        if let next {
            if let description = SeriesKey.decode(next) { try rename(group: group, after: description) }
        } else {
            try erase(group: group)
        }
    }

    /// Gives a group the title, domain, code and source location of its first remaining series, and replaces versions
    /// that no remaining series has. The old values may come from an erased series.
    private func rename(group: GroupID, after series: SeriesDescription) throws(SQLiteError) {
        try connection.run(
            """
            WITH kept (series, version) AS (
                SELECT id, version FROM series WHERE "group" = ?1 AND key <> x'' AND version IS NOT NULL
            )
            UPDATE groups SET title = ?2, domain = ?3, code = ?4, file = ?5, line = ?6, function = ?7, module = ?8,
                first_version = CASE WHEN first_version IN (SELECT version FROM kept) THEN first_version
                    ELSE (SELECT version FROM kept ORDER BY series LIMIT 1) END,
                last_version = CASE WHEN last_version IN (SELECT version FROM kept) THEN last_version
                    ELSE (SELECT version FROM kept ORDER BY series DESC LIMIT 1) END
            WHERE id = ?1
            """, group, RecordCommit.title(of: series), series.domain, series.code, series.source.fileID,
            series.source.line, series.source.function, series.source.module)
    }

    /// Erases a group without series, and everything that refers to it. The newest group, or one that a cleared series
    /// still refers to, is only cleared.
    func erase(group: GroupID) throws(SQLiteError) {
        // Groups that were merged into this one have no records either. They are erased too, because senders may have
        // chosen their fingerprints.
        let redirects = try connection.all("SELECT id FROM groups WHERE merged_into = ?1", group) {
            $0.id(0, as: GroupID.self)
        }
        for redirect in redirects { try erase(group: redirect) }
        try connection.run("UPDATE groups SET merged_into = NULL, merged_by = NULL WHERE id = ?1", group)
        try connection.run("DELETE FROM corrections WHERE source = ?1 OR target = ?1", group)
        try connection.run("DELETE FROM correction_events WHERE source = ?1 OR target = ?1", group)
        // Records that were stored before their series left the group now belong to the new group of the series.
        try connection.run(#"DELETE FROM moves WHERE "group" = ?1"#, group)
        try connection.run(#"DELETE FROM summary_windows WHERE "group" = ?1"#, group)
        try connection.run(
            """
            DELETE FROM dead_letters
            WHERE summary IN (SELECT id FROM summaries WHERE ("group" = ?1 OR other = ?1) AND state = 2)
            """, group)
        // The id of a summary that is in flight must not be used again.
        try connection.run(#"UPDATE summaries SET line = '' WHERE "group" = ?1 OR other = ?1"#, group)
        try connection.run(
            """
            DELETE FROM summaries WHERE ("group" = ?1 OR other = ?1) AND id NOT IN (
                SELECT told.value FROM batches, json_each(batches.notes, '$.summaries') AS told WHERE batches.state = 0
            )
            """, group)
        try connection.run("DELETE FROM limits WHERE kind = 1 AND key = ?1", group)
        try connection.run(#"DELETE FROM mutes WHERE "group" = ?1"#, group)
        try connection.run(
            """
            DELETE FROM groups WHERE id = ?1 AND id < (SELECT max(id) FROM groups)
                AND NOT EXISTS (SELECT 1 FROM series WHERE "group" = ?1)
            """, group)
        try connection.run(
            """
            UPDATE groups SET title = '', fingerprint = 'erased ' || id, key = 0, domain = NULL, code = NULL, file = NULL,
                line = NULL, function = NULL, module = NULL, first_version = NULL, last_version = NULL,
                state = 0, muted_until = NULL, muted_version = NULL, fixed_version = NULL, fixed_after = NULL,
                muted_left = NULL, changed_by = NULL, changed_at = NULL, change_note = NULL
            WHERE id = ?1
            """, group)
        try connection.run("UPDATE groups SET account = ?2 WHERE id = ?1", group, placeholderOwner().account)
    }
}
