-- The ClickHouse table that issued writes to, and views of it. The views issues and
-- recent have the same names as those in the daemon's own database.
--
--     clickhouse-client --multiquery < schema.sql
--
-- Works with ClickHouse 18.16 and later. A record that was sent twice becomes one row
-- after a merge. Queries with FINAL, such as the views, always see one row.

CREATE DATABASE IF NOT EXISTS issued;

CREATE TABLE IF NOT EXISTS issued.records (
    event_kind String,
    event_id String,
    -- In whole seconds, for sorting and filtering. time_ms has milliseconds since 1970.
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
    -- Ids set by the application. To add them to an older table:
    --     ALTER TABLE issued.records ADD COLUMN trace_id String, ADD COLUMN span_id String,
    --         ADD COLUMN request_id String, ADD COLUMN user_id String
    trace_id String,
    span_id String,
    request_id String,
    user_id String,
    backtrace String,
    -- JSON: causes is an array of objects, metadata an object. For summaries, metadata has the times window_start,
    -- first_seen and last_seen as text, for instance visitParamExtractString(metadata, 'window_start').
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

-- One row per issue, newest activity first.
CREATE VIEW IF NOT EXISTS issued.issues AS
SELECT
    app, fingerprint, argMax(severity, time_ms) AS last_severity, count() AS records, sum(count) AS total,
    min(time) AS first_seen, max(time) AS last_seen, uniq(host) AS hosts, argMax(message, time_ms) AS last_message
FROM issued.records FINAL
WHERE event_kind = 'issue'
GROUP BY app, fingerprint
ORDER BY last_seen DESC;

-- Corrections of the grouping, with the issues before (other_group_id) and after them. Grouping.md explains the columns.
CREATE VIEW IF NOT EXISTS issued.corrections AS
SELECT
    time, time_ms, app, uid, host, group_id, fingerprint, message, event_id,
    visitParamExtractInt(metadata, 'correction') AS correction,
    visitParamExtractString(metadata, 'correction_action') AS correction_action,
    visitParamExtractString(metadata, 'correction_undone') AS correction_undone,
    visitParamExtractString(metadata, 'other_group_id') AS other_group_id,
    visitParamExtractString(metadata, 'other_fingerprint') AS other_fingerprint,
    visitParamExtractString(metadata, 'correction_template') AS correction_template,
    visitParamExtractString(metadata, 'correction_field') AS correction_field,
    visitParamExtractInt(metadata, 'correction_author') AS correction_author,
    visitParamExtractString(metadata, 'correction_reason') AS correction_reason
FROM issued.records FINAL
WHERE event_kind = 'correction'
ORDER BY time_ms, event_id;

-- Single records without duplicates, newest first. Use a LIMIT.
CREATE VIEW IF NOT EXISTS issued.recent AS
SELECT time, severity, host, app, version, environment, domain, code, message, metadata, event_id
FROM issued.records FINAL
WHERE event_kind = 'issue'
ORDER BY time DESC, event_id DESC;
