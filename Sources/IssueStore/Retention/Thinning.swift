package import IssueCore
import IssueProtocol
import SQLiteKit

/// The plan and progress of removing the records of some series from a range. The series belong to groups of one user
/// that `EvictionPolicy` has chosen, or to applications whose maximum age the range exceeds.
package struct Thinning: Sendable {
    package let range: RetentionSnapshot.ClosedRange
    /// Whether the range is the oldest one and none of its records would remain. The caller then removes it with
    /// `forget`, which is cheaper. Always `false` if the records are removed because of their age.
    package let isWhole: Bool
    /// The series whose records are removed, mapped to their accounts.
    let accounts: [SeriesID: AccountID]
    /// The users of these series.
    let users: [SeriesID: UInt32]
    /// The last records of groups, by series. They are kept, although `accounts` contains their series.
    let spared: [SeriesID: RowID]
    /// The last row that may be removed: the last one of the range, or of a block if only a part is removed.
    let last: RowID
    /// The rows up to `last` that remain, in ascending order.
    let remainingRows: [RowID]
    /// The series that probably have no records afterwards. Empty if the records are removed because of their age.
    package fileprivate(set) var unreferenced = UnreferencedSeries()
    /// The row from which removal continues.
    private(set) var next: RowID
    /// The number of remaining rows before `next`.
    private(set) var passed = 0
    /// The series whose posting lists have not been emptied yet.
    var lists: [SeriesID]

    init(
        range: RetentionSnapshot.ClosedRange, isWhole: Bool, accounts: [SeriesID: AccountID],
        users: [SeriesID: UInt32], last: RowID? = nil, remainingRows: [RowID], spared: [SeriesID: RowID]
    ) {
        self.range = range
        self.last = last ?? range.lastID
        self.isWhole = isWhole
        self.accounts = accounts
        self.users = users
        self.remainingRows = remainingRows
        self.spared = spared
        next = range.firstID
        lists = accounts.keys.sorted()
    }

    /// Makes the next step continue at this row.
    mutating func advance(to row: RowID) {
        next = row
        while passed < remainingRows.count, remainingRows[passed] < row { passed += 1 }
    }
}

extension StoreWriter {
    /// Chooses the records of a user to remove from a range.
    ///
    /// - Parameters:
    ///   - range: The range.
    ///   - user: The user's id.
    ///   - fraction: The approximate fraction of these records to remove, above 0 and at most 1. Below 1, the oldest
    ///     records are removed.
    package func planThinning(
        of range: RetentionSnapshot.ClosedRange, user: UInt32, fraction: Double = 1
    ) throws(StoreFailure) -> Thinning {
        try Self.convertingErrors { () throws(SQLiteError) in
            try removal.plan(range, user, fraction: fraction, open: memory.open)
        }
    }

    /// Chooses the records of applications to remove from a range.
    package func planExpiry(of aged: RetentionSnapshot.AgedRange) throws(StoreFailure) -> Thinning {
        try Self.convertingErrors { () throws(SQLiteError) in try removal.plan(aged) }
    }

    /// Performs the next step of a plan.
    ///
    /// - Parameter thinning: The plan; receives the progress.
    /// - Returns: The result of the step. `isDone` is `true` after the last step.
    /// - Throws: `StoreFailure`. The step can then be repeated.
    package func thin(_ thinning: inout Thinning) throws(StoreFailure) -> ExpiryProgress {
        let current = thinning
        let (progress, next) = try transaction(isSynced: false) { () throws(SQLiteError) in
            try removal.thin(current, &memory)
        }
        thinning = next
        return progress
    }
}

/// Removes the records of some series from a range, in the order of their ids.
///
/// Each transaction removes a slice of rows and updates the ledger. The posting lists are emptied afterwards. Their
/// rows in `postings` remain, because they link the older lists of a series with the newer ones.
extension RecordRemoval {
    /// The maximum number of posting lists per transaction.
    private static let sliceLists = 256

    /// Performs one step of a plan. Returns the result, and the plan with the progress.
    func thin(_ thinning: Thinning, _ memory: inout WriterMemory) throws(SQLiteError) -> (ExpiryProgress, Thinning) {
        var next = thinning
        if let rows = try slice(of: thinning) {
            let kept = Array(thinning.remainingRows[thinning.passed...].prefix { $0 <= rows.upperBound })
            if try deleteDeadLetters(of: rows, keeping: kept) { return (ExpiryProgress(), next) }
            let progress = try remove(rows, keeping: kept, thinning, &memory)
            if progress.records > 0 { memory.values.removals.removed(ahead: rows) }
            next.advance(to: rows.upperBound + 1)
            return (progress, next)
        }
        let lists = thinning.lists.prefix(Self.sliceLists)
        let damaged = try blocks.reader.stillUnreadable(in: thinning.range.firstID...thinning.range.lastID)
        for series in lists { try emptyList(of: series, thinning, damaged) }
        next.lists.removeFirst(lists.count)
        var progress = ExpiryProgress()
        progress.isDone = next.lists.isEmpty
        return (progress, next)
    }

    // MARK: Planning

    /// A series that has records in the examined range.
    private struct Member {
        var series: SeriesID
        var group: GroupID
        var account: AccountID
        var user: UInt32
        var records: Int64
        var bytes: Int64
        var lastRange: Int64
        /// The size of the series' key, in bytes.
        var keyBytes: Int64
        /// Whether the examined range is the last closed one in which the series occurred, or the series has no records
        /// left in the last one.
        var isLast: Bool
    }

    /// Returns the series that have records in a range.
    private func members(of range: RetentionSnapshot.ClosedRange) throws(SQLiteError) -> [Member] {
        try connection.all(
            """
            SELECT postings.series, series."group", series.account, accounts.uid, postings.records, postings.bytes,
                   totals.last_range, length(series.key), coalesce(newest.range = ?1 OR newest.records = 0, 1)
            FROM postings
            JOIN series ON series.id = postings.series
            JOIN accounts ON accounts.id = series.account
            JOIN totals ON totals.series = postings.series
            LEFT JOIN postings AS newest ON newest.range = totals.last_range AND newest.series = postings.series
            WHERE postings.range = ?1 AND postings.records > 0
            """, range.id
        ) {
            Member(
                series: $0.id(0), group: $0.id(1), account: $0.id(2), user: UInt32(clamping: $0.int64(3)),
                records: $0.int64(4), bytes: $0.int64(5), lastRange: $0.int64(6),
                keyBytes: $0.int64(7), isLast: $0.int64(8) != 0)
        }
    }

    /// Makes a plan that removes the records of some applications. The last records of groups are removed, too.
    func plan(_ aged: RetentionSnapshot.AgedRange) throws(SQLiteError) -> Thinning {
        let members = try members(of: aged.range)
        let chosen = members.filter { aged.accounts.contains($0.account) }
        return Thinning(
            range: aged.range, isWhole: false,
            accounts: Dictionary(chosen.map { ($0.series, $0.account) }) { first, _ in first },
            users: Dictionary(chosen.map { ($0.series, $0.user) }) { first, _ in first },
            remainingRows: try remainingRows(
                of: members.filter { !aged.accounts.contains($0.account) }, [:], in: aged.range),
            spared: [:])
    }

    /// Makes a plan that removes records of a user. `EvictionPolicy` chooses the groups.
    func plan(
        _ range: RetentionSnapshot.ClosedRange, _ user: UInt32, fraction: Double, open: OpenRange
    ) throws(SQLiteError) -> Thinning {
        let members = try members(of: range)
        var groups: [GroupID: GroupVolume] = [:]
        let own = members.filter { $0.user == user }
        let sized = own.filter { $0.bytes > 0 }
        // A list without bytes has only records that can't be removed. If such lists were a reason to choose a group,
        // the range could be chosen again and again.
        for member in sized.isEmpty ? own : sized {
            groups[member.group, default: GroupVolume()].records += member.records
            // Only the records are removed, so the bytes of the series itself do not count.
            groups[member.group]?.bytes += max(1, member.bytes - RangePostings.Posting.bytesOfSeries)
        }
        let removed = EvictionPolicy.groupsToRemove(groups)
        let chosen = members.filter { removed.contains($0.group) }
        var spared = try lastRecords(of: chosen, in: range, openID: open.firstID)
        let damaged = try blocks.reader.stillUnreadable(in: range.firstID...range.lastID)
        var unreadable: [SeriesID: [RowID]] = [:]
        for member in chosen {
            let rows = try rows(of: member.series, in: range, within: damaged)
            if !rows.isEmpty { unreadable[member.series] = rows }
        }
        // If no record would be removed, the last records are removed too. Otherwise, the range could be chosen again
        // and again.
        let kept = Set(spared.values).union(unreadable.values.joined())
        if kept.count == Int(chosen.reduce(0) { $0 + $1.records }) { spared = [:] }
        let end = try lastRow(toRemove: fraction, of: chosen, keeping: kept, in: range)
        let isOldest = try isOldest(range)
        let isWhole = chosen.count == members.count && spared.isEmpty && isOldest && end == range.lastID
        let remaining = try remainingRows(of: members.filter { !removed.contains($0.group) }, spared, in: range)
        var thinning = Thinning(
            range: range, isWhole: isWhole,
            accounts: Dictionary(chosen.map { ($0.series, $0.account) }) { first, _ in first },
            users: Dictionary(chosen.map { ($0.series, $0.user) }) { first, _ in first },
            last: end, remainingRows: remaining.filter { $0 <= end }, spared: spared)
        var last = chosen.filter { $0.isLast && spared[$0.series] == nil && unreadable[$0.series] == nil }
        if end < range.lastID {
            var emptied: [Member] = []
            for member in last where try rows(of: member.series, in: range).last ?? 0 <= end { emptied.append(member) }
            last = emptied
        }
        let stillOpen = open.series(among: Set(last.map(\.series)))
        for member in last where !stillOpen.contains(member.series) {
            thinning.unreferenced.add(keyBytes: member.keyBytes, of: member.user)
        }
        return thinning
    }

    /// Returns the last row of the block that contains the last row to remove.
    ///
    /// - Parameters:
    ///   - fraction: The fraction of the records to remove, at most 1. Below 1, the oldest records are removed.
    ///   - members: The series whose records are removed.
    ///   - kept: Those of their rows that are kept in any case.
    ///   - range: The range.
    private func lastRow(
        toRemove fraction: Double, of members: [Member], keeping kept: Set<RowID>,
        in range: RetentionSnapshot.ClosedRange
    ) throws(SQLiteError) -> RowID {
        guard fraction < 1 else { return range.lastID }
        var all: [RowID] = []
        for member in members { all += try rows(of: member.series, in: range) }
        let removable = all.filter { !kept.contains($0) }.sorted()
        // If all records would be kept, `plan` removes the last records of groups, too, from the whole range.
        guard !removable.isEmpty else { return range.lastID }
        let row = removable[min(removable.count - 1, Int(fraction * Double(removable.count)))]
        // The last id of a damaged block may be wrong.
        let next =
            try connection.first(
                "SELECT min(first_id) FROM blocks WHERE first_id > ?1 AND first_id <= ?2", row, range.lastID
            ) { $0.optionalID(0, as: RowID.self) } ?? nil
        return next.map { $0 - 1 } ?? range.lastID
    }

    /// Returns the rows of the given series and the spared rows, in ascending order.
    private func remainingRows(
        of members: [Member], _ spared: [SeriesID: RowID], in range: RetentionSnapshot.ClosedRange
    ) throws(SQLiteError) -> [RowID] {
        var all = Array(spared.values)
        for member in members { all += try rows(of: member.series, in: range) }
        return all.sorted()
    }

    private func isOldest(_ range: RetentionSnapshot.ClosedRange) throws(SQLiteError) -> Bool {
        try connection.first("SELECT 1 FROM ranges WHERE id < ?1 AND records > 0 LIMIT 1", range.id) { _ in false }
            ?? true
    }

    /// Returns, for each group of `members` that has not occurred after the range, its newest record in the range,
    /// keyed by the record's series.
    private func lastRecords(
        of members: [Member], in range: RetentionSnapshot.ClosedRange, openID: RowID
    ) throws(SQLiteError) -> [SeriesID: RowID] {
        let withLaterRange = Set(members.filter { $0.lastRange > range.id }.map(\.group))
        let candidates = Dictionary(grouping: members.filter { !withLaterRange.contains($0.group) }, by: \.group)
        guard !candidates.isEmpty else { return [:] }
        let reported = try Set(
            connection.all(
                #"SELECT DISTINCT series."group" FROM records JOIN series ON series.id = series WHERE records.id >= ?1"#,
                openID
            ) { $0.id(0, as: GroupID.self) })
        var last: [SeriesID: RowID] = [:]
        for (group, members) in candidates where !reported.contains(group) {
            guard try !occurs(group, above: range.id) else { continue }
            var newest: (row: RowID, series: SeriesID)?
            for member in members {
                guard let row = try rows(of: member.series, in: range).last, row > newest?.row ?? 0 else { continue }
                newest = (row, member.series)
            }
            if let newest { last[newest.series] = newest.row }
        }
        return last
    }

    /// Returns `true` if a series of a group occurred in a closed range after the given one.
    private func occurs(_ group: GroupID, above range: Int64) throws(SQLiteError) -> Bool {
        try connection.exists(
            """
            SELECT 1 FROM totals WHERE last_range > ?2 AND series IN (SELECT id FROM series WHERE "group" = ?1) LIMIT 1
            """, group, range)
    }

    private func rows(of series: SeriesID, in range: RetentionSnapshot.ClosedRange) throws(SQLiteError) -> [RowID] {
        let list =
            try connection.first("SELECT ids FROM postings WHERE range = ?1 AND series = ?2", range.id, series) {
                $0.bytes(0)
            } ?? []
        return PostingList.decode(list, base: range.firstID) ?? []
    }

    /// Returns those rows of a series in a range that are in one of the given damaged blocks.
    private func rows(
        of series: SeriesID, in range: RetentionSnapshot.ClosedRange, within damaged: [ClosedRange<RowID>]
    ) throws(SQLiteError) -> [RowID] {
        guard !damaged.isEmpty else { return [] }
        return try rows(of: series, in: range).filter { row in damaged.contains { $0.contains(row) } }
    }

    // MARK: Removing records

    /// Returns the rows of the next blocks; nil if no blocks are left.
    private func slice(of thinning: Thinning) throws(SQLiteError) -> ClosedRange<RowID>? {
        guard thinning.next <= thinning.last else { return nil }
        let mayRewrite = thinning.passed < thinning.remainingRows.count
        let blocks = mayRewrite ? Self.sliceRewrittenBlocks : Self.sliceBlocks
        return try sliceEnd(of: thinning.next...thinning.last, blocks: blocks).map { thinning.next...$0 }
    }

    private func remove(
        _ rows: ClosedRange<RowID>, keeping remaining: [RowID], _ thinning: Thinning, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> ExpiryProgress {
        var progress = ExpiryProgress()
        var kept = remaining
        // Removed records that are pending for a destination must be counted as expired in the ledger.
        if try !outbox.isSettled(rows) {
            progress.expired = try outbox.expire(toErase(rows, thinning))
            // A damaged block is kept: its records are unknown, so they cannot be counted.
            kept = try (kept + blocks.reader.stillUnreadable(in: rows).map(\.lowerBound)).sorted()
        }
        progress.records = try blocks.remove(rows, keeping: kept)
        memory.values.removals.removed()
        guard progress.records > 0 else { return progress }
        try connection.run(
            """
            DELETE FROM express WHERE record BETWEEN ?1 AND ?2
                AND NOT EXISTS (SELECT 1 FROM records WHERE records.id = record)
            """, rows.lowerBound, rows.upperBound)
        var first = rows.lowerBound
        // The records in damaged blocks were not removed.
        for unreadable in try blocks.reader.stillUnreadable(in: rows).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if first < unreadable.lowerBound { try outbox.deleteSingles(in: first...(unreadable.lowerBound - 1)) }
            first = unreadable.upperBound + 1
        }
        if first <= rows.upperBound { try outbox.deleteSingles(in: first...rows.upperBound) }
        try shrink(range: thinning.range.id, by: Int(progress.records))
        return progress
    }

    /// Returns the readable records of a slice that must be removed.
    private func toErase(_ rows: ClosedRange<RowID>, _ thinning: Thinning) throws(SQLiteError) -> [RecordToErase] {
        try connection.all(
            "SELECT id, series, count FROM records WHERE id BETWEEN ?1 AND ?2", rows.lowerBound, rows.upperBound
        ) { ($0.id(0, as: RowID.self), $0.id(1, as: SeriesID.self), $0.int64(2)) }.compactMap { row, series, count in
            guard let account = thinning.accounts[series], thinning.spared[series] != row else { return nil }
            return RecordToErase(
                row: row, series: series, account: account, receivedAt: 0, count: count, range: thinning.range.id,
                base: thinning.range.firstID)
        }
    }

    /// Removes all rows up to the plan's last one from a posting list, except a spared one and those in damaged blocks,
    /// and subtracts their bytes from the user's share.
    ///
    /// A record in a damaged block that was kept may still be pending, and only the list shows whose record it is. The
    /// record counts as 0 bytes, because thinning can't remove it.
    ///
    /// - Parameters:
    ///   - series: The series of the list.
    ///   - thinning: The plan.
    ///   - damaged: The ids of the damaged blocks in the range.
    private func emptyList(
        of series: SeriesID, _ thinning: Thinning, _ damaged: [ClosedRange<RowID>]
    ) throws(SQLiteError) {
        let size = try connection.first(
            "SELECT records, bytes FROM postings WHERE range = ?1 AND series = ?2", thinning.range.id, series
        ) { (records: $0.int64(0), bytes: $0.int64(1)) }
        guard let size else { return }
        let spared = thinning.spared[series]
        let all = try rows(of: series, in: thinning.range)
        if thinning.last < thinning.range.lastID, let first = all.first, first > thinning.last { return }
        let unreadable = all.filter { row in row != spared && damaged.contains { $0.contains(row) } }
        let left = all.filter { row in
            row > thinning.last || row == spared || damaged.contains { $0.contains(row) }
        }
        let ofSeries = min(RangePostings.Posting.bytesOfSeries, size.bytes)
        let readable = Int64(left.count - unreadable.count)
        let ofRecords = (size.bytes - ofSeries).clampedProduct(readable) / max(size.records, 1)
        let bytes = readable == 0 ? 0 : ofSeries + ofRecords
        try connection.run(
            """
            UPDATE postings SET records = ?3, bytes = ?4, ids = ?5,
                                first_at = CASE ?3 WHEN ?6 THEN last_at ELSE first_at END
            WHERE range = ?1 AND series = ?2
            """, thinning.range.id, series, left.count, bytes,
            DatabaseBytes.blob(PostingList.encode(left, base: thinning.range.firstID)), spared == nil ? 0 : 1)
        guard let user = thinning.users[series] else { return }
        try subtractShare(size.bytes - bytes, of: Int64(user), in: thinning.range.id)
    }
}
