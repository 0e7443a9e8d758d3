package import IssueCore
import IssueProtocol
import SQLiteKit

/// Undoes corrections.
extension StoreWriter {
    /// The maximum number of redirects that one transaction turns back into groups.
    private static let groupsPerUndoing = 64
    /// A group with at least this many series gets its attributes after the transaction that changes it.
    private static let seriesPerDescription = 64

    private var table: GroupTable { GroupTable(connection: connection) }

    /// The progress of undoing a correction.
    package struct Undoing: Sendable {
        fileprivate enum Phase {
            /// Redirects with higher ids than this group are turned back into groups.
            case detaching(above: GroupID)
            /// Series of these groups move back: next, those of the last group that have higher ids than `above`.
            case moving([GroupID], above: SeriesID)
            /// The groups that were turned back and have higher ids than this one get their attributes.
            case finishing(above: GroupID)
        }

        package let correction: Int64
        fileprivate let author: CorrectionAuthor
        /// The target of the correction and the groups to which its records return, without those that have become
        /// redirects; at most 1,000.
        package fileprivate(set) var groups: [GroupID] = []
        package fileprivate(set) var isDone = false
        /// The progress of undoing a merge or rule.
        fileprivate var phase = Phase.detaching(above: 0)
        /// The groups whose series may have to move.
        fileprivate var holders: Set<GroupID> = []
        /// The last series that was examined while undoing a split.
        fileprivate var reachedSeries: SeriesID = 0
        /// Groups whose attributes must still be set, because they may have lost or got series.
        fileprivate var undescribed: Set<GroupID> = []

        /// - Parameters:
        ///   - correction: The number of the correction.
        ///   - author: The user who undoes the correction, with the time and the reason.
        package init(correction: Int64, by author: CorrectionAuthor) {
            self.correction = correction
            self.author = author
        }

        fileprivate mutating func add(_ group: GroupID) {
            if groups.count < 1000, !groups.contains(group) { groups.append(group) }
        }

        /// Removes and returns the groups whose attributes must be set with `describe` before the next step. Returns
        /// an empty array unless undoing is done or at least 256 groups are waiting.
        package mutating func takeUndescribed() -> [GroupID] {
            guard isDone || undescribed.count >= 256 else { return [] }
            defer { undescribed.removeAll() }
            return undescribed.sorted()
        }
    }

    /// Performs the next step of undoing a correction. Records that have arrived since the correction are moved too.
    ///
    /// The last step removes the correction. To continue after an interruption, begin again with a new `Undoing`.
    ///
    /// - Parameter undoing: The progress so far.
    /// - Returns: The new progress; nil if the correction does not exist.
    package func proceed(with undoing: Undoing) throws(StoreFailure) -> Undoing? {
        defer { callbacks.onCorrections?() }
        return try transaction { () throws(SQLiteError) in
            guard let found = try table.correction(undoing.correction) else { return nil }
            var undoing = undoing
            let target = try table.root(of: found.target)
            if undoing.groups.isEmpty {
                undoing.add(target)
                undoing.undescribed.insert(target)
            }
            switch found.kind {
            case .merge, .rule: try continueUndoingMerge(&undoing, target)
            case .split: try continueUndoingSplit(&undoing, found, target)
            }
            if undoing.isDone {
                try table.addEvent(
                    found.id, found.kind, isUndone: true, from: found.kind == .rule ? nil : found.source,
                    to: found.target, pattern: found.pattern, undoing.author)
                try table.dropCorrection(undoing.correction)
            }
            try groupsChanged([])
            return undoing
        }
    }

    /// Performs the next step of undoing a merge or rule: turning redirects back into groups, moving series to them, or
    /// setting their attributes.
    private func continueUndoingMerge(_ undoing: inout Undoing, _ target: GroupID) throws(SQLiteError) {
        switch undoing.phase {
        case .detaching(let group):
            let sources = try table.redirects(by: undoing.correction, above: group, limit: Self.groupsPerUndoing)
            for source in sources {
                let holder = try table.root(of: source)
                // The group is its own root if it was turned back before an interruption.
                if holder != source {
                    try table.detach(source, from: holder, row: memory.open.nextID)
                    undoing.holders.insert(holder)
                }
                undoing.add(source)
            }
            if let last = sources.last, sources.count == Self.groupsPerUndoing {
                undoing.phase = .detaching(above: last)
            } else {
                undoing.phase = .moving(try table.withSplits(undoing.holders.union([target])), above: 0)
            }
        case .moving(var groups, let series):
            guard let group = groups.last else {
                undoing.phase = .finishing(above: 0)
                return
            }
            if let last = try moveBack(&undoing, seriesOf: group, above: series) {
                undoing.phase = .moving(groups, above: last)
            } else {
                groups.removeLast()
                undoing.phase = .moving(groups, above: 0)
            }
        case .finishing(let group):
            let sources = try table.redirects(by: undoing.correction, above: group, limit: Self.groupsPerUndoing)
            for source in sources {
                let holder = try table.root(of: source)
                if holder != source {
                    // The rule has created and merged this group since the first phase, so the group has few series.
                    try table.detach(source, from: holder, row: memory.open.nextID)
                    let series = try table.series(
                        ofFingerprintOf: source, in: holder, limit: Self.seriesPerCorrection)
                    try table.move(series, from: holder, to: source, from: memory.open.nextID)
                    try seriesMoved(series, to: source)
                    undoing.add(source)
                }
                try describe(source, orLater: &undoing)
                try table.forgetCorrection(of: source)
            }
            for source in sources where try table.isSurplus(source) && source != target {
                // The split that created this group was undone earlier, so the group's records are in other groups.
                try table.redirectSurplus(source, to: target, from: memory.open.nextID)
                undoing.groups.removeAll { $0 == source }
            }
            undoing.phase = .finishing(above: sources.last ?? group)
            undoing.isDone = sources.count < Self.groupsPerUndoing
            if undoing.isDone, try table.isSurplus(target), let other = undoing.groups.first(where: { $0 != target }) {
                try table.redirectSurplus(target, to: other, from: memory.open.nextID)
                undoing.groups.removeAll { $0 == target }
                undoing.undescribed.remove(target)
            }
        }
    }

    /// Moves series of a group to the groups that were turned back, or to groups that were split off from these.
    ///
    /// - Returns: The last series that was examined; nil if none are left.
    private func moveBack(
        _ undoing: inout Undoing, seriesOf group: GroupID, above series: SeriesID
    ) throws(SQLiteError) -> SeriesID? {
        let page = try table.homes(ofSeriesOf: group, above: series, limit: Self.seriesPerCorrection)
        var finder = GroupFinder(table: table, correction: undoing.correction)
        var moved: [GroupID: [SeriesID]] = [:]
        for series in page {
            guard let target = try finder.group(ofSeries: series.key, home: series.home), target != group else {
                continue
            }
            moved[target, default: []].append(series.id)
        }
        for (target, series) in moved {
            try table.move(series, from: group, to: target, from: memory.open.nextID)
            try seriesMoved(series, to: target)
            // Groups that were turned back get their attributes in the last phase.
            if try !finder.isTurnedBack(target) { undoing.undescribed.insert(target) }
        }
        if !moved.isEmpty { undoing.undescribed.insert(group) }
        return page.count < Self.seriesPerCorrection ? nil : page.last?.id
    }

    /// Sets the attributes of a group if it has few series. Otherwise adds it to the groups to describe later.
    private func describe(_ group: GroupID, orLater undoing: inout Undoing) throws(SQLiteError) {
        if try table.hasSeries(group, Self.seriesPerDescription) {
            undoing.undescribed.insert(group)
        } else {
            try table.describe(group, try table.attributes(of: group))
        }
    }

    /// Performs the next step of undoing a split: moves series out of the split-off group, back to the groups that now
    /// have the fingerprints of these series.
    private func continueUndoingSplit(
        _ undoing: inout Undoing, _ correction: CorrectionRow, _ group: GroupID
    ) throws(SQLiteError) {
        let page = try table.moveHome(
            seriesOf: group, above: undoing.reachedSeries, limit: Self.seriesPerCorrection, from: memory.open.nextID)
        for (home, series) in page.moved {
            try seriesMoved(series, to: home)
            undoing.add(home)
            try describe(home, orLater: &undoing)
        }
        undoing.reachedSeries = page.last ?? undoing.reachedSeries
        undoing.isDone = page.count < Self.seriesPerCorrection
        guard undoing.isDone, group == correction.target, try !table.hasSeries(group, 1) else { return }
        try table.dropCorrection(correction.id)
        if let other = undoing.groups.first(where: { $0 != group }) {
            // The id of the group that was split off now refers to a group that its records returned to.
            try table.redirect(group, to: other, by: nil, from: memory.open.nextID)
        } else {
            // The records had already left the group when a merge was undone.
            let source = try table.root(of: correction.source)
            guard source != group, try table.isSurplus(group) else { return }
            try table.redirectSurplus(group, to: source, from: memory.open.nextID)
            undoing.add(source)
        }
        undoing.groups.removeAll { $0 == group }
        undoing.undescribed.remove(group)
    }

    /// Returns the numbers of the merges into a group, the newest first. If a correction has merged the group into
    /// another one, returns only the number of that correction, or none if it is a rule.
    package func mergesToUndo(of group: GroupID) throws(StoreFailure) -> [Int64] {
        try Self.convertingErrors { () throws(SQLiteError) in try table.mergesToUndo(of: group) }
    }

    /// Sets the attributes of a group whose series have changed. Has no effect if `attributes` is nil or the group is a
    /// redirect.
    package func describe(_ group: GroupID, _ attributes: GroupAttributes?) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in try table.describe(group, attributes) }
    }
}

/// Finds the groups that series belong to while a merge or rule is undone.
private struct GroupFinder {
    let table: GroupTable
    let correction: Int64
    private var roots: [GroupID: GroupID] = [:]
    private var turnedBack: [GroupID: Bool] = [:]
    private var patterns = PatternCache()

    init(table: GroupTable, correction: Int64) {
        self.table = table
        self.correction = correction
    }

    /// Returns the group that a series belongs to after all other merges and splits. Returns nil if undoing does not
    /// affect the series: neither this group, nor one from which splits lead to it, was turned back.
    ///
    /// - Parameters:
    ///   - key: The key of the series. No split applies to a series whose description was erased.
    ///   - home: The group of its fingerprint.
    mutating func group(ofSeries key: [UInt8], home: GroupID) throws(SQLiteError) -> GroupID? {
        var group = try root(of: home)
        var isAffected = try isTurnedBack(group)
        var applied: Set<Int64> = []
        while try !table.splits(of: group, &patterns).isEmpty, let series = SeriesKey.decode(key),
            let split = try table.split(of: group, series, &patterns), applied.insert(split.id).inserted
        {
            group = try root(of: split.target)
            if try isTurnedBack(group) { isAffected = true }
        }
        return isAffected ? group : nil
    }

    mutating func isTurnedBack(_ group: GroupID) throws(SQLiteError) -> Bool {
        if let known = turnedBack[group] { return known }
        let found = try table.isTurnedBack(group, from: correction)
        turnedBack[group] = found
        return found
    }

    private mutating func root(of group: GroupID) throws(SQLiteError) -> GroupID {
        if let known = roots[group] { return known }
        let root = try table.root(of: group)
        roots[group] = root
        return root
    }
}

/// Undoes corrections in the database.
extension GroupTable {
    /// Returns the groups that a correction has made redirects, in the order of their ids. Groups that were turned back
    /// are included until `forgetCorrection(of:)` is called for them.
    func redirects(by correction: Int64, above group: GroupID, limit: Int) throws(SQLiteError) -> [GroupID] {
        try connection.all(
            "SELECT id FROM groups WHERE merged_by = ?1 AND id > ?2 ORDER BY id LIMIT ?3", correction, group, limit
        ) { $0.id(0, as: GroupID.self) }
    }

    /// Returns the numbers of the merges into a group, the newest first. If a correction has merged the group into
    /// another one, returns only the number of that correction, or none if it is a rule.
    func mergesToUndo(of group: GroupID) throws(SQLiteError) -> [Int64] {
        try connection.all(
            """
            SELECT id FROM corrections WHERE account = (SELECT account FROM groups WHERE id = ?1) AND kind = 1 AND CASE
                WHEN (SELECT merged_by FROM groups WHERE id = ?1) IS NULL THEN target = ?1
                ELSE id = (SELECT merged_by FROM groups WHERE id = ?1) END
            ORDER BY id DESC
            """, group
        ) { $0.int64(0) }
    }

    /// Returns series of a group in the order of their ids, with the groups of their fingerprints.
    ///
    /// - Parameters:
    ///   - series: Only series with a higher id are returned.
    ///   - limit: The maximum number of series.
    func homes(
        ofSeriesOf group: GroupID, above series: SeriesID, limit: Int
    ) throws(SQLiteError) -> [(id: SeriesID, home: GroupID, key: [UInt8])] {
        try connection.all(
            #"SELECT id, coalesce(home, "group"), key FROM series WHERE "group" = ?1 AND id > ?2 ORDER BY id LIMIT ?3"#,
            group, series, limit
        ) { ($0.id(0, as: SeriesID.self), $0.id(1, as: GroupID.self), $0.bytes(2)) }
    }

    /// Returns up to `limit` series that have the fingerprint of `group` but are in `holder`.
    func series(
        ofFingerprintOf group: GroupID, in holder: GroupID, limit: Int
    ) throws(SQLiteError) -> [SeriesID] {
        try connection.all(#"SELECT id FROM series WHERE home = ?1 AND +"group" = ?2 LIMIT ?3"#, group, holder, limit) {
            $0.id(0, as: SeriesID.self)
        }
    }

    /// Returns these groups and the groups that were split off from them, directly or indirectly.
    func withSplits(_ groups: Set<GroupID>) throws(SQLiteError) -> [GroupID] {
        var (found, next) = (groups.sorted(), 0)
        var seen = groups
        var cache = PatternCache()
        while next < found.count {
            for split in try splits(of: found[next], &cache) {
                let target = try root(of: split.target)
                if seen.insert(target).inserted { found.append(target) }
            }
            next += 1
        }
        return found
    }

    /// Turns a redirect back into a group with the state of the group that it was merged into.
    ///
    /// The series of its fingerprint must be moved afterwards. The group refers to the correction that merged it until
    /// `forgetCorrection(of:)` is called.
    func detach(_ group: GroupID, from target: GroupID, row: RowID) throws(SQLiteError) {
        try connection.run("UPDATE groups SET merged_into = NULL WHERE id = ?1", group)
        let triage = TriageTable(connection: connection)
        _ = try triage.write(try triage.standing(ofGroup: target), of: group, from: row)
    }

    /// Returns `true` if a group is no longer a redirect because this merge or rule is being undone.
    func isTurnedBack(_ group: GroupID, from correction: Int64) throws(SQLiteError) -> Bool {
        try connection.first(
            "SELECT merged_by IS ?2 AND merged_into IS NULL FROM groups WHERE id = ?1", group, correction
        ) { $0.int64(0) != 0 } ?? false
    }

    /// Removes a group's reference to the correction that merged it, unless the group is still a redirect.
    func forgetCorrection(of group: GroupID) throws(SQLiteError) {
        try connection.run("UPDATE groups SET merged_by = NULL WHERE id = ?1 AND merged_into IS NULL", group)
    }

    /// Moves series out of a split-off group, back to the groups that now have the fingerprints of these series.
    ///
    /// - Returns: The moved series, keyed by their new groups; the number of examined series; and the last examined
    ///   series, nil if there were none.
    func moveHome(
        seriesOf group: GroupID, above series: SeriesID, limit: Int, from row: RowID
    ) throws(SQLiteError) -> (moved: [GroupID: [SeriesID]], count: Int, last: SeriesID?) {
        let away = try connection.all(
            #"SELECT id, home FROM series WHERE "group" = ?1 AND id > ?2 AND home IS NOT NULL ORDER BY id LIMIT ?3"#,
            group, series, limit
        ) { ($0.id(0, as: SeriesID.self), $0.id(1, as: GroupID.self)) }
        var roots: [GroupID: GroupID] = [:]
        var groups: [GroupID: [SeriesID]] = [:]
        for (series, home) in away {
            let root = if let known = roots[home] { known } else { try root(of: home) }
            roots[home] = root
            groups[root, default: []].append(series)
        }
        groups[group] = nil
        for (target, series) in groups { try move(series, from: group, to: target, from: row) }
        return (groups, away.count, away.last?.0)
    }
}
