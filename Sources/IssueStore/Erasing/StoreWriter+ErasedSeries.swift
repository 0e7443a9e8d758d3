import IssueCore
import IssueProtocol
import SQLiteKit

/// The end of an erasing: what is left of the series whose records went.
extension StoreWriter {
    /// How many series are looked at in one transaction.
    package static let seriesAtATime = 32

    /// Puts the times of some series right, and erases those of which no record is left, with what was said of them.
    ///
    /// Counts of what is erased then are left for `collectCounts(from:)`.
    ///
    /// - Parameter isWhole: whether all of a series was to go, so that counts of what retention took go, too.
    package func finishErasing(_ series: [Int64], isWhole: Bool) throws(StoreFailure) {
        try erasing {
            let reported = try reportedSinceLastRange()
            for id in series {
                let chain = try chain(of: id)
                if chain.isEmpty, try isForgettable(id, isWhole: isWhole) {
                    try forgetChain(of: id)
                    try run("DELETE FROM totals WHERE series = ?1", id)
                    if reported.contains(id) {
                        // It is counted anew when the open range closes.
                        try run("DELETE FROM counts WHERE series = ?1", id)
                    } else {
                        try erase(series: id)
                    }
                } else {
                    try setTimes(of: id, to: chain)
                }
            }
        }
        forgetCaches()
    }

    /// Has the full-text index forget the words of what it lists no more.
    package func finishErasingText() throws(StoreFailure) {
        try erasing { try connection.execute("INSERT INTO group_text (group_text) VALUES ('optimize')") }
    }

    private func run(
        _ sql: StaticString, _ id: Int64, _ owner: (account: Int64, sender: Int64?)? = nil
    ) throws {
        try connection.withStatement(sql) { statement in
            statement.bind(id, at: 1)
            if let owner {
                statement.bind(owner.account, at: 2)
                if let sender = owner.sender { statement.bind(sender, at: 3) }
            }
            try statement.run()
        }
    }

    /// Returns the account and the sender of erased rows, which keep only their ids. Their user id is 4294967295, which
    /// no user has (credentials(7)).
    private func nobody() throws -> (account: Int64, sender: Int64?) {
        try connection.execute(
            """
            INSERT OR IGNORE INTO accounts (uid, app, first_at) VALUES (4294967295, '', 0);
            INSERT OR IGNORE INTO senders (uid, command, executable, unit) VALUES (4294967295, '', '', '')
            """)
        let ids = try connection.withStatement(
            """
            SELECT accounts.id, senders.id FROM accounts, senders
            WHERE accounts.uid = 4294967295 AND app = ''
                AND senders.uid = 4294967295 AND command = '' AND executable = '' AND unit = ''
            """
        ) { try $0.first { ($0.int64(0), $0.int64(1)) } }
        guard let ids else { throw StoreFailure.damaged(SQLiteError(code: .corrupt, message: "a row is missing")) }
        return ids
    }

    /// Takes all but the id from the newest process, sender and account if nothing refers to them.
    ///
    /// - Parameter processes: Those without a record up to a row.
    package func eraseNewestOwners(processes: [Int64], seenThrough edge: Int64) throws(StoreFailure) {
        let cached = Set(self.processes.values.map(\.process))
        try erasing {
            let newest = try connection.withStatement(
                """
                SELECT max(id) FROM processes
                WHERE NOT EXISTS (SELECT 1 FROM records WHERE id > ?1 AND process = (SELECT max(id) FROM processes))
                """
            ) { statement in
                statement.bind(edge, at: 1)
                return try statement.first { $0.int64(0) } ?? 0
            }
            if processes.contains(newest), !cached.contains(newest) {
                let sender = try nobody().sender
                try connection.withStatement(
                    "UPDATE processes SET sender = ?2, pid = 0, gid = 0, started = 0 WHERE id = ?1"
                ) { statement in
                    statement.bind(newest, at: 1)
                    statement.bind(sender, at: 2)
                    try statement.run()
                }
            }
            try connection.execute(
                """
                UPDATE senders SET uid = 4294967295, command = '', executable = '', unit = 'erased ' || id
                WHERE id = (SELECT max(id) FROM senders)
                    AND id NOT IN (SELECT sender FROM processes) AND id NOT IN (SELECT sender FROM series);
                UPDATE accounts SET uid = 4294967295, app = 'erased ' || id
                WHERE id = (SELECT max(id) FROM accounts)
                    AND id NOT IN (SELECT account FROM groups) AND id NOT IN (SELECT account FROM series)
                    AND id NOT IN (SELECT account FROM ledger)
                """)
        }
        forgetCaches()
        senders.removeAll()
        accounts.removeAll()
    }

    private func reportedSinceLastRange() throws -> Set<Int64> {
        var series: Set<Int64> = []
        try connection.withStatement("SELECT DISTINCT series FROM records WHERE id >= ?1") { statement in
            statement.bind(open.firstID, at: 1)
            try statement.forEach { series.insert($0.int64(0)) }
        }
        return series
    }

    /// The times between which a series has records in closed ranges.
    private struct Chain {
        var firstAt: Int64?
        var lastAt: Int64?
        /// Retention has taken what came before.
        var isCut = false
        var isEmpty: Bool { lastAt == nil }
    }

    private func chain(of series: Int64) throws -> Chain {
        var chain = Chain()
        var range = try connection.withStatement("SELECT last_range FROM totals WHERE series = ?1") { statement in
            statement.bind(series, at: 1)
            return try statement.first { $0.int64(0) }
        }
        while let next = range {
            let found = try connection.withStatement(
                "SELECT records, first_at, last_at, previous FROM postings WHERE range = ?1 AND series = ?2"
            ) { statement in
                statement.bind(next, at: 1)
                statement.bind(series, at: 2)
                return try statement.first { ($0.int64(0), $0.int64(1), $0.int64(2), $0.optionalInt64(3)) }
            }
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

    private func isForgettable(_ series: Int64, isWhole: Bool) throws -> Bool {
        if isWhole { return true }
        let counted = try connection.withStatement("SELECT records FROM totals WHERE series = ?1") { statement in
            statement.bind(series, at: 1)
            return try statement.first { $0.int64(0) } ?? 0
        }
        return counted <= 0
    }

    func forgetChain(of series: Int64) throws {
        try connection.withStatement(
            """
            WITH RECURSIVE chain (range) AS (
                SELECT last_range FROM totals WHERE series = ?1
                UNION
                SELECT previous FROM chain JOIN postings ON postings.range = chain.range AND postings.series = ?1
                WHERE previous IS NOT NULL
            )
            DELETE FROM postings WHERE series = ?1 AND range IN (SELECT range FROM chain)
            """
        ) { statement in
            statement.bind(series, at: 1)
            try statement.run()
        }
    }

    private func setTimes(of series: Int64, to chain: Chain) throws {
        try connection.withStatement(
            """
            UPDATE totals SET last_at = coalesce(?2, last_at),
                first_at = CASE WHEN ?4 THEN min(first_at, coalesce(?3, first_at)) ELSE coalesce(?3, first_at) END
            WHERE series = ?1
            """
        ) { statement in
            statement.bind(series, at: 1)
            statement.bind(chain.lastAt, at: 2)
            statement.bind(chain.firstAt, at: 3)
            statement.bind(chain.isCut ? 1 : 0, at: 4)
            try statement.run()
        }
    }

    // MARK: What was said of them

    /// Erases a series, and its group with the last of them; the newest row of a table only becomes empty, since its
    /// number would be given out again.
    private func erase(series: Int64) throws {
        let group = try connection.withStatement(#"SELECT "group" FROM series WHERE id = ?1"#) { statement in
            statement.bind(series, at: 1)
            return try statement.first { $0.int64(0) }
        }
        guard let group else { return }
        try run("DELETE FROM series WHERE id = ?1 AND id < (SELECT max(id) FROM series)", series)
        try run(
            """
            UPDATE series SET hash = 0, key = x'', app = NULL, version = NULL, build = NULL, environment = NULL,
                platform = NULL, network = NULL, development = NULL, domain = NULL, code = NULL, file = NULL,
                line = NULL, "column" = NULL, function = NULL, module = NULL, fingerprint = NULL, template = ''
            WHERE id = ?1
            """, series)
        try run("UPDATE series SET account = ?2, sender = ?3 WHERE id = ?1", series, try nobody())
        let next = try connection.withStatement(
            #"SELECT key FROM series WHERE "group" = ?1 AND key <> x'' ORDER BY id LIMIT 1"#
        ) { statement in
            statement.bind(group, at: 1)
            return try statement.first { $0.bytes(0) }
        }
        if let next {
            if let description = SeriesKey.decode(next) { try rename(group: group, after: description) }
        } else {
            try erase(group: group)
        }
    }

    /// A group's title is the one of its first series, of which a word may have been erased.
    private func rename(group: Int64, after series: SeriesDescription) throws {
        try unindex(group: group)
        try connection.withStatement("UPDATE groups SET title = ?2, domain = ?3 WHERE id = ?1") { statement in
            statement.bind(group, at: 1)
            statement.bind(Self.title(of: series), at: 2)
            statement.bind(series.domain, at: 3)
            try statement.run()
        }
        try connection.withStatement("INSERT INTO group_text (rowid, title, domain) VALUES (?1, ?2, ?3)") { statement in
            statement.bind(group, at: 1)
            statement.bind(Self.title(of: series), at: 2)
            statement.bind(series.domain, at: 3)
            try statement.run()
        }
    }

    func unindex(group: Int64) throws {
        try run(
            """
            INSERT INTO group_text (group_text, rowid, title, domain)
            SELECT 'delete', id, title, domain FROM groups WHERE id = ?1
            """, group)
    }

    private func erase(group: Int64) throws {
        try unindex(group: group)
        try run(#"DELETE FROM summary_windows WHERE "group" = ?1"#, group)
        try run(
            """
            DELETE FROM dead_letters WHERE summary IN (SELECT id FROM summaries WHERE "group" = ?1 AND state = 2)
            """, group)
        // One that is in a request is needed until its answer is there.
        try run(
            """
            DELETE FROM summaries WHERE "group" = ?1 AND id NOT IN (
                SELECT told.value FROM batches, json_each(batches.notes, '$.summaries') AS told WHERE batches.state = 0
            )
            """, group)
        try run("DELETE FROM limits WHERE kind = 1 AND key = ?1", group)
        try run(#"DELETE FROM mutes WHERE "group" = ?1"#, group)
        try run(
            """
            DELETE FROM groups WHERE id = ?1 AND id < (SELECT max(id) FROM groups)
                AND NOT EXISTS (SELECT 1 FROM series WHERE "group" = ?1)
            """, group)
        try run(
            """
            UPDATE groups SET title = '', fingerprint = 'erased ' || id, key = 0, domain = NULL, code = NULL, file = NULL,
                line = NULL, function = NULL, module = NULL, first_version = NULL, last_version = NULL,
                state = 0, muted_until = NULL, muted_version = NULL
            WHERE id = ?1
            """, group)
        try run("UPDATE groups SET account = ?2 WHERE id = ?1", group, (try nobody().account, nil))
        try run("INSERT INTO group_text (rowid, title) SELECT id, title FROM groups WHERE id = ?1", group)
    }
}
