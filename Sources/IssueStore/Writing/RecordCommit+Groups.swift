import IssueCore
import IssueProtocol
import SQLiteKit

extension RecordCommit {
    /// Returns the account of a user's application, or the overflow account if a new application would exceed the
    /// user's limit. The application's name is the one in the record or, if there is none, the sender's command.
    /// Inserts the account if it is new.
    func account(
        of series: SeriesDescription, _ process: ReportingProcess, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> Account {
        let sender = process.sender
        let claimed = WriterMemory.AccountName(uid: sender.uid, app: series.app.name ?? sender.command ?? "")
        if let known = try knownAccount(claimed, &memory) { return Account(id: known, name: claimed) }
        let verdict =
            isImport
            ? importedVerdict.application
            : memory.values.cardinalityGuard.admitApplication(uid: process.accountableUser, at: time.log)
        switch verdict {
        case .allow: return Account(id: try insert(claimed, &memory), name: claimed)
        case .overflow:
            report(.applications, of: process.accountableUser)
            let overflow = WriterMemory.AccountName(uid: sender.uid, app: "overflow")
            let known = try knownAccount(overflow, &memory)
            let id = if let known { known } else { try insert(overflow, &memory) }
            return Account(id: id, name: overflow)
        }
    }

    private func knownAccount(_ name: WriterMemory.AccountName, _ memory: inout WriterMemory) throws(SQLiteError)
        -> AccountID?
    {
        if let known = memory.caches.accounts[name] { return known }
        let id = try connection.first("SELECT id FROM accounts WHERE uid = ?1 AND app = ?2", name.uid, name.app) {
            $0.id(0, as: AccountID.self)
        }
        if let id { memory.caches.accounts.insert(id, for: name) }
        return id
    }

    private func insert(_ name: WriterMemory.AccountName, _ memory: inout WriterMemory) throws(SQLiteError) -> AccountID
    {
        try connection.run(
            "INSERT INTO accounts (uid, app, first_at) VALUES (?1, ?2, ?3)", name.uid, name.app,
            time.wall)
        let id = AccountID(rawValue: connection.lastInsertedRowID)
        memory.caches.accounts.insert(id, for: name)
        return id
    }

    /// Returns the group that a new series belongs to, after all corrections; nil if a new group is needed.
    ///
    /// If no group has `fingerprint`, looks for a group that has a fingerprint of an older rule, and to which the
    /// newest rule gives `fingerprint`. That group gets it now.
    func knownGroup(
        account: AccountID, fingerprint: String, of series: SeriesDescription, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> KnownGroup? {
        let table = GroupTable(connection: connection)
        var home = try table.group(account: account, fingerprint: fingerprint)
        if home == nil, memory.values.regroupedThrough != nil {
            home = try memory.caches.olderGroups.group(account: account, fingerprint: fingerprint, in: table)
            if let home { try table.finish(home, fingerprint: fingerprint) }
        }
        return try table.known(home: home, account: account, series: series, &memory.caches.patterns)
    }

    /// Inserts a group for a new fingerprint.
    func insertGroup(
        _ series: SeriesDescription, _ account: Account, _ fingerprint: String
    ) throws(SQLiteError) -> GroupID {
        // The key depends on the account's name, not on the name in the record, because all records of an account share
        // its groups.
        try GroupTable(connection: connection).insert(
            series, account: account.id, uid: account.name.uid, app: account.name.app, fingerprint,
            firstRecord: rows.nextID, at: time.wall.millisecondsSince1970)
    }

    /// Raises a group's severity to that of a new series, and sets the group's last version if the series has a
    /// version.
    func updateGroup(_ group: GroupID, from series: SeriesDescription) throws(SQLiteError) {
        try connection.run(
            "UPDATE groups SET severity = max(severity, ?2), last_version = coalesce(?3, last_version) WHERE id = ?1",
            group, Int64(series.severity.rank), series.app.version)
    }

    /// Returns the title of a group: the first line of the template, at most 200 characters. If that line is empty,
    /// returns the domain, or `(no message)` if there is none.
    ///
    /// If the template consists of values (`MessageTemplate.consistsOfValues`), the source location follows, because
    /// the fingerprint then depends on the line and column too.
    static func title(of series: SeriesDescription) -> String {
        let end = series.template.firstIndex(of: 0x0A) ?? series.template.endIndex
        let title = MessageTemplate.title(of: series.template[..<end])
        guard !title.isEmpty else { return series.domain ?? "(no message)" }
        let place =
            MessageTemplate.consistsOfValues(series.template) ? MessageTemplate.place(of: series.source) : ""
        return String((title + place).prefix(200))
    }
}

extension RecordCommit {
    /// Restores the guard's counters during the first commit, so that a restart does not reset them.
    func restoreGuard(_ memory: inout WriterMemory, _ users: AccountableUsers) throws(SQLiteError) {
        guard !memory.values.isGuardRestored else { return }
        memory.values.isGuardRestored = true
        try memory.values.cardinalityGuard.restore(from: connection, wall: time.wall, log: time.log, users)
    }
}

extension CardinalityGuard {
    /// The number of newest ids that are examined per table. Without this limit, the duration of the first commit
    /// would grow with the file.
    private static let maxExamined: Int64 = 16_384

    /// Restores the counters of a new guard from the database. `now` and `log` are the current wall time and log time.
    mutating func restore(
        from connection: DatabaseConnection, wall now: IssueTimestamp, log: RecordLogInstant, _ users: AccountableUsers
    ) throws(SQLiteError) {
        let starts = windowStarts(at: log)
        func wall(_ instant: RecordLogInstant) -> IssueTimestamp { now.advanced(by: log.duration(to: instant)) }
        let made = try connection.all(
            """
            SELECT account, uid, sum(is_group), sum(1 - is_group) FROM (
                SELECT account, 1 AS is_group FROM groups
                WHERE id > (SELECT coalesce(max(id), 0) FROM groups) - ?3 AND first_at >= ?1
                    AND fingerprint <> 'overflow'
                UNION ALL
                SELECT account, 0 FROM series
                WHERE id > (SELECT coalesce(max(id), 0) FROM series) - ?3 AND first_at >= ?2
                    AND coalesce(fingerprint, '') <> 'overflow'
            ) JOIN accounts ON accounts.id = account GROUP BY account
            """, wall(starts.groups), wall(starts.series), Self.maxExamined
        ) {
            ($0.id(0, as: AccountID.self), UInt32(clamping: $0.int64(1)), $0.int64(2), $0.int64(3))
        }
        for (account, user, groups, series) in made {
            restore(
                account: account, user: users.owner(of: user), newGroups: groups, newSeries: series, at: log)
        }
        let named = try connection.all(
            """
            SELECT uid, count(*) FROM accounts
            WHERE id > (SELECT coalesce(max(id), 0) FROM accounts) - ?2 AND first_at >= ?1 AND app <> 'overflow'
            GROUP BY uid
            """, wall(starts.names), Self.maxExamined
        ) { (UInt32(clamping: $0.int64(0)), $0.int64(1)) }
        // Senders have no creation time. A sender counts as new if its id is higher than the ids of all senders that
        // had a series before the window began.
        let appeared = try connection.all(
            """
            SELECT uid, count(*) FROM senders
            WHERE id > (SELECT coalesce(max(id), 0) FROM senders) - ?2 AND command <> 'overflow' AND id > (
                SELECT coalesce(max(sender), 0) FROM series
                WHERE id > (SELECT coalesce(max(id), 0) FROM series) - ?2 AND first_at < ?1)
            GROUP BY uid
            """, wall(starts.names), Self.maxExamined
        ) { (UInt32(clamping: $0.int64(0)), $0.int64(1)) }
        for (uid, senders) in appeared {
            restore(uid: users.owner(of: uid), newSenders: senders, at: log)
        }
        for (uid, names) in named {
            restore(uid: users.owner(of: uid), newApplications: names, at: log)
        }
    }
}
