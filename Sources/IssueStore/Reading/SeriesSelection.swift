import IssueCore
import IssueProtocol
import SQLiteKit

/// The part of a filter that depends only on the series, as a constant SQL query and its parameters.
///
/// Lists are bound as JSON arrays, so that the SQL never contains external input. No subquery with `json_each` may
/// depend on a column of another table. SQLite parses the list of an independent subquery once and keeps it as an
/// index; it would parse the list of a correlated subquery again for each series.
struct SeriesSelection {
    /// Selects `series.id` and `series."group"`. Its parameters are `?1` to `?13`.
    static let sql = """
        SELECT series.id AS series, series."group" AS "group"
        FROM series
        JOIN groups ON groups.id = series."group"
        JOIN accounts ON accounts.id = series.account
        JOIN senders ON senders.id = series.sender
        WHERE \(Viewer.condition(parameter: 1))
          AND (?2 IS NULL OR accounts.app IN (SELECT value FROM json_each(?2)))
          AND (?3 IS NULL OR series.version IN (SELECT value FROM json_each(?3)))
          AND (?4 IS NULL OR series.environment IN (SELECT value FROM json_each(?4)))
          AND (?5 IS NULL OR series.severity >= ?5)
          AND (?6 IS NULL OR series.domain IN (SELECT value FROM json_each(?6)))
          AND (?7 IS NULL OR series.code IN (SELECT value FROM json_each(?7)))
          AND (?8 IS NULL OR EXISTS (
                WITH RECURSIVE tails (tail) AS (
                    SELECT series.file
                    UNION ALL
                    SELECT substr(tail, instr(tail, '/') + 1) FROM tails WHERE instr(tail, '/') > 0
                )
                SELECT 1 FROM tails WHERE tail IN (SELECT value FROM json_each(?8))))
          AND (?9 IS NULL OR groups.id IN (
                WITH RECURSIVE up (id, target) AS (
                    SELECT id, merged_into FROM groups WHERE "key" IN (SELECT value FROM json_each(?9))
                    UNION
                    SELECT groups.id, groups.merged_into FROM up JOIN groups ON groups.id = up.target
                )
                SELECT id FROM up))
          AND (?10 IS NULL OR accounts.uid IN (SELECT value FROM json_each(?10)))
          AND (?11 IS NULL OR senders.unit IN (SELECT value FROM json_each(?11)))
          AND (?12 IS NULL OR groups.state IN (SELECT value FROM json_each(?12)))
          AND (?13 IS NULL OR groups.id IN (SELECT value FROM json_each(?13)))
        """

    private var viewer: Viewer
    /// The values of the parameters `?2` to `?12`; nil for any. `?5` is the lowest severity (`IssueLevel.rank`), and
    /// the others are lists as JSON.
    private var values: [String?] = []
    /// The groups to which the series must belong; nil for any. Set by queries whose filter selects groups by the
    /// content of records (`StoreReader.groups(with:in:)`) or by deployments (`groups(_:in:)`).
    var groups: [GroupID]?

    /// Creates the selection for a filter.
    ///
    /// - Parameters:
    ///   - filter: The filter.
    ///   - viewer: The viewer.
    ///   - selectsGroups: `true` if the caller selects groups by `sinceDeployment`, see `StoreReader.groups(_:in:)`. If
    ///     `false`, a filter with `sinceDeployment` is rejected, because ignoring this part would select too much.
    /// - Throws: `QueryFailure.invalidFilter` if a part of the filter is invalid or exceeds its limit.
    init(_ filter: IssueFilter, viewer: Viewer, selectsGroups: Bool = false) throws(QueryFailure) {
        guard selectsGroups || filter.sinceDeployment == nil else {
            throw .invalidFilter(
                field: "since_deploy", reason: "only issues and histograms can be filtered by deployment")
        }
        do throws(QueryLimits.Excess) { try QueryLimits.check(filter) } catch { throw QueryFailure(error) }
        self.viewer = viewer
        var keys: [Int64]?
        if let groups = filter.groups {
            keys = []
            for id in groups {
                guard let key = GroupKey.key(id) else {
                    throw .invalidFilter(field: "groups", reason: "\"\(id)\" is not a group id")
                }
                keys?.append(key)
            }
        }
        values = [
            filter.apps.map { StoreWriter.list($0) }, filter.versions.map { StoreWriter.list($0) },
            filter.environments.map { StoreWriter.list($0) }, filter.level.map { "\($0.rank)" },
            filter.domains.map { StoreWriter.list($0) },
            filter.codes.map { StoreWriter.list($0.map { Int64($0) }) }, filter.files.map { StoreWriter.list($0) },
            keys.map { StoreWriter.list($0) }, filter.users.map { StoreWriter.list($0.map { Int64($0) }) },
            filter.units.map { StoreWriter.list($0) },
            filter.states.map { StoreWriter.list($0.map { Int64($0.databaseValue) }) },
        ]
    }

    /// Whether every series is selected.
    var isEverything: Bool { viewer == .everything && groups == nil && values.allSatisfy { $0 == nil } }

    /// Compiles a statement, and binds its parameters `?1` to `?13` to the selection, and those from `?14` on to other
    /// values.
    func statement<each Value: DatabaseValue>(
        _ sql: String, on connection: DatabaseConnection, _ others: repeat each Value
    ) throws(SQLiteError) -> Statement {
        let statement = try Statement(composedSQL: sql, on: connection)
        statement.bind(viewer, at: 1)
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 2) }
        statement.bind(groups.map { StoreWriter.list($0) }, at: 13)
        var position = 14
        for value in repeat each others {
            statement.bind(value, at: position)
            position += 1
        }
        return statement
    }
}
