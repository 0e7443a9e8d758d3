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

            \(table(["error"], ExplainedError.all.map(row)))
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

    private static func row(_ error: ExplainedError) -> String {
        "| `\(error.name)` | \(error.meaning) | \(error.action) |"
    }
}
