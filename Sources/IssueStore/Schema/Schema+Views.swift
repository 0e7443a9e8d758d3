extension Schema {
    /// Views for reading the file with `issuectl sql`. Their counts are exact, because they include the open range.
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
