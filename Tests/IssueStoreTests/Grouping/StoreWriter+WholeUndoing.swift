import IssueCore
import IssueProtocol
import SQLiteKit

@testable import IssueStore

/// Undoing without pauses for reports, as the daemon does it in steps.
extension StoreWriter {
    /// Undoes a correction completely.
    ///
    /// - Returns: The groups that the records belong to now; nil if the correction does not exist.
    func undo(
        correction id: Int64, by author: CorrectionAuthor = CorrectionAuthor(uid: 0, at: .epoch, reason: nil)
    ) throws(StoreFailure) -> [GroupID]? {
        var undoing = Undoing(correction: id, by: author)
        while !undoing.isDone {
            guard let next = try proceed(with: undoing) else { return nil }
            undoing = next
            for group in undoing.takeUndescribed() {
                try describe(
                    group,
                    StoreWriter.failing { () throws(SQLiteError) in
                        try GroupTable(connection: connection).attributes(of: group)
                    })
            }
        }
        return undoing.groups
    }

    /// Undoes the merges into a group or, if the group was merged into another one, that merge.
    ///
    /// - Returns: The groups that the records belong to now.
    func undoMerges(of group: GroupID) throws(StoreFailure) -> [GroupID] {
        var groups: [GroupID] = []
        for id in try mergesToUndo(of: group) {
            for group in try undo(correction: id) ?? [] where !groups.contains(group) { groups.append(group) }
        }
        return groups
    }
}
