extension Schema {
    /// How old closed ranges are, also when nothing is left of them.
    static let ages: StaticString = """
        -- The log time of a range's last record: what has not come since then is old by it, whatever the wall clock said.
        CREATE TABLE ages (
            range INTEGER PRIMARY KEY,
            at INTEGER NOT NULL
        ) STRICT;
        INSERT INTO ages (range, at)
            SELECT id, last_at + coalesce(
                (SELECT offset FROM clock WHERE first_id <= last_id ORDER BY first_id DESC LIMIT 1), 0)
            FROM ranges;
        """
}
