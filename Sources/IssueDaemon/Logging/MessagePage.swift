import IssueProtocol

/// Documentation/Messages.md: all messages of the log and all errors of the socket interface, with their meaning and
/// what to do.
///
/// `issued --list-messages` prints the page, and a test compares it with the file.
package enum MessagePage {
    /// The beginnings of identifiers, in the order of the page, and the titles of their sections.
    private static let areas = [
        ("config", "Configuration"), ("daemon", "Start and stop"), ("store", "Database"),
        ("limits", "Limits for users"), ("issue", "Issues"), ("forwarding", "Forwarding"),
        ("destination", "Destinations"), ("notifier", "Notifiers"), ("socket", "Connections"), ("query", "Queries"),
        ("audit", "Audit trail"), ("job", "Backup, purge and requeue"), ("repair", "Repair"),
    ]

    package static var text: String {
        let sections = areas.map { area, title in
            let events = LogEvent.all.filter { $0.id.hasPrefix("\(area).") }
            return "### \(title)\n\n" + table(["id", "message"], events.map(row))
        }
        return """
            # Messages

            <!-- Generated: issued --list-messages >Documentation/Messages.md -->

            ## Log lines

            The daemon logs to standard error, which is the journal under systemd: `journalctl -u issued`. The message of a
            line is constant. What varies follows as `name=value`, and the identifier of the message comes last:

                issued: warning: No space left; refusing reports until there is id=store.no-space

            Identifiers are stable, while messages may be reworded. Use the identifiers in scripts and in monitoring.

            \(sections.joined(separator: "\n"))
            ## Errors

            The errors in replies of the [socket interface](WireProtocol.md#errors), which `issuectl` and applications may
            get. If `issuectl` can't reach the daemon, see [The daemon can't be
            reached](Operations.md#the-daemon-cant-be-reached).

            \(table(["error"], errors.flatMap { kinds in kinds.errors.map { row($0, kinds.meaning, kinds.action) } }))
            """
    }

    private static func table(_ columns: [String], _ rows: [String]) -> String {
        let columns = columns + ["what happened", "what to do"]
        let head = ["| \(columns.joined(separator: " | ")) |", "|" + columns.map { _ in "---|" }.joined()]
        return (head + rows).map { $0 + "\n" }.joined()
    }

    private static func row(_ event: LogEvent) -> String {
        "| `\(event.id)` | \(event.message) | \(event.meaning) | \(event.action ?? "Nothing.") |"
    }

    private static func row(_ error: CollectorError, _ meaning: String, _ action: String) -> String {
        "| `\(error.name)` | \(meaning) | \(action) |"
    }

    /// The errors that a client may get. Their values are not shown.
    private static let errors: [(errors: [CollectorError], meaning: String, action: String)] = [
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
            [.denied], "Only root, the daemon's user and the groups in `Operators=` may do this.",
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
