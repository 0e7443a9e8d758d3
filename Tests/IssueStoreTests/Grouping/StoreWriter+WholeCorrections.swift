import IssueCore
import IssueProtocol
import SQLiteKit

@testable import IssueStore

/// Corrections in one call each. The daemon performs them in steps, and stores reports in between.
extension StoreWriter {
    private var table: GroupTable { GroupTable(connection: connection) }

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
                    StoreWriter.convertingErrors { () throws(SQLiteError) in
                        try table.attributes(of: group)
                    })
            }
        }
        return undoing.groups
    }

    /// Undoes the merges into a group or, if a correction has merged the group into another one, only that merge. Does
    /// nothing if that correction is a rule.
    ///
    /// - Returns: The groups that the records belong to now.
    func undoMerges(of group: GroupID) throws(StoreFailure) -> [GroupID] {
        var groups: [GroupID] = []
        for id in try mergesToUndo(of: group) {
            for group in try undo(correction: id) ?? [] where !groups.contains(group) { groups.append(group) }
        }
        return groups
    }

    /// The result of a split.
    enum SplitResult: Equatable, Sendable {
        case done(GroupID)
        /// No series of the group matches.
        case noMatch
        /// All series of the group match, so that none would be left.
        case allMatch
        /// The split would exceed a limit for corrections.
        case tooMany
    }

    /// Moves those series of a group whose titles match a pattern, including future ones, to a group of their own.
    func split(
        _ group: GroupID, by pattern: TitlePattern, _ author: CorrectionAuthor
    ) throws(StoreFailure) -> SplitResult {
        let (sample, isAll) = try StoreWriter.convertingErrors { () throws(SQLiteError) in
            try table.match(pattern, in: try table.root(of: group))
        }
        guard let sample else { return .noMatch }
        guard !isAll else { return .allMatch }
        let part = SplitPart(selector: .title(pattern), sample: sample)
        guard let split = try split(group, into: [part], author) else { return .tooMany }
        return .done(split.targets[0])
    }

    /// Gives the series of each value of a field, including future ones, a group of their own. Those with the value of
    /// the oldest series stay.
    ///
    /// Each of the new groups is a correction that can be undone.
    ///
    /// - Returns: The groups, in the order of the values; only the group itself if all series have the same value; nil
    ///   if the split would exceed a limit for corrections.
    func split(
        _ group: GroupID, by field: IssueSplitField, _ author: CorrectionAuthor
    ) throws(StoreFailure) -> [GroupID]? {
        let (source, values) = try StoreWriter.convertingErrors { () throws(SQLiteError) in
            let source = try table.root(of: group)
            return (source, try table.values(ofGroup: source, limit: Self.maxRules + 1)[field] ?? [])
        }
        guard values.count > 1 else { return [source] }
        let parts = values.dropFirst().map {
            SplitPart(selector: .field(field, value: $0.value), sample: $0.sample)
        }
        guard let split = try split(group, into: parts, author) else { return nil }
        return [source] + split.targets
    }

    private func split(
        _ group: GroupID, into parts: [SplitPart], _ author: CorrectionAuthor
    ) throws(StoreFailure) -> Split? {
        guard var split = try beginSplit(group, into: parts, author) else { return nil }
        while !split.isDone { split = try proceed(with: split) }
        for group in [split.source] + split.targets {
            try describe(
                group, StoreWriter.convertingErrors { () throws(SQLiteError) in try table.attributes(of: group) })
        }
        return split
    }
}
