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

    /// How many notes one transaction takes at most.
    package static let notesAtATime = 256

    /// Takes over what was said of groups that are here, too, and of which nothing has been said here.
    package func bringOver(_ notes: some Sequence<GroupNote>) throws(StoreFailure) {
        try transaction {
            for note in notes {
                try connection.withStatement(
                    """
                    UPDATE groups SET state = ?5, muted_until = ?6, muted_version = ?7, regressed = ?8
                    WHERE state = 0 AND regressed = 0 AND fingerprint = ?3 AND rule = ?4
                        AND account = (SELECT id FROM accounts WHERE uid = ?1 AND app = ?2)
                    """
                ) { statement in
                    statement.bind(Int64(note.uid), at: 1)
                    statement.bind(note.app, at: 2)
                    statement.bind(note.fingerprint, at: 3)
                    statement.bind(note.rule, at: 4)
                    statement.bind(Int64(note.state.rawValue), at: 5)
                    statement.bind(note.mutedUntil?.milliseconds, at: 6)
                    statement.bind(note.mutedVersion, at: 7)
                    statement.bind(note.hasRegressed ? 1 : 0, at: 8)
                    try statement.run()
                }
            }
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
