import IssueCore

/// Whose records somebody may see; it stands inside every query.
package enum Viewer: Equatable, Sendable {
    /// Root, the daemon's own user and the configured readers.
    case everything
    /// What a user reported himself.
    case user(UInt32)
    /// Nothing: the user's number is one that the system gives to another tomorrow.
    case nothing

    /// The only user whose rows are seen, or nothing when all are; -1 is nobody's.
    var uid: Int64? {
        switch self {
        case .everything: nil
        case .user(let uid): Int64(uid)
        case .nothing: -1
        }
    }

    /// Returns the part of a destination's answer that this viewer may see.
    ///
    /// A request carries records of several users, and an answer may quote any
    /// of them and name the destination's address. Only a viewer of everything
    /// is shown the text; others see the status code.
    func shown(answer: String?) -> String? {
        self == .everything ? answer : answer.flatMap(AnswerSummary.statusCode(of:))
    }
}
