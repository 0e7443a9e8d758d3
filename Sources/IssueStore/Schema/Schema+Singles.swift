extension Schema {
    /// What went outside the walk, and which records a summary tells of.
    static let singles: StaticString = """
        -- Records that go ahead of the backlog, or once more. `batch` is the one that carries them, or carried them last;
        -- 0 while they wait for one. They are looked at before the span that holds the record.
        CREATE TABLE singles (
            destination INTEGER NOT NULL,
            record INTEGER NOT NULL,
            batch INTEGER NOT NULL,
            PRIMARY KEY (destination, record)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX singles_waiting ON singles (destination, record) WHERE batch = 0;

        -- Up to which record those that are express have been looked at; what was refused then goes with the walk.
        ALTER TABLE destinations ADD COLUMN express_id INTEGER NOT NULL DEFAULT 0;

        -- What a summary counted: of one group and for one reason, the records that were held back in a stretch.
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

        -- A summary that was given up has its number here, and no record.
        ALTER TABLE dead_letters ADD COLUMN summary INTEGER;
        """
}
