package import IssueCore
import SQLiteKit

/// Names of what limits refer to.
extension StoreReader {
    /// Returns the id of a group as users see it, or nil if the group does not exist.
    package func publicID(of group: GroupID) throws -> String? {
        try snapshot {
            try connection.withStatement("SELECT key FROM groups WHERE id = ?1") { statement in
                statement.bind(group, at: 1)
                return try statement.first { GroupKey.text(key: $0.int64(0)) }
            }
        }
    }
}
