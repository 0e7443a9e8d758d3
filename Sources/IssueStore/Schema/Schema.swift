import IssueCore
package import IssueProtocol
package import SQLiteKit

/// The schema of the database, as a list of migrations.
///
/// A migration is never changed after its release. Later changes are new migrations, in `Schema+Migrations.swift`. Even
/// a comment within a statement must not change, because `checkWhole` compares it. `Documentation/Storage.md` describes
/// the tables.
package enum Schema {
    /// The `application_id` of the database: `issd` in ASCII. Programs such as `file` recognise the database by it.
    package static let applicationID: Int32 = 0x6973_7364

    /// Sets up new files, and upgrades files of schema version 9 or later. Earlier versions stored each record in a row
    /// of its own; their files are moved aside and can be imported.
    package static let migrator = Migrator(
        applicationID: applicationID, obsoleteVersion: 8,
        migrations: migrations)

    static let migrations = [
        Migration(recordLog, forwarding, retention, views),
        Migration(deployments),
        Migration(fixes),
        Migration(grouping),
        Migration(countdowns),
        Migration(notifying),
        Migration(escalations),
        Migration(boundedWork),
        Migration(stateChanges),
        Migration(correctionEvents),
        Migration(damage),
    ]

    /// Rejects a file of another program, or with a schema version that is too new or too old. Does not change the
    /// file.
    static func recognize(_ connection: DatabaseConnection) throws(StoreFailure) {
        do throws(MigrationError) { _ = try migrator.recognize(connection) } catch { throw StoreFailure(error) }
    }

    /// Rejects a file in which a table, index or view of the migrations is missing or has different SQL, because
    /// commits to it could fail. Additional objects are allowed.
    ///
    /// - Throws: `StoreFailure.damaged` for such a file, or another failure if the schema cannot be read.
    static func checkWhole(_ connection: DatabaseConnection) throws(StoreFailure) {
        let (reference, found) = try StoreWriter.convertingErrors { () throws(SQLiteError) in
            (try DatabaseConnection(path: ":memory:"), Set(try definitions(connection)))
        }
        do throws(MigrationError) { _ = try migrator.migrate(reference) } catch { throw StoreFailure(error) }
        let expected = try StoreWriter.convertingErrors { () throws(SQLiteError) in try definitions(reference) }
        guard let sql = expected.first(where: { !found.contains($0) }) else { return }
        let message = "the schema lacks an object, or has it with different SQL: \(sql.prefix(40))"
        throw .damaged(SQLiteError(code: .corrupt, message: message))
    }

    /// Returns the SQL of all schema objects, except automatic indexes, which have no SQL.
    private static func definitions(_ connection: DatabaseConnection) throws(SQLiteError) -> [String] {
        try connection.all("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL") { $0.text(0) }
    }

    /// Sets the size of the writer's page cache to 4 MiB.
    static func setCache(_ connection: DatabaseConnection) throws(SQLiteError) {
        try connection.setPragma("cache_size", to: -4096)
    }

    /// Sets the pragmas that must precede the first table, and the options of the writer's connection.
    static func prepare(_ connection: DatabaseConnection) throws(SQLiteError) {
        guard !connection.isReadOnly else {
            throw SQLiteError(code: .readOnly, message: "the file is read-only")
        }
        try connection.setPragma("page_size", to: 8192)
        // Setting an unchanged value would write to the file, which fails if the disk is full.
        if try connection.pragma("auto_vacuum") != 2 { try connection.setPragma("auto_vacuum", to: "INCREMENTAL") }
        _ = try connection.setPragma("journal_mode", to: "WAL")
        try connection.setPragma("synchronous", to: "FULL")
        try connection.setPragma("foreign_keys", to: "ON")
        try setCache(connection)
        try connection.setPragma("temp_store", to: "MEMORY")
        // Debian's SQLite enables this by default, and would overwrite everything that retention deletes. `erasing`
        // enables it when needed.
        try connection.setPragma("secure_delete", to: 0)
    }
}

extension Schema {
    /// The record log, the tables that its records refer to, and the index of closed ranges.
    static let recordLog: StaticString = """
        -- The store code of all ids from first_id on.
        CREATE TABLE stores (
            first_id INTEGER PRIMARY KEY,
            code INTEGER NOT NULL,
            since INTEGER NOT NULL
        ) STRICT;

        -- Log time = received_at + offset from first_id on. A row per change of the offset.
        CREATE TABLE clock (
            first_id INTEGER PRIMARY KEY,
            offset INTEGER NOT NULL
        ) STRICT;

        -- A user and the name of their application. Limits and the ledger belong to accounts.
        CREATE TABLE accounts (
            id INTEGER PRIMARY KEY,
            uid INTEGER NOT NULL,
            app TEXT NOT NULL,
            first_at INTEGER NOT NULL,
            UNIQUE (uid, app)
        ) STRICT;

        CREATE TABLE groups (
            id INTEGER PRIMARY KEY,
            account INTEGER NOT NULL REFERENCES accounts,
            fingerprint TEXT NOT NULL,
            rule INTEGER NOT NULL,
            key INTEGER NOT NULL,
            merged_into INTEGER REFERENCES groups,
            title TEXT NOT NULL,
            severity INTEGER NOT NULL,
            domain TEXT,
            code INTEGER,
            file TEXT,
            line INTEGER,
            function TEXT,
            module TEXT,
            state INTEGER NOT NULL DEFAULT 0,
            muted_until INTEGER,
            -- The newest version of the application when the state was set, if only a newer one ends the state.
            muted_version TEXT,
            regressed INTEGER NOT NULL DEFAULT 0,
            -- The record that last reopened the group. It is a priority record, like the first of a group.
            regression INTEGER NOT NULL DEFAULT 0,
            first_record INTEGER NOT NULL,
            first_at INTEGER NOT NULL,
            first_version TEXT,
            last_version TEXT,
            UNIQUE (account, fingerprint)
        ) STRICT;
        CREATE INDEX groups_by_key ON groups (key);
        CREATE INDEX groups_by_mute ON groups (muted_until) WHERE muted_until IS NOT NULL;

        -- The attributes of a sender that seldom vary, as reported by the kernel.
        CREATE TABLE senders (
            id INTEGER PRIMARY KEY,
            uid INTEGER NOT NULL,
            command TEXT NOT NULL,
            executable TEXT NOT NULL,
            unit TEXT NOT NULL,
            UNIQUE (uid, command, executable, unit)
        ) STRICT;

        -- The attributes of records that seldom vary, stored once. `key` is their encoding, used to compare them.
        CREATE TABLE series (
            id INTEGER PRIMARY KEY,
            "group" INTEGER NOT NULL REFERENCES groups,
            account INTEGER NOT NULL REFERENCES accounts,
            sender INTEGER NOT NULL REFERENCES senders,
            hash INTEGER NOT NULL,
            key BLOB NOT NULL,
            severity INTEGER NOT NULL,
            reportable INTEGER NOT NULL,
            app TEXT,
            version TEXT,
            build INTEGER,
            environment TEXT,
            platform TEXT,
            network TEXT,
            development INTEGER,
            domain TEXT,
            code INTEGER,
            file TEXT,
            line INTEGER,
            "column" INTEGER,
            function TEXT,
            module TEXT,
            fingerprint TEXT,
            template TEXT NOT NULL,
            first_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX series_by_hash ON series (hash);
        CREATE INDEX series_by_group ON series ("group");

        -- One row per connection that reported.
        CREATE TABLE processes (
            id INTEGER PRIMARY KEY,
            sender INTEGER NOT NULL REFERENCES senders,
            pid INTEGER NOT NULL,
            gid INTEGER NOT NULL,
            started INTEGER NOT NULL
        ) STRICT;

        -- The record log: consecutive records, compressed. Storage.md describes the body. first_id and last_id are the
        -- lowest and highest id that the block may hold, even if records were removed. No block has records of two
        -- ranges.
        CREATE TABLE blocks (
            first_id INTEGER PRIMARY KEY,
            last_id INTEGER NOT NULL,
            records INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            body BLOB NOT NULL
        ) STRICT;

        -- Producer marks, which include the last calls and the row ids of their records.
        CREATE TABLE producers (
            uid INTEGER NOT NULL,
            producer BLOB NOT NULL,
            mark BLOB NOT NULL,
            used_at INTEGER NOT NULL,
            PRIMARY KEY (uid, producer)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX producers_by_use ON producers (used_at);

        -- Closed ranges of ids. Ids above the last one belong to the open range.
        CREATE TABLE ranges (
            id INTEGER PRIMARY KEY,
            first_id INTEGER NOT NULL,
            last_id INTEGER NOT NULL,
            first_at INTEGER NOT NULL,
            last_at INTEGER NOT NULL,
            records INTEGER NOT NULL,
            bytes INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE postings (
            range INTEGER NOT NULL,
            series INTEGER NOT NULL,
            records INTEGER NOT NULL,
            first_at INTEGER NOT NULL,
            last_at INTEGER NOT NULL,
            previous INTEGER,
            ids BLOB NOT NULL,
            bytes INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (range, series)
        ) STRICT, WITHOUT ROWID;

        -- The counts and times of each series up to the last closed range.
        CREATE TABLE totals (
            series INTEGER PRIMARY KEY,
            last_range INTEGER NOT NULL,
            records INTEGER NOT NULL,
            occurrences INTEGER NOT NULL,
            first_at INTEGER NOT NULL,
            last_at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE counts (
            minute INTEGER NOT NULL,
            series INTEGER NOT NULL,
            records INTEGER NOT NULL,
            occurrences INTEGER NOT NULL,
            PRIMARY KEY (minute, series)
        ) STRICT, WITHOUT ROWID;
        """
}

extension Schema {
    /// Destinations, batches and the ledger.
    static let forwarding: StaticString = """
        CREATE TABLE destinations (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            kind TEXT NOT NULL,
            since INTEGER NOT NULL,
            first_id INTEGER NOT NULL,
            cursor INTEGER NOT NULL,
            -- Whether it is configured. If not, given_id is the last row that was queued for it.
            active INTEGER NOT NULL DEFAULT 1,
            given_id INTEGER NOT NULL DEFAULT 0,
            -- The row up to which priority records were examined. Those that were not admitted are sent by the scan.
            express_id INTEGER NOT NULL DEFAULT 0,
            state TEXT NOT NULL DEFAULT '{}'
        ) STRICT;

        -- The state of the limiter as of the cursor: buckets, groups, windows and sequence numbers.
        CREATE TABLE limits (
            destination INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            key INTEGER NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (destination, kind, key)
        ) STRICT, WITHOUT ROWID;

        -- A scanned span of the record log and the records sent from it. Written before the request, updated after the
        -- response. `sent`, `withheld` and `dead` are posting lists relative to first_id. Kind 0 is a scan; kind 1 has
        -- only summaries and no span; kinds 2 and 3 have the priority records and the requeued records of `singles`.
        CREATE TABLE batches (
            id INTEGER PRIMARY KEY,
            destination INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            first_id INTEGER NOT NULL,
            last_id INTEGER NOT NULL,
            state INTEGER NOT NULL,
            at INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0,
            answer TEXT,
            maybe_duplicate INTEGER NOT NULL DEFAULT 0,
            sent BLOB NOT NULL,
            withheld BLOB NOT NULL,
            dead BLOB NOT NULL,
            notes TEXT NOT NULL
        ) STRICT;
        CREATE INDEX batches_by_span ON batches (destination, last_id) WHERE kind = 0;
        CREATE INDEX batches_unanswered ON batches (destination, id) WHERE state = 0;

        -- Priority records: critical ones, the first of each group, and regressions.
        CREATE TABLE express (
            record INTEGER PRIMARY KEY,
            reason INTEGER NOT NULL
        ) STRICT;

        -- Summaries of suppressed records, and lines about corrections. `line` is sent byte for byte.
        CREATE TABLE summaries (
            id INTEGER PRIMARY KEY,
            destination INTEGER NOT NULL,
            "group" INTEGER,
            account INTEGER NOT NULL,
            reason TEXT NOT NULL,
            sequence INTEGER NOT NULL,
            state INTEGER NOT NULL,
            at INTEGER NOT NULL,
            records INTEGER NOT NULL,
            occurrences INTEGER NOT NULL,
            line TEXT NOT NULL
        ) STRICT;
        CREATE INDEX summaries_unsent ON summaries (destination, id) WHERE state = 0;

        CREATE TABLE dead_letters (
            id INTEGER PRIMARY KEY,
            destination INTEGER NOT NULL,
            record INTEGER NOT NULL,
            batch INTEGER,
            reason TEXT NOT NULL,
            answer TEXT,
            attempts INTEGER NOT NULL,
            at INTEGER NOT NULL,
            line TEXT NOT NULL,
            -- The id of a summary that was given up. It has no record.
            summary INTEGER
        ) STRICT;
        CREATE INDEX dead_letters_by_record ON dead_letters (record);

        -- Priority and requeued records, which are sent outside the scan. `batch` is the last batch that contains the
        -- record, or 0 while the record waits. It takes precedence over the batch whose span contains the record.
        CREATE TABLE singles (
            destination INTEGER NOT NULL,
            record INTEGER NOT NULL,
            batch INTEGER NOT NULL,
            PRIMARY KEY (destination, record)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX singles_waiting ON singles (destination, record) WHERE batch = 0;

        -- The rows that a summary counts: suppressed records of one group, for one reason.
        CREATE TABLE summary_windows (
            destination INTEGER NOT NULL,
            "group" INTEGER NOT NULL,
            reason TEXT NOT NULL,
            last_id INTEGER NOT NULL,
            first_id INTEGER NOT NULL,
            summary INTEGER NOT NULL,
            PRIMARY KEY (destination, "group", reason, last_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX summary_windows_by_summary ON summary_windows (summary);

        -- The type that a destination assigned to a field when it received the field's first value.
        CREATE TABLE field_types (
            destination INTEGER NOT NULL,
            path TEXT NOT NULL,
            type INTEGER NOT NULL,
            PRIMARY KEY (destination, path)
        ) STRICT, WITHOUT ROWID;

        -- The number of records per fate. Destination 0 is the host itself; fate 7 is "received".
        CREATE TABLE ledger (
            destination INTEGER NOT NULL,
            account INTEGER NOT NULL,
            fate INTEGER NOT NULL,
            records INTEGER NOT NULL,
            occurrences INTEGER NOT NULL,
            PRIMARY KEY (destination, account, fate)
        ) STRICT, WITHOUT ROWID;
        """
}

extension Schema {
    /// Tables for retention, mutes and copies.
    static let retention: StaticString = """
        -- The approximate bytes that a user's records take in a closed range.
        CREATE TABLE shares (
            range INTEGER NOT NULL,
            uid INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            PRIMARY KEY (range, uid)
        ) STRICT, WITHOUT ROWID;

        -- The log time of a range's last record. Retention uses it instead of wall-clock times.
        CREATE TABLE ages (
            range INTEGER PRIMARY KEY,
            at INTEGER NOT NULL
        ) STRICT;

        -- The rows of records that were received while a group was muted. Without last_id, it is still muted.
        CREATE TABLE mutes (
            "group" INTEGER NOT NULL,
            first_id INTEGER NOT NULL,
            last_id INTEGER,
            PRIMARY KEY ("group", first_id)
        ) STRICT, WITHOUT ROWID;

        -- If this file is a copy of a store: the time at which it was made. Empty in a store that is in use.
        CREATE TABLE copies (
            at INTEGER PRIMARY KEY
        ) STRICT;
        """
}

// These conformances are here because neither IssueCore nor SQLiteKit imports the other.
extension AccountID: DatabaseID {}
extension BatchID: DatabaseID {}
extension GroupID: DatabaseID {}
extension ProcessRowID: DatabaseID {}
extension RowID: DatabaseID {}
extension SeriesID: DatabaseID {}

/// Stored as milliseconds since 1970-01-01 UTC.
extension IssueTimestamp: DatabaseValue {
    package func bind(to statement: borrowing Statement, at position: Int) {
        statement.bind(millisecondsSince1970, at: position)
    }
}

extension Row {
    func time(_ column: Int) -> IssueTimestamp { IssueTimestamp(millisecondsSince1970: int64(column)) }

    func optionalTime(_ column: Int) -> IssueTimestamp? { isNull(column) ? nil : time(column) }
}

extension Schema {
    /// Views for reading the file with `issuectl sql`. Their counts are exact, because they include the open range. The
    /// table `records` in them is the virtual table of `BlockReader`, which shows the records in `blocks`.
    static let views: StaticString = """
        CREATE VIEW severities (severity, name) AS
            VALUES (0, 'debug'), (1, 'info'), (2, 'warning'), (3, 'error'), (4, 'critical');

        CREATE VIEW fates (fate, name) AS
            VALUES (0, 'pending'), (1, 'delivered'), (2, 'summarised'), (3, 'dead_lettered'), (4, 'withheld'),
                   (5, 'expired'), (6, 'unconfirmed'), (7, 'received');

        CREATE VIEW series_totals AS
            WITH open AS (
                SELECT series, count(*) AS records, sum(count) AS occurrences,
                       min(received_at) AS first_at, max(received_at) AS last_at
                FROM records
                WHERE id > (SELECT coalesce(max(last_id), 0) FROM ranges)
                GROUP BY series
            )
            SELECT series.id AS series, series."group",
                   coalesce(totals.records, 0) + coalesce(open.records, 0) AS records,
                   coalesce(totals.occurrences, 0) + coalesce(open.occurrences, 0) AS occurrences,
                   -- The wall clock may have been set back between two ranges.
                   coalesce(min(totals.first_at, open.first_at), totals.first_at, open.first_at) AS first_at,
                   coalesce(max(totals.last_at, open.last_at), totals.last_at, open.last_at) AS last_at
            FROM series
            LEFT JOIN totals ON totals.series = series.id
            LEFT JOIN open ON open.series = series.id;

        CREATE VIEW issues AS
            SELECT groups.id, severities.name AS severity, sum(t.records) AS records,
                   sum(t.occurrences) AS occurrences,
                   strftime('%Y-%m-%dT%H:%M:%fZ', min(t.first_at) / 1000.0, 'unixepoch') AS first_seen,
                   strftime('%Y-%m-%dT%H:%M:%fZ', max(t.last_at) / 1000.0, 'unixepoch') AS last_seen,
                   accounts.uid, accounts.app, groups.domain, groups.code, groups.title, groups.fingerprint
            FROM groups
            JOIN accounts ON accounts.id = groups.account
            JOIN severities ON severities.severity = groups.severity
            JOIN series_totals AS t ON t."group" = groups.id
            GROUP BY groups.id
            ORDER BY max(t.last_at) DESC;

        -- Newest first; use it with a LIMIT.
        CREATE VIEW recent AS
            SELECT records.id,
                   strftime('%Y-%m-%dT%H:%M:%fZ', records.received_at / 1000.0, 'unixepoch') AS received_at,
                   severities.name AS severity, senders.uid, processes.pid, senders.unit,
                   series.app, series.version, series.domain, series.code,
                   CASE typeof(records.message)
                       WHEN 'text' THEN records.message
                       ELSE (
                           WITH RECURSIVE filled (template, rest, parts) AS (
                               SELECT '', series.template, CAST(coalesce(records.message, '') AS TEXT) || char(31)
                               UNION ALL
                               SELECT template || CASE
                                          WHEN unicode(rest) BETWEEN 1 AND 7
                                              THEN substr(parts, 1, instr(parts, char(31)) - 1)
                                          ELSE substr(rest, 1, 1)
                                      END,
                                      substr(rest, 2),
                                      CASE WHEN unicode(rest) BETWEEN 1 AND 7
                                          THEN substr(parts, instr(parts, char(31)) + 1) ELSE parts END
                               FROM filled WHERE rest <> ''
                           )
                           SELECT template FROM filled WHERE rest = ''
                       )
                   END AS message,
                   records.count, records.metadata, records.details
            -- CROSS JOIN makes SQLite read the records in order, so that a LIMIT ends the query early.
            FROM records
            CROSS JOIN series ON series.id = records.series
            CROSS JOIN severities ON severities.severity = series.severity
            CROSS JOIN processes ON processes.id = records.process
            CROSS JOIN senders ON senders.id = processes.sender
            ORDER BY records.id DESC;

        CREATE VIEW ledgers AS
            SELECT coalesce(destinations.name, 'host') AS destination, accounts.uid, accounts.app,
                   fates.name AS fate, ledger.records, ledger.occurrences
            FROM ledger
            JOIN accounts ON accounts.id = ledger.account
            JOIN fates ON fates.fate = ledger.fate
            LEFT JOIN destinations ON destinations.id = ledger.destination;

        -- Must be empty. Lists accounts whose records do not have exactly one fate each, or whose sums are negative.
        CREATE VIEW ledger_check AS
            SELECT destination, account,
                   sum(CASE WHEN fate = 7 THEN records ELSE 0 END) AS received,
                   sum(CASE WHEN fate < 7 THEN records ELSE 0 END) AS fated,
                   sum(CASE WHEN fate = 7 THEN occurrences ELSE 0 END) AS received_occurrences,
                   sum(CASE WHEN fate < 7 THEN occurrences ELSE 0 END) AS fated_occurrences
            FROM ledger
            WHERE destination > 0
            GROUP BY destination, account
            HAVING received <> fated OR received_occurrences <> fated_occurrences OR min(records) < 0
                OR min(occurrences) < 0;
        """
}
