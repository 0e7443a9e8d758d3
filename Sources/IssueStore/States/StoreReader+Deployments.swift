package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// Returns a page of deployments, latest first.
    ///
    /// Users see the deployments of their own applications. They also see those that apply to all users if an
    /// application of theirs has that name, but without commit, note and author.
    ///
    /// - Parameters:
    ///   - app: The name of the application; nil for all.
    ///   - limit: The maximum number of deployments.
    ///   - after: The cursor of the page; nil for the first page.
    ///   - viewer: The viewer.
    /// - Throws: `QueryFailure` if the cursor is invalid, or the error of the query.
    package func deployments(
        app: String?, limit: Int, after: String?, viewer: Viewer
    ) throws -> (deployments: [IssueDeployment], next: String?) {
        let cursor = try after.map { try PageCursor($0) }
        return try snapshot {
            let sql = """
                SELECT \(DeploymentTable.columns), id FROM deployments
                WHERE \(Self.visible(parameter: 1)) AND (?2 IS NULL OR app = ?2)
                  AND (?3 IS NULL OR (at, id) < (?3, ?4))
                ORDER BY at DESC, id DESC LIMIT ?5
                """
            let statement = try Statement(composedSQL: sql, on: connection)
            statement.bind(viewer, app, cursor?.value, cursor?.row, limit + 1)
            let rows = try statement.all { row in
                (deployment: viewer.shown(DeploymentTable.deployment(row)), id: row.int64(8))
            }
            let next = rows.count > limit ? rows.prefix(limit).last : nil
            return (
                rows.prefix(limit).map(\.deployment),
                next.map { PageCursor(value: $0.deployment.deployedAt.millisecondsSince1970, row: $0.id).text }
            )
        }
    }

    /// The maximum number of deployments in a histogram.
    private static let maxInHistogram = 100

    /// Returns the latest declared deployments in the time range of a histogram, earliest first.
    ///
    /// - Parameters:
    ///   - frame: The time range.
    ///   - filter: The filter. Only its applications and users apply.
    ///   - viewer: The viewer.
    package func deployments(
        in frame: HistogramFrame, _ filter: IssueFilter, viewer: Viewer
    ) throws -> [IssueDeployment] {
        guard !frame.isEmpty else { return [] }
        return try snapshot {
            let sql = """
                SELECT \(DeploymentTable.columns) FROM deployments
                WHERE \(Self.visible(parameter: 1)) AND observed = 0 AND at BETWEEN ?2 AND ?3
                ORDER BY at DESC, id DESC
                """
            let statement = try Statement(composedSQL: sql, on: connection)
            statement.bind(viewer, frame.times.lowerBound, frame.times.upperBound)
            let found = try statement.all { viewer.shown(DeploymentTable.deployment($0)) }.filter { deployment in
                (filter.apps?.contains(deployment.app) ?? true)
                    && (deployment.user.flatMap { filter.users?.contains($0) } ?? true)
            }
            return found.prefix(Self.maxInHistogram).reversed()
        }
    }

    /// Returns the groups of a selection that the last deployment of their application has changed in this way.
    ///
    /// - Parameters:
    ///   - change: The effect of the deployment.
    ///   - selection: The series that match the other parts of the filter.
    func groups(_ change: DeploymentChange, in selection: SeriesSelection) throws -> [GroupID] {
        let windows = try deploymentWindows()
        guard !windows.isEmpty else { return [] }
        let sql = """
            WITH matching AS MATERIALIZED (
                SELECT DISTINCT "group" FROM (\(SeriesSelection.sql))
                WHERE "group" IN (
                    SELECT id FROM groups WHERE account IN (SELECT value FROM json_each(?14)))
            ),
            open AS MATERIALIZED (
                SELECT series, max(received_at) AS at FROM records WHERE id > ?15 GROUP BY series
            )
            SELECT matching."group", groups.account, groups.first_at,
                   max(max(coalesce(totals.last_at, 0), coalesce(open.at, 0)))
            FROM matching
            JOIN groups ON groups.id = matching."group"
            JOIN series ON series."group" = groups.id
            LEFT JOIN totals ON totals.series = series.id
            LEFT JOIN open ON open.series = series.id
            GROUP BY 1
            """
        let statement = try Statement(composedSQL: sql, on: connection)
        selection.bind(to: statement, StoreWriter.list(windows.keys), try lastClosedID())
        var groups: [GroupID] = []
        try statement.forEach { row in
            let found = windows[row.id(1)]?.change(
                first: row.time(2), newest: row.time(3))
            if found == change { groups.append(row.id(0)) }
        }
        return groups
    }

    /// Returns the last deployments of each account that has declared ones.
    private func deploymentWindows() throws -> [AccountID: DeploymentWindow] {
        let times = try connection.all(
            """
            SELECT accounts.id, deployments.at FROM deployments
            JOIN accounts ON accounts.app = deployments.app
                AND (deployments.uid IS NULL OR deployments.uid = accounts.uid)
            WHERE observed = 0
            """
        ) { ($0.id(0, as: AccountID.self), $0.time(1)) }
        return Dictionary(grouping: times, by: \.0).compactMapValues { DeploymentWindow($0.map(\.1)) }
    }

    /// Returns the SQL condition that the viewer may see a row of `deployments`.
    ///
    /// - Parameter number: The number of the statement's parameter for the viewer.
    static func visible(parameter number: Int) -> String {
        """
        (?\(number) IS NULL OR uid = ?\(number) OR uid IS NULL AND app IN (SELECT app FROM accounts WHERE uid = ?\(number)))
        """
    }

    /// Returns the ids of observed deployments whose version has no series any longer.
    package func unreportedDeployments() throws -> [Int64] {
        try snapshot {
            try connection.all(
                """
                WITH reported (app, uid, version) AS MATERIALIZED (
                    SELECT DISTINCT accounts.app, accounts.uid,
                           CASE WHEN build IS NULL THEN version
                                WHEN coalesce(version, '') = '' THEN '(' || build || ')'
                                ELSE version || ' (' || build || ')' END
                    FROM series JOIN accounts ON accounts.id = series.account
                    WHERE version IS NOT NULL OR build IS NOT NULL
                )
                SELECT id FROM deployments
                WHERE observed = 1 AND (app, uid, version) NOT IN (SELECT app, uid, version FROM reported)
                """
            ) { $0.int64(0) }
        }
    }
}

extension Viewer {
    /// Returns the part of a deployment that this viewer may see.
    fileprivate func shown(_ deployment: IssueDeployment) -> IssueDeployment {
        guard self != .everything, deployment.user == nil else { return deployment }
        var shown = deployment
        (shown.commit, shown.note, shown.author) = (nil, nil, nil)
        return shown
    }
}
