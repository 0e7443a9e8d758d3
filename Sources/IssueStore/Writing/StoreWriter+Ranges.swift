import IssueCore
import SQLiteKit

extension StoreWriter {
    /// Whether the open range holds as much as a range may.
    var isRangeFull: Bool { open.count >= settings.rangeRecords || open.byteCount >= settings.rangeBytes }

    /// Writes what the open range has gathered, in the transaction of the commit that filled it.
    func closeRange() throws {
        var shares: [Int64: Int64] = [:]
        for posting in open.postings() {
            try write(posting)
            shares[try user(ofSeries: posting.series), default: 0] += posting.bytes
        }
        try write(shares)
        try connection.withStatement(
            """
            INSERT INTO ranges (id, first_id, last_id, first_at, last_at, records, bytes)
            SELECT ?1, ?2, ?3, coalesce(min(first_at), 0), coalesce(max(last_at), 0), coalesce(sum(records), 0), ?4
            FROM postings WHERE range = ?1
            """
        ) { statement in
            statement.bind(rangeID, at: 1)
            statement.bind(open.firstID, at: 2)
            statement.bind(open.lastID, at: 3)
            statement.bind(open.byteCount, at: 4)
            try statement.run()
        }
    }

    /// Goes on with an empty range; called once the closed one is committed.
    func startRange() {
        rangeID += 1
        open.reset(firstID: open.nextID)
    }

    private func write(_ shares: [Int64: Int64]) throws {
        for (user, bytes) in shares {
            try connection.withStatement("INSERT INTO shares (range, uid, bytes) VALUES (?1, ?2, ?3)") { statement in
                statement.bind(rangeID, at: 1)
                statement.bind(user, at: 2)
                statement.bind(bytes, at: 3)
                try statement.run()
            }
        }
    }

    /// Whose a series is, which never changes.
    private func user(ofSeries series: Int64) throws -> Int64 {
        if let known = users[series] { return known }
        if users.count >= 65_536 { users.removeAll() }
        let user = try connection.withStatement(
            "SELECT uid FROM series JOIN accounts ON accounts.id = account WHERE series.id = ?1"
        ) { statement in
            statement.bind(series, at: 1)
            return try statement.first { $0.int64(0) } ?? 0
        }
        users[series] = user
        return user
    }

    private func write(_ posting: OpenRange.Posting) throws {
        try connection.withStatement(
            """
            INSERT INTO postings (range, series, records, first_at, last_at, previous, ids, bytes)
            VALUES (?1, ?2, ?3, ?4, ?5, (SELECT last_range FROM totals WHERE series = ?2), ?6, ?7)
            """
        ) { statement in
            statement.bind(rangeID, at: 1)
            statement.bind(posting.series, at: 2)
            statement.bind(posting.records, at: 3)
            statement.bind(posting.firstAt, at: 4)
            statement.bind(posting.lastAt, at: 5)
            statement.bind(blob: posting.ids, at: 6)
            statement.bind(posting.bytes, at: 7)
            try statement.run()
        }
        try connection.withStatement(
            """
            INSERT INTO totals (series, last_range, records, occurrences, first_at, last_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT DO UPDATE SET last_range = ?2, records = records + ?3, occurrences = occurrences + ?4,
                                      first_at = min(first_at, ?5), last_at = max(last_at, ?6)
            """
        ) { statement in
            statement.bind(posting.series, at: 1)
            statement.bind(rangeID, at: 2)
            statement.bind(posting.records, at: 3)
            statement.bind(posting.occurrences, at: 4)
            statement.bind(posting.firstAt, at: 5)
            statement.bind(posting.lastAt, at: 6)
            try statement.run()
        }
        for minute in posting.minutes {
            try connection.withStatement(
                """
                INSERT INTO counts (minute, series, records, occurrences) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT DO UPDATE SET records = records + ?3, occurrences = occurrences + ?4
                """
            ) { statement in
                statement.bind(minute.minute, at: 1)
                statement.bind(posting.series, at: 2)
                statement.bind(minute.records, at: 3)
                statement.bind(minute.occurrences, at: 4)
                try statement.run()
            }
        }
    }
}
