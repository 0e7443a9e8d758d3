-- What issued writes into ClickHouse: one table, and views named as its own.
--
--     clickhouse-client --multiquery < schema.sql
--
-- It works from version 18.16 on. A record that was sent twice is one row after
-- a merge, and one row for each query that says FINAL, as the views do.

CREATE DATABASE IF NOT EXISTS issued;

CREATE TABLE IF NOT EXISTS issued.records (
    event_kind String,
    event_id String,
    -- Whole seconds for sorting and selecting; milliseconds since 1970 beside them.
    time DateTime,
    time_ms Int64,
    received_ms Int64,
    app String,
    uid UInt32,
    host String,
    severity String,
    message String,
    fingerprint String,
    group_id String,
    domain String,
    code Int64,
    version String,
    build Int64,
    environment String,
    platform String,
    network String,
    development UInt8,
    file String,
    line Int64,
    function String,
    unit String,
    command String,
    backtrace String,
    -- JSON: a list of objects, and an object.
    causes String,
    metadata String,
    count Int64,
    occurrences Int64,
    suppressed_before Int64,
    suppression_reason String,
    suppressed_count Int64,
    forwarded_count Int64,
    summary_seq Int64,
    distinct_groups_suppressed Int64,
    still_suppressing UInt8,
    sample_event_ids String
) ENGINE = ReplacingMergeTree()
PARTITION BY toYYYYMM(time)
ORDER BY (app, time, event_id);

-- The issues, those with the newest activity first.
CREATE VIEW IF NOT EXISTS issued.issues AS
SELECT
    app, fingerprint, argMax(severity, time_ms) AS last_severity, count() AS records, sum(count) AS total,
    min(time) AS first_seen, max(time) AS last_seen, uniq(host) AS hosts, argMax(message, time_ms) AS last_message
FROM issued.records FINAL
WHERE event_kind = 'issue'
GROUP BY app, fingerprint
ORDER BY last_seen DESC;

-- Single records, each once; ask with a LIMIT.
CREATE VIEW IF NOT EXISTS issued.recent AS
SELECT time, severity, host, app, version, environment, domain, code, message, metadata, event_id
FROM issued.records FINAL
WHERE event_kind = 'issue'
ORDER BY time DESC, event_id DESC;
