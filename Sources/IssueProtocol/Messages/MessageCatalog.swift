import IssueWire

/// The journal catalog of all messages, from which `journalctl -x` takes explanations.
///
/// `issued --list-catalog` prints it, and a test compares it with `config/journal/issued.catalog`. The format is
/// described in systemd's "Journal Message Catalogs".
package enum MessageCatalog {
    package static var text: String {
        var ids: [String] = []
        var events: [String: [LogEvent]] = [:]
        for event in LogEvent.all {
            if events[event.messageID] == nil { ids.append(event.messageID) }
            events[event.messageID, default: []].append(event)
        }
        let head =
            "# The messages of issued for journalctl -x.\n# Generated: issued --list-catalog >config/journal/issued.catalog\n"
        return head + ids.map { entry($0, events[$0] ?? []) }.joined()
    }

    /// Returns the entry of the events that share a message id.
    private static func entry(_ id: String, _ events: [LogEvent]) -> String {
        let subject = events.count == 1 ? events[0].message : "A destination has changed its state"
        let paragraphs = events.flatMap { event in
            let lead = events.count == 1 ? "" : "\(event.id) (\(event.message)): "
            return [lead + plain(event.meaning), event.action.map { "What to do: \(plain($0))" }].compactMap(\.self)
        }
        let header = "-- \(id)\nSubject: \(subject)\nDefined-By: issued\nDocumentation: man:issued(8)\n"
        return "\n\(header)\n" + paragraphs.map { wrapped($0) }.joined(separator: "\n\n") + "\n"
    }

    /// Returns the text without backquotes and with plain links. A plain link is the text of the link, followed by the
    /// target (without its fragment) in parentheses unless the text ends with the target.
    package static func plain(_ markdown: String) -> String {
        var text = ""
        var rest = markdown[...]
        while let character = rest.popFirst() {
            switch character {
            case "`": continue
            case "[":
                // `[text](target)`; other brackets, such as those of `[Socket]`, stay.
                guard let end = rest.firstRange(of: "]("), let close = rest[end.upperBound...].firstIndex(of: ")"),
                    !rest[..<end.lowerBound].contains("]")
                else {
                    text.append(character)
                    continue
                }
                text += rest[..<end.lowerBound]
                let target = rest[end.upperBound..<close].prefix { $0 != "#" }
                if !text.hasSuffix(String(target)) { text += " (\(target))" }
                rest = rest[rest.index(after: close)...]
            default: text.append(character)
            }
        }
        return text
    }

    /// Breaks a paragraph at spaces, into lines of at most 80 characters unless a word is longer.
    private static func wrapped(_ text: String) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > 80 {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        return (lines + [line]).joined(separator: "\n")
    }

    /// Returns the `MESSAGE_ID=` of an event that does not define one itself, as 32 hexadecimal digits.
    ///
    /// It consists of two 64-bit FNV-1a hashes of the event's identifier with different prefixes. The identifier never
    /// changes, so the message id does not change either.
    package static func messageID(of id: String) -> String {
        [hash("issued \(id)"), hash("MESSAGE_ID \(id)")].map { String(hexadecimal: $0, width: 16) }.joined()
    }

    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

/// Documentation/Messages.md: all messages of the log, all errors of the socket interface and all reasons of
/// destinations, with their meaning and what to do.
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

            The daemon logs to standard error, which is the journal under systemd: `journalctl -u issued`. In a file
            or on a terminal, a line begins with the time, unless `Target=journal` is set. The message of a line is constant.
            What varies follows as `name=value`, and the identifier of the message comes last:

                2026-11-23T09:15:02.417Z issued: warning: No space left; refusing reports until there is id=store.no-space

            Identifiers are stable, while messages may be reworded. Use the identifiers in scripts and in monitoring.

            \(sections.joined(separator: "\n"))
            ## Errors

            The errors in replies of the [socket interface](WireProtocol.md#errors), which `issuectl` and applications may
            get. If `issuectl` can't reach the daemon, see [The daemon can't be
            reached](Operations.md#the-daemon-cant-be-reached).

            \(table(["error"], ExplainedError.all.map(row)))
            ## Reasons of destinations

            `issuectl status` shows the state of a destination and the reason for it, such as `waiting: no_answer`.

            \(table(["reason"], ExplainedReason.all.map { row($0.name, $0.meaning, $0.action) }))
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

    private static func row(_ error: ExplainedError) -> String { row(error.name, error.meaning, error.action) }

    private static func row(_ name: String, _ meaning: String, _ action: String) -> String {
        "| `\(name)` | \(meaning) | \(action) |"
    }
}

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

    /// The errors, grouped by explanation. Only the names of the errors are used, so their associated values are
    /// placeholders.
    private static let kinds: [(errors: [CollectorError], meaning: String, action: String)] = [
        (
            [.busy(retryAfter: .zero)],
            "The daemon can't do this now: the database can't be opened or written, a query took too long (`reason` is "
                + "`too_slow`), or there are too many connections.",
            "Try again; use a narrower filter for a query that took too long. If it persists, look at `issuectl status` "
                + "and the log."
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
            [.notFound(id: "")],
            "No record, issue, destination or other object has this id or name, or it belongs to another user.",
            "Check the id with `issuectl list`; ask as root or as a member of `Readers=` to see the records of all users."
        ),
        (
            [.unreadable(id: "")], "The record is stored in a block of the database that is damaged.",
            "See [A block is damaged](Operations.md#a-block-is-damaged)."
        ),
        (
            [.denied],
            "You may not do this. Users may change only their own issues and deployments. Other changes need root, the "
                + "daemon's user or a group in `Operators=`; queries about all users also allow `Readers=`.",
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
            [.methodNotFound(""), .interfaceNotFound("")],
            "This version of the daemon does not support the call.",
            "Check that the daemon is not older than the application or `issuectl`."
        ),
    ]
}

/// A reason for the state of a destination, and its explanation for users.
///
/// Documentation/Messages.md is generated from these values, and `issuectl explain` prints them.
package struct ExplainedReason: Equatable, Sendable {
    package let name: String
    /// The cause and the consequences, in Markdown.
    package let meaning: String
    /// The advice to the user, in Markdown.
    package let action: String

    /// All reasons that `issuectl status` may show: first those for which a destination waits, then those for which it
    /// is paused.
    package static let all = groups.flatMap { group in
        group.names.map { ExplainedReason(name: $0, meaning: group.meaning, action: group.action) }
    }

    private static let groups: [(names: [String], meaning: String, action: String)] = [
        (
            ["send_rate"], "Records wait for `SendRate=`; the next attempt is shown.",
            "Nothing; see [How fast records are sent](RateLimits.md#how-fast-records-are-sent)."
        ),
        (
            ["refused"], "The destination or the proxy refused the connection. The records are kept and sent later.",
            "Check the address, the port, the network, the firewall and `Proxy=`."
        ),
        (
            ["timeout"], "The connection or the name lookup timed out. The records are kept and sent later.",
            "Check the address, the network, the firewall and `Proxy=`."
        ),
        (
            ["unreachable"],
            "The name of the destination or of the proxy could not be resolved, or the proxy could not connect. The "
                + "records are kept and sent later.",
            "Check the address, DNS, the network and `Proxy=`."
        ),
        (
            ["reset"],
            "The connection broke or timed out before the whole request was sent. The records are kept and sent later.",
            "Check the network, the firewall and `Proxy=`."
        ),
        (
            ["tls"],
            "TLS failed, for example because the certificate is not trusted. The records are kept and sent later.",
            "Check the clock, `Proxy=` and `CAFile=`; to update the system's certificates, run `update-ca-certificates`."
        ),
        (
            ["no_answer"],
            "The request was sent, but no answer came. It is sent again, and its records are counted as possible "
                + "duplicates.",
            "Raise `RequestTimeout=` on a slow connection."
        ),
        (
            ["too_many_requests"],
            "The answer was 429 or an error with the same meaning: the destination asks for a lower rate. The rate is "
                + "halved, down to a tenth, and recovers later.",
            "Lower `SendRate=` if it persists."
        ),
        (
            ["overloaded"],
            "The answer was 503 or an error with the same meaning: the destination has too much to do. The rate is "
                + "halved, down to a tenth, and recovers later.",
            "Lower `SendRate=` if it persists."
        ),
        (
            ["server_error"],
            "The answer was 5xx, but not 503, or was not valid HTTP. The request is sent again.",
            "If it persists, look at the destination's own log."
        ),
        (
            ["request_timeout"],
            "The answer was 408: the request took the destination too long. The request is sent again.",
            "If it persists, check the network."
        ),
        (
            ["too_early"],
            "The answer was 425: the destination does not process the request yet. The request is sent again.", "Wait."
        ),
        (
            ["resuming"], "The daemon has started, and sends a batch again whose answer is unknown.", "Nothing."
        ),
        (
            ["store_failed"], "The daemon can't use its database.", "Run `issuectl doctor`."
        ),
        (
            ["unauthorised"], "The answer was 401: the token or password is wrong.",
            "Replace the token or password. For Logz.io, also check `Region=`, since a wrong region gives the same "
                + "answer."
        ),
        (
            ["forbidden"],
            "The answer was 402, 403 or 451; for Elasticsearch also a 403 for a document, such as for a read-only index.",
            "Check the account, its rights and its allowed addresses, the index of Elasticsearch, and the proxy if the "
                + "answer names one."
        ),
        (
            ["proxy_refuses"], "The answer was 407, which only a proxy sends.",
            "Check `Proxy=`. For a password, leave it unset and set `https_proxy=` or `http_proxy=` in the unit's "
                + "environment ([Destinations.md](Destinations.md#proxies-and-tls))."
        ),
        (
            ["not_found"],
            "The answer was 404 or 410, or a 200 from a server that is not the expected store; or `URL=` is invalid, the "
                + "table of ClickHouse does not exist, or the index of Elasticsearch does not exist or is closed.",
            "Check `Region=`, `URL=` or `Index=`; for ClickHouse, run the schema."
        ),
        (
            ["method_not_allowed"],
            "The answer was 405, 415 or another 4xx that has no reason of its own, so the address does not accept "
                + "records; or the table or the user of ClickHouse is read-only.",
            "Check `URL=`; for OTLP, allow JSON and gzip at the receiver."
        ),
        (
            ["redirected"],
            "The answer was 3xx. Redirects are never followed, since the token would be sent to an address that is not "
                + "in the configuration.",
            "Check `URL=`."
        ),
        (
            ["many_lines_refused"],
            "The rejected lines of a batch outnumber the accepted ones, and there are more than 32 of them, or lines have "
                + "been rejected for 5 minutes. The cause is probably not in the lines, so none is given up. [Priority "
                + "records](Glossary.md) are still sent. If the number of users whose lines were all accepted is at "
                + "least the number of users with rejected lines, the rejected lines are given up instead.",
            "Look at the destination's own log, at the account's limits and field types, and at `Type=`."
        ),
        (
            ["no_credential"],
            "There is no token to send with. The daemon looks for the file of `Credential=/path` every 5 s, but a "
                + "credential of the unit needs a restart.",
            "Read the advice in `issuectl status`, which names file and line."
        ),
        (
            ["misconfigured"], "Its section of the configuration has an error.",
            "Fix the line that the advice in `issuectl status` names, and reload."
        ),
    ]
}
