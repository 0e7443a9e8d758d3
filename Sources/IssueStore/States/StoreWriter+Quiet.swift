package import IssueCore
package import IssueProtocol
import SQLiteKit

/// Resolving issues that have not occurred for a while.
extension StoreWriter {
    /// The maximum number of groups that one transaction examines.
    private static let maxExaminedGroups = 256

    /// The progress of a pass over all groups.
    package struct QuietPass: Equatable, Sendable {
        /// The last group that was examined.
        package var last: GroupID
        /// The number of issues that the step resolved.
        package var resolved: Int
        package var isDone: Bool
    }

    /// Resolves quiet issues among the next groups, at most 256.
    ///
    /// - Parameters:
    ///   - group: The last group that was examined; 0 for none.
    ///   - monotonic: The current monotonic time.
    package func resolveQuiet(
        above group: GroupID, wall: IssueTimestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> QuietPass {
        let end = QuietPeriod(retention.resolveAfter).end(at: logTime(wall: wall, monotonic: monotonic))
        return try transaction { () throws(SQLiteError) in
            let range = try end.map { end throws(SQLiteError) in try newestRange(before: end) } ?? 0
            guard range > 0 else { return QuietPass(last: group, resolved: 0, isDone: true) }
            let groups = try connection.withStatement(
                "SELECT id FROM groups WHERE id > ?1 AND state = 0 ORDER BY id LIMIT ?2"
            ) { statement throws(SQLiteError) in
                statement.bind(group, at: 1)
                statement.bind(Self.maxExaminedGroups, at: 2)
                return try statement.all { $0.id(0, as: GroupID.self) }
            }
            let activities = try activities(of: groups)
            var resolved = 0
            for group in groups
            where QuietPeriod.resolves(.open, activities[group] ?? [], quietThrough: range) {
                _ = try change(group, to: TriageState(.resolved))
                resolved += 1
            }
            return QuietPass(
                last: groups.last ?? group, resolved: resolved, isDone: groups.count < Self.maxExaminedGroups)
        }
    }

    private func activities(of groups: [GroupID]) throws(SQLiteError) -> [GroupID: [QuietPeriod.Activity]] {
        try connection.withStatement(
            """
            SELECT series."group", series.id, totals.last_range FROM series
            LEFT JOIN totals ON totals.series = series.id
            WHERE series."group" IN (SELECT value FROM json_each(?1))
            """
        ) { statement throws(SQLiteError) in
            statement.bind(Self.list(groups), at: 1)
            var activities: [GroupID: [QuietPeriod.Activity]] = [:]
            try statement.forEach { row in
                activities[row.id(0), default: []].append(
                    QuietPeriod.Activity(
                        lastRange: row.optionalInt64(2), mayBeOpen: memory.open.mayContain(row.id(1))))
            }
            return activities
        }
    }
}
