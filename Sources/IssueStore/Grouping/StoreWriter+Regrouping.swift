import IssueCore
import IssueProtocol
import SQLiteKit

/// The groups of an application that still have a fingerprint of an older rule, by the fingerprint that they will get.
///
/// With it, the first record of a new series finds its group even if the group was not moved yet.
struct OlderGroups {
    /// The maximum number of groups of an account that are examined, newest first. A record of a group beyond this
    /// limit creates a second group. The two are merged when the older one is moved.
    private static let limit = 512

    private var groups: [AccountID: [String: GroupID]] = [:]

    /// Returns the group that will get this fingerprint; nil if there is none.
    mutating func group(
        account: AccountID, fingerprint: String, in table: GroupTable
    ) throws(SQLiteError) -> GroupID? {
        if let known = groups[account] { return known[fingerprint] }
        let ids = try table.connection.all(
            """
            SELECT id FROM groups WHERE account = ?1 AND rule < ?2 AND merged_into IS NULL ORDER BY id DESC LIMIT ?3
            """, account, Fingerprint.rule, Self.limit
        ) { $0.id(0, as: GroupID.self) }
        var found: [String: GroupID] = [:]
        // The oldest group wins, as it does when the groups are moved in order.
        for id in ids {
            guard let subject = try table.subject(of: id), let new = Regrouping.fingerprint(of: subject) else {
                continue
            }
            found[new] = id
        }
        groups[account] = found
        return found[fingerprint]
    }
}

extension StoreWriter {
    /// The result of a step of `regroup`.
    package struct RegroupingStep: Equatable, Sendable {
        /// The number of groups that got another fingerprint.
        package var changed = 0
        /// The number of groups that were merged into others.
        package var merged = 0
        /// `true` if no group is left.
        package var isDone = false
    }

    private static let groupsPerStep = 16
    private static let seriesPerStep = 256
    private static let idsPerStep: Int64 = 2048

    /// `true` until all groups are known to have a fingerprint of the newest rule.
    package var mustRegroup: Bool { memory.values.regroupedThrough != nil }

    /// Moves some groups to the newest version of the fingerprint rule, and continues merges that were interrupted.
    ///
    /// A group gets its new fingerprint in place. If another group of the account already has that fingerprint, the
    /// first group's series move to it, and the first group becomes a redirect. Fingerprints chosen by senders stay.
    ///
    /// - Parameters:
    ///   - groups: The maximum number of groups.
    ///   - series: The maximum number of series of each group.
    package func regroup(
        groups: Int? = nil, series: Int? = nil
    ) throws(StoreFailure) -> RegroupingStep {
        guard let start = memory.values.regroupedThrough else { return RegroupingStep(isDone: true) }
        let (groups, series) = (groups ?? Self.groupsPerStep, series ?? Self.seriesPerStep)
        return try transaction(isSynced: false) { () throws(SQLiteError) in
            let end = GroupID(rawValue: start.rawValue + Self.idsPerStep)
            let found = try connection.all(
                """
                SELECT id, account, merged_into FROM groups
                WHERE id > ?1 AND id <= ?2 AND (rule < ?3
                    OR merged_into IS NOT NULL AND EXISTS (SELECT 1 FROM series WHERE "group" = groups.id))
                ORDER BY id LIMIT ?4
                """, start, end, Fingerprint.rule, groups
            ) {
                ($0.id(0, as: GroupID.self), $0.id(1, as: AccountID.self), $0.optionalID(2, as: GroupID.self))
            }
            var step = RegroupingStep()
            for (group, account, target) in found {
                if let target {
                    guard try moveSeries(of: group, to: target, limit: series) else { return step }
                } else {
                    switch try table.decision(for: group, account: account) {
                    case .keep: try table.finish(group)
                    case .change(let fingerprint):
                        try table.finish(group, fingerprint: fingerprint)
                        step.changed += 1
                    case .merge(let target):
                        step.merged += 1
                        try redirect(group, to: target, by: nil)
                        guard try moveSeries(of: group, to: target, limit: series) else { return step }
                    }
                }
                memory.values.regroupedThrough = group
            }
            if found.count < groups {
                let newest = try connection.first("SELECT max(id) FROM groups") { $0.id(0, as: GroupID.self) } ?? 0
                memory.values.regroupedThrough = end < newest ? end : nil
                step.isDone = end >= newest
            }
            return step
        }
    }

    private var table: GroupTable { GroupTable(connection: connection) }

    /// Makes a group a redirect to another one. Its series must be moved afterwards.
    func redirect(_ source: GroupID, to target: GroupID, by correction: Int64?) throws(SQLiteError) {
        try table.redirect(source, to: target, by: correction, from: memory.open.nextID)
        memory.caches.triage.forget(source)
        memory.caches.triage.forget(target)
        memory.values.nextMuteEnd = try Self.nextMuteEnd(connection)
        try updateWatch(of: source)
        try updateWatch(of: target)
    }

    /// Moves series of a redirect to the group that it is merged into. Returns `false` if some may be left.
    func moveSeries(of source: GroupID, to target: GroupID, limit: Int) throws(SQLiteError) -> Bool {
        let target = try table.root(of: target)
        let moved = try table.moveSeries(of: source, to: target, limit: limit, from: memory.open.nextID)
        try seriesMoved(moved, to: target)
        return moved.count < limit
    }

    /// Updates the caches after series were moved to a group.
    func seriesMoved(_ series: [SeriesID], to target: GroupID) throws(SQLiteError) {
        guard !series.isEmpty else { return }
        for id in series { memory.caches.triage.forget(series: id) }
        let state = try TriageTable(connection: connection).standing(ofGroup: target).state
        memory.caches.series.watch(Set(series), state != .open)
    }

    func updateWatch(of group: GroupID) throws(SQLiteError) {
        let triage = TriageTable(connection: connection)
        try triage.watch(group, try triage.standing(ofGroup: group).state != .open, &memory.caches.series)
    }
}
