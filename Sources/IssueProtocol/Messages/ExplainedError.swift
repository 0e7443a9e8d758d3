import IssueWire

/// An error of the socket interface, and its explanation for users.
///
/// Documentation/Messages.md is generated from these values, and `issuectl explain` prints them.
package struct ExplainedError: Equatable, Sendable {
    /// The full name, such as `org.issued.Collector.NoSpace`.
    package let name: String
    /// The cause and the consequences, in Markdown.
    package let meaning: String
    /// The advice to the user, in Markdown.
    package let action: String

    /// All errors that a client may get, in the order of the page.
    package static let all = kinds.flatMap { kind in
        kind.errors.map { ExplainedError(name: $0.name, meaning: kind.meaning, action: kind.action) }
    }

    /// The errors with the same explanation. Their values are not shown.
    private static let kinds: [(errors: [CollectorError], meaning: String, action: String)] = [
        (
            [.busy(retryAfter: .zero)],
            "The daemon can't do this now: the database can't be opened or written, a query took too long, or "
                + "there are too many connections.",
            "Try again. If it persists, look at `issuectl status` and the log."
        ),
        (
            [.noSpace], "The disk is full, and nothing of the call was stored.",
            "Free space; see [The disk fills up](Operations.md#the-disk-fills-up)."
        ),
        (
            [.tooLarge(limit: 0)], "A call is above a size limit, which `limit` names.",
            "Send less at once. For reports, the limit is `MaxMessageSize=`."
        ),
        (
            [.invalidRecord(index: nil, field: nil, reason: "")],
            "A call contains no readable record; `reason` gives the cause.", "Fix the application that sent it."
        ),
        (
            [.invalidFilter(field: "", reason: "")],
            "A part of a filter is invalid, or exceeds a limit of queries; `field` names it.",
            "Correct the filter, or narrow it down."
        ),
        (
            [.notFound(id: "")], "No record, group or destination has this id, or it belongs to another user.",
            "Check the id with `issuectl list`; ask as root or as a member of `Readers=` to see the records of all users."
        ),
        (
            [.denied],
            "You may not do this. Changes need root, the daemon's user or a group in `Operators=`; queries about all "
                + "users also allow `Readers=`.",
            "Run the command as one of them."
        ),
        (
            [.invalidParameter("")], "A parameter of a call is missing or invalid; `parameter` names it.",
            "If `issuectl` reports this, check that it and the daemon have the same version."
        ),
        (
            [.expectedMore], "A call with `follow` was made without `more`.", "Fix the application that sent it."
        ),
        (
            [.methodNotFound(""), .methodNotImplemented(""), .interfaceNotFound("")],
            "This version of the daemon does not support the call.",
            "Check that the daemon is not older than the application or `issuectl`."
        ),
    ]
}
