package import IssueProtocol

/// A message of a notifier, with all values that its formats show.
package struct NotificationMessage: Equatable, Sendable {
    /// An issue that the message lists.
    package struct Item: Equatable, Sendable {
        package var kinds: NotificationKinds
        /// The id of the record that caused the event, and the id of its group.
        package var record: String
        package var group: String
        package var title: String
        package var app: String
        package var version: String?
        package var environment: String?
        package var severity: IssueLevel
        package var unit: String?
        package var uid: UInt32
        /// The time at which the record was received.
        package var at: IssueTimestamp
        /// For an escalated issue, the configured number of occurrences and period, such as `100 in 1h`; otherwise nil.
        package var escalation: String?

        package init(
            kinds: NotificationKinds, record: String, group: String, title: String, app: String, version: String?,
            environment: String?, severity: IssueLevel, unit: String?, uid: UInt32, at: IssueTimestamp,
            escalation: String? = nil
        ) {
            self.kinds = kinds
            self.record = record
            self.group = group
            self.title = NotificationText.line(title, maxCharacters: NotificationText.maxTitle)
            self.app = NotificationText.line(app, maxCharacters: NotificationText.maxName)
            self.version = version.map { NotificationText.line($0, maxCharacters: NotificationText.maxName) }
            self.environment = environment.map { NotificationText.line($0, maxCharacters: NotificationText.maxName) }
            self.severity = severity
            self.unit = unit.map { NotificationText.line($0, maxCharacters: NotificationText.maxName) }
            self.uid = uid
            self.at = at
            self.escalation = escalation
        }
    }

    /// An event without a record, such as a store fault or a reached limit.
    package struct OwnEvent: Equatable, Sendable {
        package var kinds: NotificationKinds
        package var text: String
        package var at: IssueTimestamp

        package init(kinds: NotificationKinds, text: String, at: IssueTimestamp) {
            self.kinds = kinds
            self.text = NotificationText.line(text, maxCharacters: 300)
            self.at = at
        }

        /// The destination that the event is about; nil if it is about none.
        package var destination: String? { kinds.destination(in: text) }
    }

    /// The id of the message. All attempts have the same id, so that a receiver can detect a repetition.
    package var id: String
    package var notifier: String
    package var host: String
    package var at: IssueTimestamp
    /// The number of the attempt, from 1.
    package var attempt: Int
    /// Whether an earlier attempt may have reached the receiver.
    package var mayBeRepetition: Bool
    /// Whether the message is a test that an operator has requested.
    package var isTest = false
    package var items: [Item] = []
    package var ownEvents: [OwnEvent] = []
    package var counts: [NotificationDigest.Count] = []
    package var others: [NotificationDigest.Others] = []

    package init(
        id: String, notifier: String, host: String, at: IssueTimestamp, attempt: Int, mayBeRepetition: Bool
    ) {
        self.id = id
        self.notifier = notifier
        self.host = host
        self.at = at
        self.attempt = attempt
        self.mayBeRepetition = mayBeRepetition
    }

    /// The number of events.
    package var total: Int64 { counts.reduce(0) { $0.clampedSum($1.count) } }

    /// The kinds of the events, with only the most urgent kind of each event.
    package var kinds: NotificationKinds {
        counts.reduce(into: []) { $0.formUnion($1.kind) }
    }
}

extension NotificationMessage {
    /// A line such as `New issue in shop 2.4.0 on web1: Order failed` or `1 regressed, 3 new issues on web1`.
    package var title: String {
        let line: String
        if isTest {
            line = "Test of notifier \(notifier) on \(host)"
        } else if total == 1, let item = items.first {
            line = "\(item.heading) on \(host): \(item.title)"
        } else if total == 1, let event = ownEvents.first {
            line = "\(event.heading) on \(host): \(event.text)"
        } else {
            line = "\(eventCounts) on \(host)"
        }
        return mayBeRepetition ? "(possible repetition) \(line)" : line
    }

    /// The title and the lines below it.
    package var text: String { ([title] + lines).joined(separator: "\n") }

    /// The lines below the title.
    package var lines: [String] {
        if isTest { return ["If you can read this, notifications arrive."] }
        if total == 1, items.count == 1 { return ["issuectl show \(items[0].group)"] }
        var lines: [String] = []
        if total != 1 {
            lines += ownEvents.map { "\($0.heading): \($0.text)" }
            lines += items.map { "\($0.heading): \($0.title) (\($0.group))" }
        }
        for other in others {
            let source = other.isOfDaemon ? "the daemon" : other.uid.map { "user \($0)" } ?? "other users"
            lines.append("and \(other.count) more from \(source)")
        }
        return lines
    }

    /// The numbers of the events, such as `1 store fault and 1 regressed, 3 new issues`. Of the events about the state
    /// of a destination, only the newest counts.
    private var eventCounts: String {
        var issues: [String] = []
        // "issue" follows the last count: `2 regressed, 1 new issue`.
        var lastIssueCount: Int64 = 0
        var parts: [String] = []
        for one in counts {
            let count = one.count
            switch one.kind {
            case .storeFault: parts.append(count == 1 ? "1 store fault" : "\(count) store faults")
            case .destinationPaused: parts += destinations("paused", one.kind)
            case .destinationDelayed: parts += destinations("delayed", one.kind)
            case .destinationRecovered: parts += destinations("recovered", one.kind)
            case .deadLetters:
                parts.append(count == 1 ? "1 report of dead letters" : "\(count) reports of dead letters")
            case .limitReached: parts.append(count == 1 ? "1 limit reached" : "\(count) limits reached")
            case _:
                issues.append("\(count) \(one.kind.names.first ?? "")")
                lastIssueCount = count
            }
        }
        if !issues.isEmpty {
            parts.append(issues.joined(separator: ", ") + (lastIssueCount == 1 ? " issue" : " issues"))
        }
        return parts.isEmpty ? "No issues" : Self.join(parts)
    }

    /// Returns a text such as `2 destinations paused` as the only element; an empty array if no destination's newest
    /// event is of this kind. The newest event of each destination is always listed, and no older one.
    private func destinations(_ state: String, _ kind: NotificationKinds) -> [String] {
        let count = ownEvents.count { $0.kinds == kind }
        return count > 0 ? ["\(Quantity.text(count, "destination")) \(state)"] : []
    }

    private static func join(_ parts: [String]) -> String {
        guard parts.count > 1, let last = parts.last else { return parts.first ?? "" }
        return parts.dropLast().joined(separator: ", ") + " and " + last
    }
}

extension NotificationMessage.Item {
    /// The heading of the issue, such as `New critical issue in shop 2.4.0`.
    package var heading: String {
        let application = version.map { "\(app) \($0)" } ?? app
        let critical = severity == .critical ? "critical " : ""
        if kinds.contains(.regressed) {
            return "\(critical.isEmpty ? "Issue" : "Critical issue") regressed in \(application)"
        }
        if kinds.contains(.new) { return "New \(critical)issue in \(application)" }
        if kinds.contains(.escalated) {
            let often = escalation.map { " (\($0))" } ?? ""
            return "\(critical.isEmpty ? "Issue" : "Critical issue") escalated in \(application)\(often)"
        }
        return "Issue became critical in \(application)"
    }
}

extension NotificationMessage.OwnEvent {
    package var heading: String {
        switch kinds {
        case .storeFault: "Store fault"
        case .destinationPaused: "Destination paused"
        case .destinationDelayed: "Destination delayed"
        case .destinationRecovered: "Destination recovered"
        case .deadLetters: "Dead letters"
        case .limitReached: "Limit"
        case _: "Event"
        }
    }
}

/// The form in which notifications show texts of applications.
package enum NotificationText {
    /// The maximum length of a title and of a name, in characters.
    package static let maxTitle = 200
    package static let maxName = 80

    /// Returns a text as one line of limited length, with a space in place of each control, formatting, line-separating
    /// or private-use character.
    ///
    /// An application may have chosen the text, and could forge lines with a line break or a bidirectional override.
    package static func line(_ text: String, maxCharacters: Int) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(maxCharacters * 4) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate: scalars.append(" ")
            case _: scalars.append(scalar)
            }
        }
        let line = String(scalars)
        return line.count > maxCharacters ? line.prefix(maxCharacters - 1) + "…" : line
    }
}
