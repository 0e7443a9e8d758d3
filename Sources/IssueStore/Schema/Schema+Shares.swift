extension Schema {
    /// Who takes how much room in which range, for a retention that is fair.
    static let shares: StaticString = """
        -- What a user's records take in a closed range: their texts, and the rows beside them, about.
        CREATE TABLE shares (
            range INTEGER NOT NULL,
            uid INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            PRIMARY KEY (range, uid)
        ) STRICT, WITHOUT ROWID;

        -- What was not counted is taken for even.
        ALTER TABLE postings ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
        UPDATE postings SET bytes = coalesce(
            (SELECT ranges.bytes * postings.records / max(ranges.records, 1) FROM ranges WHERE ranges.id = postings.range),
            0);
        INSERT INTO shares (range, uid, bytes)
            SELECT postings.range, accounts.uid, sum(postings.bytes)
            FROM postings JOIN series ON series.id = postings.series JOIN accounts ON accounts.id = series.account
            GROUP BY postings.range, accounts.uid;
        """
}
