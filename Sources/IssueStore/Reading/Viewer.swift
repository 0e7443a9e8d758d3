import IssueCore
package import SQLiteKit

/// The records that a client may see. Every query has a viewer.
package enum Viewer: Equatable, Sendable {
    /// All records: for root, the daemon's own user and the configured readers.
    case everything
    /// The records that this user reported.
    case user(UInt32)
    /// No records: for a user id that the system assigns dynamically, and may assign to another user later.
    case nothing

    /// The user id to which queries are restricted; nil for no restriction. No account has the id -1.
    private var uid: Int64? {
        switch self {
        case .everything: nil
        case .user(let uid): Int64(uid)
        case .nothing: -1
        }
    }

    /// Returns the SQL condition that the viewer may see what belongs to a row of `accounts`.
    ///
    /// Every query that a client can start contains this condition or calls `sees`, so that there is one place to
    /// check.
    ///
    /// - Parameter number: The number of the statement's parameter for the viewer.
    static func condition(parameter number: Int) -> String { "(?\(number) IS NULL OR accounts.uid = ?\(number))" }

    /// Returns `true` if the viewer may see what belongs to a user. Equivalent to `condition`, for figures in memory.
    package func sees(_ user: Int64) -> Bool { uid == nil || user == uid }

    /// Returns the part of a destination's response that this viewer may see.
    ///
    /// The text names the destination's address and counts lines of all users. Only a viewer of everything sees it;
    /// others see the status code.
    func shown(answer: String?) -> String? {
        self == .everything ? answer : answer.flatMap(ResponseSummary.statusCode(of:))
    }
}

/// The parameter of `condition`.
extension Viewer: DatabaseValue {
    package func bind(to statement: borrowing Statement, at position: Int) { statement.bind(uid, at: position) }
}
