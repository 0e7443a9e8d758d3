extension Schema {
    /// The log of records, what it refers to, and the checkpoints of it that are looked up.
    static let log: StaticString = """
        -- Whose ids they are: from this row on, ids carry this store's code.
        CREATE TABLE stores (
            first_id INTEGER PRIMARY KEY,
            code INTEGER NOT NULL,
            since INTEGER NOT NULL
        ) STRICT;

        -- Log time = received_at + offset, from this row on; a row for each start and each jump of the wall clock.
        CREATE TABLE clock (
            first_id INTEGER PRIMARY KEY,
            offset INTEGER NOT NULL
        ) STRICT;

        -- A user's application, as it calls itself: whose limits and whose sums.
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
            muted_version TEXT,
            regressed INTEGER NOT NULL DEFAULT 0,
            first_record INTEGER NOT NULL,
            first_at INTEGER NOT NULL,
            first_version TEXT,
            last_version TEXT,
            UNIQUE (account, fingerprint)
        ) STRICT;
        CREATE INDEX groups_by_key ON groups (key);
        -- Kept by the writer, since a schema that is not trusted can't reach a virtual table from a trigger.
        CREATE VIRTUAL TABLE group_text USING fts5 (title, domain, content='groups', content_rowid='id');

        -- What the kernel says of a sender that seldom varies.
        CREATE TABLE senders (
            id INTEGER PRIMARY KEY,
            uid INTEGER NOT NULL,
            command TEXT NOT NULL,
            executable TEXT NOT NULL,
            unit TEXT NOT NULL,
            UNIQUE (uid, command, executable, unit)
        ) STRICT;

        -- All that seldom varies in a record, stored once. `key` is the same in the form in which it is compared.
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

        -- One for each connection that reported.
        CREATE TABLE processes (
            id INTEGER PRIMARY KEY,
            sender INTEGER NOT NULL REFERENCES senders,
            pid INTEGER NOT NULL,
            gid INTEGER NOT NULL,
            started INTEGER NOT NULL
        ) STRICT;

        -- The log. `message` is NULL where the series' template says it all, a BLOB of what its placeholders stand for
        -- (divided by 0x1F), or TEXT where it is whole. Times of the sender are given against received_at.
        CREATE TABLE records (
            id INTEGER PRIMARY KEY,
            series INTEGER NOT NULL,
            process INTEGER NOT NULL,
            received_at INTEGER NOT NULL,
            occurred INTEGER,
            first_occurred INTEGER,
            count INTEGER NOT NULL,
            message ANY,
            metadata TEXT,
            details TEXT
        ) STRICT;

        -- A producer's mark, and the calls whose receipts it may ask for again.
        CREATE TABLE producers (
            uid INTEGER NOT NULL,
            producer BLOB NOT NULL,
            mark BLOB NOT NULL,
            used_at INTEGER NOT NULL,
            PRIMARY KEY (uid, producer)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX producers_by_use ON producers (used_at);

        -- Ranges of ids that are closed; what lies above the last is the open one.
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
            PRIMARY KEY (range, series)
        ) STRICT, WITHOUT ROWID;

        -- Exact as of the last closed range.
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
