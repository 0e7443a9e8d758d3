import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// Returns the silences in effect in the form in which events are compared with them: with the ids that their
    /// groups have now.
    ///
    /// A group may have been merged into another one after it was silenced, and events have the id of the other one.
    /// The silence then covers all of that group.
    package func effectiveSilences(at now: IssueTimestamp) throws -> [(number: Int64, silence: IssueSilence)] {
        try snapshot {
            try silences(at: now).map { number, silence in
                var effective = silence
                effective.groups = try silence.groups.map { try currentID(ofGroup: $0) ?? $0 }
                return (number, effective)
            }
        }
    }

    /// Returns the id of the group that an id leads to; nil if no group has this id.
    private func currentID(ofGroup id: String) throws -> String? {
        guard let key = GroupKey.key(id), let group = try group(key: key, viewer: .everything) else { return nil }
        return try connection.withStatement("SELECT key FROM groups WHERE id = ?1") { statement in
            statement.bind(group, at: 1)
            return try statement.first { GroupKey.text(key: $0.int64(0)) }
        }
    }
}
