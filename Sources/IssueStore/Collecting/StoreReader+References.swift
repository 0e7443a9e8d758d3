import SQLiteKit

extension StoreReader {
    /// To what records refer, as far as they have been looked at.
    package struct References: Sendable {
        package var series: Set<Int64> = []
        package var processes: Set<Int64> = []
        /// Up to which row all were looked at.
        package var edge: Int64 = 0

        package init() {}
    }

    /// How many rows one snapshot looks at.
    private static let mostReferences: Int64 = 20_000

    /// Looks at some more records, and answers whether there may be more.
    package func read(_ references: inout References) throws -> Bool {
        var found = references
        var count: Int64 = 0
        try snapshot {
            try connection.withStatement("SELECT id, series, process FROM records WHERE id > ?1 ORDER BY id LIMIT ?2") {
                statement in
                statement.bind(references.edge, at: 1)
                statement.bind(Self.mostReferences, at: 2)
                // The same one mostly comes again and again.
                var (series, process): (Int64, Int64) = (0, 0)
                try statement.forEach { row in
                    count += 1
                    found.edge = row.int64(0)
                    if row.int64(1) != series {
                        series = row.int64(1)
                        found.series.insert(series)
                    }
                    if row.int64(2) != process {
                        process = row.int64(2)
                        found.processes.insert(process)
                    }
                }
            }
        }
        references = found
        return count == Self.mostReferences
    }

    /// Series without a record whose last one came in some range or before it, and processes without a record.
    package func unreferenced(
        _ references: References, quietSince range: Int64
    ) throws -> (series: [Int64], processes: [Int64]) {
        try snapshot {
            let series = try connection.withStatement(
                """
                SELECT series.id FROM series LEFT JOIN totals ON totals.series = series.id
                WHERE coalesce(totals.last_range, 0) <= ?1 ORDER BY series.id
                """
            ) { statement in
                statement.bind(range, at: 1)
                return try statement.all { $0.int64(0) }
            }
            let processes = try connection.withStatement("SELECT id FROM processes ORDER BY id") {
                try $0.all { $0.int64(0) }
            }
            return (
                series.filter { !references.series.contains($0) },
                processes.filter { !references.processes.contains($0) }
            )
        }
    }
}
