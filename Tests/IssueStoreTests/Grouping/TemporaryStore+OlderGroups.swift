import SQLiteKit

@testable import IssueStore

extension DatabaseConnection {
    /// Turns the groups with computed fingerprints into groups of an older rule: one for each series.
    ///
    /// - Parameter keepsFingerprints: `true` to keep the groups with the fingerprints of the newest rule, without
    ///   series.
    func ageGroups(keepsFingerprints: Bool = false) throws {
        try execute("BEGIN IMMEDIATE")
        do {
            try execute(
                """
                CREATE TEMP TABLE aged AS
                    SELECT series.id AS series, 'old ' || series.id || ' ' || (SELECT count(*) FROM groups) AS name,
                           series."group" AS original, coalesce(first.id, 0) AS first
                    FROM series
                    LEFT JOIN (SELECT series, min(id) AS id FROM records GROUP BY series) AS first
                        ON first.series = series.id
                    WHERE coalesce(series.fingerprint, '') = '' AND key <> x'';
                INSERT INTO groups (account, fingerprint, rule, key, title, severity, domain, code, file, line,
                                    function, module, first_record, first_at, first_version, last_version)
                    SELECT account, aged.name, 1, abs(random()), title, severity, domain, code, file, line, function,
                           module, aged.first, first_at, first_version, last_version
                    FROM aged JOIN groups ON groups.id = aged.original;
                UPDATE series SET home = NULL, "group" =
                        (SELECT groups.id FROM aged JOIN groups ON fingerprint = name WHERE aged.series = series.id)
                    WHERE id IN (SELECT series FROM aged);
                """)
            if !keepsFingerprints {
                try execute(
                    """
                    UPDATE groups SET fingerprint = 'void ' || id, rule = 2 WHERE id IN (SELECT original FROM aged)
                        AND merged_into IS NULL;
                    DELETE FROM groups WHERE id IN (SELECT original FROM aged)
                        AND id NOT IN (SELECT merged_into FROM groups WHERE merged_into IS NOT NULL)
                        AND id NOT IN (SELECT "group" FROM series)
                    """)
            }
            try execute("DROP TABLE aged; COMMIT")
        } catch {
            try? execute("ROLLBACK")
            throw error
        }
    }
}
