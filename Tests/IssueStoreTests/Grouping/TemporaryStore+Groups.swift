import IssueCore
import IssueProtocol
import Testing

@testable import IssueStore

extension TemporaryStore {
    /// Returns the groups in the order of their first records.
    func groups(_ filter: IssueFilter = IssueFilter()) throws -> [IssueGroup] {
        try reader().groups(.of(filter, order: .oldest), viewer: .everything).groups
    }

    /// Returns the id of the group with a title.
    func group(_ title: String) throws -> GroupID {
        let id = try #require(try groups().first { $0.title == title }).id
        return try reader().group(withOwnID: id, viewer: .everything)
    }

    /// Returns the author of a correction that is made now.
    func author(_ reason: String? = nil) -> StoreWriter.CorrectionAuthor {
        StoreWriter.CorrectionAuthor(uid: 1000, at: wall, reason: reason)
    }
}

extension IssueRecord {
    /// Returns a record of the application `shop`.
    static func shop(_ message: String, version: String = "1.0", fingerprint: String? = nil) -> IssueRecord {
        IssueRecord(message: message, app: Application(name: "shop", version: version), fingerprint: fingerprint)
    }
}
