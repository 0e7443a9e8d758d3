package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// The maximum number of applications or groups with a series of their own. The largest ones are chosen.
    private static let maxKeys = 20

    /// Returns the number of records that match a filter, by time.
    ///
    /// The counts include records that retention has removed. Counts older than a week are stored per hour, in the
    /// first minute of the hour. Text and metadata in the filter select groups, as in a list of groups.
    ///
    /// - Throws: `QueryFailure` if the filter is invalid, or the error of the query.
    package func histogram(
        _ filter: IssueFilter, _ frame: HistogramFrame, by dimension: HistogramDimension, viewer: Viewer
    ) throws -> [HistogramSeries] {
        guard filter.outcomes == nil, filter.destination == nil else {
            throw QueryFailure.invalidFilter(field: "fates", reason: "counts cannot be filtered by fate")
        }
        var selection = try SeriesSelection(filter, viewer: viewer, selectsGroups: true)
        let key: StaticString
        switch dimension {
        case .total: key = "'total'"
        case .level: key = "series.severity"
        case .app: key = "accounts.app"
        case .group: key = "groups.key"
        }
        let sql = """
            WITH own AS MATERIALIZED (
                SELECT matching.series, \(key) AS key FROM (\(SeriesSelection.sql)) AS matching
                JOIN series ON series.id = matching.series
                JOIN groups ON groups.id = series."group"
                JOIN accounts ON accounts.id = series.account
            ),
            counted AS MATERIALIZED (
                SELECT key, minute, sum(records) AS records FROM (
                    SELECT own.key AS key, minute / ?14 * ?14 AS minute, records
                    FROM counts CROSS JOIN own ON own.series = counts.series WHERE minute BETWEEN ?15 AND ?16
                    UNION ALL
                    SELECT own.key, received_at / 60000 / ?14 * ?14, 1
                    FROM records CROSS JOIN own ON own.series = records.series
                    WHERE records.id > ?17 AND received_at BETWEEN ?18 AND ?19
                ) GROUP BY 1, 2
            ),
            most AS MATERIALIZED (SELECT key FROM counted GROUP BY key ORDER BY sum(records) DESC, key LIMIT ?20)
            SELECT CASE WHEN key IN (SELECT key FROM most) THEN key END, minute, sum(records)
            FROM counted GROUP BY 1, 2
            """
        return try snapshot {
            selection.groups = try groups(with: filter, in: selection)
            if let change = filter.sinceDeployment { selection.groups = try groups(change, in: selection) }
            let statement = try Statement(composedSQL: sql, on: connection)
            selection.bind(
                to: statement, frame.minutesPerBucket, frame.minutes.lowerBound, frame.minutes.upperBound,
                try lastClosedID(), frame.times.lowerBound, frame.times.upperBound, Self.maxKeys)
            var counts: [String?: [Int]] = [:]
            if dimension == .total { counts["total"] = [Int](repeating: 0, count: frame.bucketCount) }
            let none = [Int](repeating: 0, count: frame.bucketCount)
            guard !frame.isEmpty else { return Self.series(counts, dimension) }
            try statement.forEach { row in
                counts[row.optionalText(0), default: none][frame.bucket(ofMinute: row.int64(1))] += row.int(2)
            }
            return Self.series(counts, dimension)
        }
    }

    private static func series(
        _ counts: [String?: [Int]], _ dimension: HistogramDimension
    ) -> [HistogramSeries] {
        var series = counts.compactMap { key, counts in key.map { HistogramSeries(key: $0, counts: counts) } }
        switch dimension {
        case .level: series.sort { $0.key > $1.key }
        case .total, .app, .group: series.sort { ($1.sum, $0.key) < ($0.sum, $1.key) }
        }
        for index in series.indices { series[index].key = name(series[index].key, dimension) }
        if let rest = counts[nil] { series.append(HistogramSeries(key: HistogramSeries.rest, counts: rest)) }
        return series
    }

    private static func name(_ key: String, _ dimension: HistogramDimension) -> String {
        switch dimension {
        case .total, .app: key
        case .level: (UInt8(key).flatMap { IssueLevel(rank: $0) } ?? .error).name
        case .group: GroupKey.text(key: Int64(key) ?? 0)
        }
    }
}
