package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores records of a database that was set aside, those that have not been brought over before.
    ///
    /// No guard against new groups counts them: they were let in once.
    ///
    /// - Returns: how many are new.
    package func bringOver(
        _ submissions: [Submission], wall: Timestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> Int64 {
        isBringingOver = true
        defer { isBringingOver = false }
        let outcomes = try commit(submissions, wall: wall, monotonic: monotonic)
        return outcomes.reduce(0) { $0 + $1.receipts.storedCount }
    }

    /// Takes over what was said of groups that are here, too, and of which nothing has been said here.
    package func bringOver(_ notes: some Sequence<GroupNote>) throws(StoreFailure) {
        let changed = try transaction {
            var changed: [(group: Int64, series: Set<Int64>, isWatched: Bool)] = []
            for note in notes {
                guard let group = try group(of: note) else { continue }
                _ = try write(note.standing, of: group, from: open.nextID)
                changed.append((group, try series(ofGroup: group), note.standing.state != .open))
            }
            return changed
        }
        for (group, series, isWatched) in changed { try self.changed(group, series, isWatched: isWatched) }
    }

    /// The group that a note is of, where nothing has been said of it here.
    private func group(of note: GroupNote) throws -> Int64? {
        try connection.withStatement(
            """
            SELECT id FROM groups
            WHERE state = 0 AND regressed = 0 AND fingerprint = ?3 AND rule = ?4
                AND account = (SELECT id FROM accounts WHERE uid = ?1 AND app = ?2)
            """
        ) { statement in
            statement.bind(Int64(note.uid), at: 1)
            statement.bind(note.app, at: 2)
            statement.bind(note.fingerprint, at: 3)
            statement.bind(note.rule, at: 4)
            return try statement.first { $0.int64(0) }
        }
    }
}

extension ReceiptList {
    /// How many records were stored that were not there before.
    fileprivate var storedCount: Int64 {
        switch self {
        case .run(_, let count): Int64(count)
        case .mixed(let receipts):
            Int64(
                receipts.count { receipt in
                    if case .stored = receipt { true } else { false }
                })
        }
    }
}
