extension Schema {
    /// What became of the log for each destination.
    static let forwarding: StaticString = """
        CREATE TABLE destinations (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            kind TEXT NOT NULL,
            since INTEGER NOT NULL,
            first_id INTEGER NOT NULL,
            cursor INTEGER NOT NULL,
            -- Whether it is configured; if not, the last row that it was given before it was taken out.
            active INTEGER NOT NULL DEFAULT 1,
            given_id INTEGER NOT NULL DEFAULT 0,
            state TEXT NOT NULL DEFAULT '{}'
        ) STRICT;

        -- Levels of the limiter's buckets, running totals and the like, as of the cursor.
        CREATE TABLE limits (
            destination INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            key INTEGER NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (destination, kind, key)
        ) STRICT, WITHOUT ROWID;

        -- A span of the log that was walked, and what was sent of it; written before the request, answered after it.
        -- `sent`, `withheld` and `dead` are lists of ids in the form of posting lists, against first_id. Kind 0 walks
        -- the log; kind 1 carries summaries alone and spans nothing.
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

        -- Records that must not wait for a batch to fill: critical ones, and the first of a group.
        CREATE TABLE express (
            record INTEGER PRIMARY KEY,
            reason INTEGER NOT NULL
        ) STRICT;

        -- What was held back and counted. `line` is what is sent, byte for byte, once the window is closed.
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
            line TEXT NOT NULL
        ) STRICT;
        CREATE INDEX dead_letters_by_record ON dead_letters (record);

        -- The type that a destination has fixed for a field by its first value.
        CREATE TABLE field_types (
            destination INTEGER NOT NULL,
            path TEXT NOT NULL,
            type INTEGER NOT NULL,
            PRIMARY KEY (destination, path)
        ) STRICT, WITHOUT ROWID;

        -- The conservation law. Destination 0 is the host itself; fate 7 is "received".
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
