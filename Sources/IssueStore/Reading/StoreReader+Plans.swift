import IssueCore
import IssueProtocol

extension StoreReader {
    /// The queries that dominate the time of `List`, `Show`, `Records`, `Histogram` and `Status`, by name.
    ///
    /// Support bundles contain their plans, so that a missing index or a bad choice of SQLite can be seen from afar.
    /// Parameters are unbound.
    package static var mainQueries: [(name: String, sql: String)] {
        [
            ("List: groups, newest first", groupSumsSQL(.newest, isBounded: false)),
            ("List: groups in a period, most records first", groupSumsSQL(.most, isBounded: true)),
            ("Records and searches: series of a filter", SeriesSelection.sql),
            ("Show: counts of a group", "SELECT sum(records) FROM series_totals WHERE \"group\" = ?1"),
            (
                "Histogram: counts per minute",
                "SELECT series, minute, records FROM counts WHERE minute BETWEEN ?1 AND ?2"
            ),
            (
                "Status: ledgers",
                "SELECT destination, account, fate, sum(records) FROM ledger GROUP BY destination, account, fate"
            ),
            ("Status: levels of the limits", "SELECT kind, key, value FROM limits WHERE destination = ?1"),
            ("sqlite: view issues", "SELECT * FROM issues LIMIT 10"),
            ("sqlite: view recent", "SELECT * FROM recent LIMIT 10"),
        ]
    }
}
