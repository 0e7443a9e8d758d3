package import IssueCore
package import IssueProtocol
import SQLiteKit

/// Declares and removes deployments.
extension StoreWriter {
    /// Stores a declared deployment. Does nothing if the latest deployment that was declared for exactly this scope, up
    /// to the time of the new one, has the same version.
    ///
    /// If the version was declared neither for this scope nor for all users before, it becomes the fix of the issues
    /// that were marked, up to the time of the deployment, as resolved in the next deployment. Observed deployments of
    /// the version are removed, because their time no longer matters.
    ///
    /// - Parameters:
    ///   - parameters: Valid parameters.
    ///   - scope: The applications that the deployment belongs to.
    ///   - author: The id of the user who declares it.
    ///   - now: The current wall time, used if the parameters contain no time.
    /// - Returns: The new deployment and `false`; or, if nothing was stored, the earlier deployment of the version and
    ///   `true`.
    package func declare(
        _ parameters: DeployParameters, of scope: DeploymentScope, by author: UInt32, at now: IssueTimestamp
    ) throws(StoreFailure) -> (deployment: IssueDeployment, isKnown: Bool) {
        try transaction { () throws(SQLiteError) in
            let table = DeploymentTable(connection: connection)
            let at = parameters.at ?? now
            let version = ApplicationVersion(text: parameters.version)
            let current = try table.declared(app: parameters.app, scope).first { $0.deployment.deployedAt <= at }
            if let current = current?.deployment,
                ApplicationVersion(text: current.version).spelledUniformly == version.spelledUniformly
            {
                return (current, true)
            }
            let deployment = IssueDeployment(
                app: parameters.app, user: scope.uid, version: parameters.version, deployedAt: at,
                commit: parameters.commit, note: parameters.note, author: author)
            if try !table.isDeclared(version, app: parameters.app, scope) {
                try table.resolveAwaited(by: version, app: parameters.app, scope, at: at)
                memory.caches.triage.removeAll()
            }
            try table.insert(deployment)
            try table.removeObserved(version, app: parameters.app, scope)
            try table.removeSurplusDeclared(app: parameters.app, scope)
            memory.caches.deployments.removeAll()
            return (deployment, false)
        }
    }

    /// Removes the latest declared deployment of a version. The states of groups do not change.
    ///
    /// If the version is then declared neither for this scope nor for all users, each application that has reported the
    /// version gets an observed deployment at the time at which it first reported the version.
    ///
    /// - Returns: The removed deployment; nil if the version was not declared for exactly this scope.
    package func removeDeployment(
        of version: ApplicationVersion, app: String, _ scope: DeploymentScope
    ) throws(StoreFailure) -> IssueDeployment? {
        try transaction { () throws(SQLiteError) in
            let table = DeploymentTable(connection: connection)
            let declared = try table.declared(app: app, scope)
            let match = declared.first {
                ApplicationVersion(text: $0.deployment.version).spelledUniformly == version.spelledUniformly
            }
            guard let match else { return nil }
            try table.remove([match.id])
            if try !table.isDeclared(version, app: app, scope) { try table.restoreObserved(version, app: app, scope) }
            memory.caches.deployments.removeAll()
            return match.deployment
        }
    }

    /// Erases deployments for a purge: those with the given ids, and the declared ones of whole applications or users.
    ///
    /// - Parameters:
    ///   - ids: Ids of observed deployments.
    ///   - filter: The filter of the purge. Declared deployments are erased only if the filter has no conditions other
    ///     than those on applications and users.
    package func eraseDeployments(_ ids: [Int64], _ filter: IssueFilter) throws(StoreFailure) {
        try erasing { () throws(SQLiteError) in
            let table = DeploymentTable(connection: connection)
            try table.remove(ids)
            if filter.includesWholeApplications {
                try table.removeDeclared(apps: filter.apps, users: filter.users)
            }
            memory.caches.deployments.removeAll()
        }
    }
}

extension RecordCommit {
    /// Stores an observed deployment of an application's version, unless a deployment of this version is known.
    ///
    /// Stores none for imported records, or if the version is empty or too long, or the application's name is too long.
    /// It is sufficient to call this for new series, because a new version has a new series.
    func observe(_ app: Application, of account: Account, _ memory: inout WriterMemory) throws(SQLiteError) {
        let version = ApplicationVersion(name: app.version, build: app.build)
        guard !isImport, DeploymentLimits.isStored(version),
            account.name.app.utf8.count <= DeploymentLimits.maxAppBytes
        else { return }
        let table = DeploymentTable(connection: connection)
        var history = try deployments(of: account.id, &memory)
        guard !history.knows(version) else { return }
        try table.insert(
            IssueDeployment(
                app: account.name.app, user: account.name.uid, version: version.text, deployedAt: time.wall,
                isObserved: true))
        try table.removeSurplusObserved(app: account.name.app, uid: account.name.uid)
        history.add(DeploymentHistory.Entry(version, at: time.wall, isObserved: true))
        // The cached history also has rows that were removed from the table. A user who invents versions must not make
        // it grow without limit.
        if history.count > 2 * (DeploymentLimits.maxDeclared + DeploymentLimits.maxObserved) {
            memory.caches.deployments.remove(account.id)
        } else {
            memory.caches.deployments.insert(history, for: account.id)
        }
    }

    /// Returns the deployments that apply to one user's application.
    func deployments(
        of account: AccountID, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> DeploymentHistory {
        if let known = memory.caches.deployments[account] { return known }
        let history = try DeploymentTable(connection: connection).history(of: account)
        memory.caches.deployments.insert(history, for: account)
        return history
    }
}

/// The table `deployments`.
struct DeploymentTable {
    let connection: DatabaseConnection

    /// The columns that `deployment(_:)` reads, in this order.
    static let columns: StaticString = "app, uid, version, at, observed, revision, note, author"

    static func deployment(_ row: borrowing Row) -> IssueDeployment {
        IssueDeployment(
            app: row.text(0), user: row.optionalInt64(1).map { UInt32(clamping: $0) }, version: row.text(2),
            deployedAt: row.time(3), isObserved: row.int64(4) != 0,
            commit: row.optionalText(5), note: row.optionalText(6),
            author: row.optionalInt64(7).map { UInt32(clamping: $0) })
    }

    /// Returns the deployments that apply to one user's application.
    func history(of account: AccountID) throws(SQLiteError) -> DeploymentHistory {
        let entries = try connection.all(
            """
            SELECT version, at, observed FROM accounts
            JOIN deployments ON deployments.app = accounts.app
                AND (deployments.uid IS NULL OR deployments.uid = accounts.uid)
            WHERE accounts.id = ?1 ORDER BY at, deployments.id
            """, account
        ) { row in
            DeploymentHistory.Entry(
                ApplicationVersion(text: row.text(0)), at: row.time(1), isObserved: row.int64(2) != 0)
        }
        return DeploymentHistory(entries)
    }

    /// Returns the declared deployments of exactly this scope, the latest first.
    func declared(
        app: String, _ scope: DeploymentScope
    ) throws(SQLiteError) -> [(id: Int64, deployment: IssueDeployment)] {
        try connection.all(
            composedSQL: """
                SELECT \(Self.columns), id FROM deployments
                WHERE app = ?1 AND uid IS ?2 AND observed = 0 ORDER BY at DESC, id DESC
                """, app, scope.uid
        ) { ($0.int64(8), Self.deployment($0)) }
    }

    /// Inserts an observed deployment of a version that is no longer declared, for each application that has reported
    /// the version. If the version has no build, does the same for each of its builds that is not declared itself.
    func restoreObserved(
        _ version: ApplicationVersion, app: String, _ scope: DeploymentScope
    ) throws(SQLiteError) {
        let reported = try connection.all(
            """
            SELECT accounts.uid, series.version, series.build, min(series.first_at)
            FROM series JOIN accounts ON accounts.id = series.account
            WHERE accounts.app = ?1 AND (?2 IS NULL OR accounts.uid = ?2)
                AND (series.version IS NOT NULL OR series.build IS NOT NULL)
            GROUP BY 1, 2, 3
            """, app, scope.uid
        ) {
            (
                uid: UInt32(clamping: $0.int64(0)),
                version: ApplicationVersion(name: $0.optionalText(1), build: $0.optionalInt64(2)), at: $0.int64(3)
            )
        }
        for row in reported where row.version.isCovered(by: version) && DeploymentLimits.isStored(row.version) {
            guard try !isDeclared(row.version, app: app, .user(row.uid)) else { continue }
            try insert(
                IssueDeployment(
                    app: app, user: row.uid, version: row.version.text,
                    deployedAt: IssueTimestamp(millisecondsSince1970: row.at), isObserved: true))
            try removeSurplusObserved(app: app, uid: row.uid)
        }
    }

    /// Returns `true` if a deployment of a version is declared for this scope or for all users.
    func isDeclared(
        _ version: ApplicationVersion, app: String, _ scope: DeploymentScope
    ) throws(SQLiteError) -> Bool {
        let versions = try connection.all(
            "SELECT version FROM deployments WHERE app = ?1 AND (uid IS NULL OR uid IS ?2) AND observed = 0", app,
            scope.uid
        ) { ApplicationVersion(text: $0.text(0)).spelledUniformly }
        return versions.contains(version.spelledUniformly)
    }

    /// Assigns a version to the issues that were marked, at or before `time`, as resolved in the next deployment.
    func resolveAwaited(
        by version: ApplicationVersion, app: String, _ scope: DeploymentScope, at time: IssueTimestamp
    ) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE groups SET fixed_version = ?1, fixed_after = NULL
            WHERE fixed_after <= ?2
                AND account IN (SELECT id FROM accounts WHERE app = ?3 AND (?4 IS NULL OR uid = ?4))
            """, version.text, time, app, scope.uid)
    }

    /// Returns `true` if a deployment with the same application, user and version is stored. If `deployment` is
    /// declared, the stored one must be declared, too, and have the same time.
    func contains(_ deployment: IssueDeployment) throws(SQLiteError) -> Bool {
        try connection.exists(
            """
            SELECT 1 FROM deployments
            WHERE app = ?1 AND uid IS ?2 AND version = ?3 AND (at = ?4 OR ?5 = 1) AND observed <= ?5
            """, deployment.app, deployment.user, deployment.version, deployment.deployedAt, deployment.isObserved)
    }

    func insert(_ deployment: IssueDeployment) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO deployments (app, uid, version, at, observed, revision, note, author)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """, deployment.app, deployment.user, deployment.version,
            deployment.deployedAt, deployment.isObserved, deployment.commit, deployment.note, deployment.author)
    }

    /// Removes the observed deployments of a version that was declared and, if it has no build, of its builds.
    func removeObserved(
        _ version: ApplicationVersion, app: String, _ scope: DeploymentScope
    ) throws(SQLiteError) {
        let observed = try connection.all(
            "SELECT id, version FROM deployments WHERE app = ?1 AND (?2 IS NULL OR uid = ?2) AND observed = 1", app,
            scope.uid
        ) { (id: $0.int64(0), version: ApplicationVersion(text: $0.text(1))) }
        try remove(observed.filter { $0.version.isCovered(by: version) }.map(\.id))
    }

    func remove(_ ids: [Int64]) throws(SQLiteError) {
        guard !ids.isEmpty else { return }
        try connection.run(
            "DELETE FROM deployments WHERE id IN (SELECT value FROM json_each(?1))", StoreWriter.list(ids))
    }

    /// Removes the declared deployments of these applications and users; nil selects all. Deployments that apply to all
    /// users are removed only if `users` is nil.
    func removeDeclared(apps: [String]?, users: [UInt32]?) throws(SQLiteError) {
        let declared = try connection.all("SELECT id, app, uid FROM deployments WHERE observed = 0") {
            (id: $0.int64(0), app: $0.text(1), uid: $0.optionalInt64(2))
        }
        try remove(
            declared.filter { row in
                (apps?.contains(row.app) ?? true)
                    && (users.map { users in row.uid.map { users.contains(UInt32(clamping: $0)) } ?? false } ?? true)
            }.map(\.id))
    }

    /// Removes the earliest declared deployments of this scope that exceed the limit for the application, or the limit
    /// for all applications together.
    func removeSurplusDeclared(app: String, _ scope: DeploymentScope) throws(SQLiteError) {
        for (app, limit) in [(app, DeploymentLimits.maxDeclared), (nil, DeploymentLimits.maxDeclaredByUser)] {
            try removeSurplus(app: app, uid: scope.uid, isObserved: false, limit: limit)
        }
    }

    func removeSurplusObserved(app: String, uid: UInt32?) throws(SQLiteError) {
        try removeSurplus(app: app, uid: uid, isObserved: true, limit: DeploymentLimits.maxObserved)
    }

    private func removeSurplus(app: String?, uid: UInt32?, isObserved: Bool, limit: Int) throws(SQLiteError) {
        let sql: StaticString =
            app == nil
            ? """
            DELETE FROM deployments WHERE id IN (
                SELECT id FROM deployments WHERE ?1 IS NULL AND uid IS ?2 AND observed = ?3
                ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?4)
            """
            : """
            DELETE FROM deployments WHERE id IN (
                SELECT id FROM deployments WHERE app = ?1 AND uid IS ?2 AND observed = ?3
                ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?4)
            """
        try connection.run(sql, app, uid, isObserved, limit)
    }
}

extension StoreReader {
    /// Returns a page of deployments, the latest first.
    ///
    /// Users see the deployments of their own applications. They also see those that apply to all users, but only for
    /// names of their own applications, and without commit, note and author.
    ///
    /// - Parameters:
    ///   - app: The name of the application; nil for all.
    ///   - limit: The maximum number of deployments.
    ///   - after: The cursor of the page; nil for the first page.
    ///   - viewer: The viewer.
    /// - Returns: The deployments, and the cursor of the next page; nil if there is none.
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
            let rows = try connection.all(composedSQL: sql, viewer, app, cursor?.value, cursor?.row, limit + 1) { row in
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

    /// Returns the latest declared deployments in the time range of a histogram, at most 100, in chronological order.
    ///
    /// - Parameters:
    ///   - frame: The time range.
    ///   - filter: The filter. Only its applications and users apply; deployments for all users match any users.
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
            let found = try connection.all(
                composedSQL: sql, viewer, frame.times.lowerBound, frame.times.upperBound
            ) { viewer.shown(DeploymentTable.deployment($0)) }.filter { deployment in
                (filter.apps?.contains(deployment.app) ?? true)
                    && (deployment.user.flatMap { filter.users?.contains($0) } ?? true)
            }
            return found.prefix(Self.maxInHistogram).reversed()
        }
    }

    /// Returns the SQL condition under which the viewer may see a row of `deployments`.
    ///
    /// - Parameter number: The number of the statement's parameter for the viewer.
    static func visible(parameter number: Int) -> String {
        """
        (?\(number) IS NULL OR uid = ?\(number) OR uid IS NULL AND app IN (SELECT app FROM accounts WHERE uid = ?\(number)))
        """
    }

    /// Returns the ids of observed deployments whose application no longer has a series with their version.
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
