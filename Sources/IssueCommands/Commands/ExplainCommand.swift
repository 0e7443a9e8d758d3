import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl explain`: explains why a record is in its group, what a log message or an error means, or how a reported
/// message would be handled.
struct ExplainCommand: Command {
    static let user = OptionSpecification(
        "user", value: "USER",
        "The user who runs the application, by id or name (default: you; if you have no application of that name, "
            + "another user who has one)")
    static let unit = OptionSpecification("unit", value: "NAME", "The systemd unit of the sender, for notifiers")
    static let list = OptionSpecification("list", "List the messages of the log and the errors that can be explained")

    static let specification = CommandSpecification(
        name: "explain", summary: "Explain an issue, an error, or how a message is handled",
        operands: .any("ID|ERROR|MESSAGE"), acceptsEmptyOperands: true, operandSources: [.explainable],
        sections: [("Message", ReportOptions.all + [user, unit]), ("Options", [list])],
        notes: [
            "ID is the id of a record or of an issue. Shows why the record, or the newest record of the issue, "
                + "belongs to its issue. The id of an issue that was merged into another one is still valid.",
            "ERROR is the identifier of a line in the daemon's log (id=store.no-space), the name of an error such as "
                + "NoSpace, or a reason that issuectl status shows for a destination, such as no_answer. Shows what "
                + "happened and what to do. No daemon is needed.",
            "MESSAGE is any other text. Shows which issue the message would join, what redaction would remove, "
                + "which limits would apply now and, if you may see all records, which notifiers would report it. "
                + "Nothing is stored. With one of the options under Message, the argument is always a message. The "
                + "defaults are those of issuectl report.",
        ],
        examples: [
            "issuectl explain she6zsjknpxv-24c4", "issuectl explain g92c9da597585468b",
            "issuectl explain store.no-space",
            "issuectl explain --app shop -p critical \"Order 17 failed: password=swordfish\"",
        ])

    /// The subject of the explanation.
    private enum Subject {
        /// The id of a record or a group.
        case identifier(String)
        case entry(ExplainedEntry)
        case list
        case message(String)
    }

    private let subject: Subject
    private let arguments: ParsedArguments
    private let user: UInt32?
    /// The error whose name the user may have misspelled; nil if the message is not similar to one.
    private var similarError: String?

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        self.arguments = arguments
        user = try arguments.value(of: Self.user, expected: FilterOptions.userForms, FilterOptions.userID)
        _ = try ReportOptions.template(arguments, variable: { _ in nil })
        if arguments.has(Self.list) {
            if let word = arguments.operands.first { throw UsageError("unexpected argument '\(word)'") }
            subject = .list
            return
        }
        guard var word = arguments.operands.first else { throw UsageError("missing argument ID, ERROR or MESSAGE") }
        guard arguments.operands.contains(where: { !$0.allSatisfy(\.isWhitespace) }) else {
            throw UsageError("the message is empty")
        }
        let hasRecordOptions = (ReportOptions.all + [Self.user, Self.unit]).contains { option in
            arguments.has(option) || arguments[option] != nil
        }
        // Accepts `id=store.no-space`, copied from a line of the log.
        if word.hasPrefix("id="), ExplainedEntry.mayName(String(word.dropFirst(3))) { word = String(word.dropFirst(3)) }
        if arguments.operands.count > 1 || hasRecordOptions {
            subject = .message(arguments.operands.joined(separator: " "))
        } else if let entry = ExplainedEntry.all.first(where: { $0.isNamed(word) }) {
            subject = .entry(entry)
        } else if ExplainedEntry.mayName(word) {
            let nearest = NearestName.suggestion(for: word, among: ExplainedEntry.all.map(\.name))
            throw UsageError("no message or error is named '\(word)'\(nearest)")
        } else if Self.isID(word) {
            subject = .identifier(word)
        } else {
            subject = .message(word)
            similarError = ExplainedEntry.error(similarTo: word)
        }
    }

    /// Returns `true` for a text in the form of a record's id, or of a group's id, which may be abbreviated.
    private static func isID(_ word: String) -> Bool {
        if AbbreviatedID.isBeginning(word, digits: 1..<17) { return true }
        let parts = word.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].utf8.count == 12 && !parts[1].isEmpty
            && word.utf8.allSatisfy { $0 == 0x2D || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        switch subject {
        case .identifier(let id): try explain(id: id, context)
        case .entry(let entry): try explain(entry, context)
        case .list: try list(context)
        case .message(let text):
            if let similarError {
                context.warn("'\(text)' is treated as a message (did you mean the error \(similarError)?)")
            }
            try explain(message: text, context)
        }
    }

    // MARK: Messages and errors of the daemon

    private func explain(_ entry: ExplainedEntry, _ context: CommandContext) throws(CommandFailure) {
        guard context.format == .human else { return try context.print(json: entry.json.json) }
        let width = min(context.width ?? HelpText.width, 100)
        var lines = [context.painter(entry.title, .heading), ""]
        lines += Fitting.wrap(entry.meaning, to: width)
        if let action = entry.action { lines += [""] + Fitting.wrap("What to do: \(action)", to: width) }
        try context.print(lines)
    }

    private func list(_ context: CommandContext) throws(CommandFailure) {
        let all = ExplainedEntry.all
        try context.print("entries", all.map(\.json.json)) {
            var table = context.table([Column("NAME"), Column("MEANING", minimum: 20)])
            return table.lines(all.map { [Cell($0.name), Cell($0.message ?? $0.meaning)] })
        }
    }

    // MARK: Stored records

    private func explain(id: String, _ context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector()
        let answer = try AbbreviatedID.call(id, collector) { (id) throws(CommandFailure) in
            try collector.call(CollectorCalls.explain, IDParameters(id: id))
        }
        try context.print(answer) { explanation in
            var page = TextPage(painter: context.painter)
            let group = explanation.group
            page.heading("\(group.id)  \(group.title)")
            let origin: [(name: String, value: String?)] = [
                ("Fingerprint", explanation.fingerprint),
                (
                    "Origin",
                    Self.origin(explanation.fingerprint, explanation.isChosen, explanation.rule, explanation.template)
                ),
                ("Template", explanation.template),
            ]
            let isTypical = Self.isTypical(explanation)
            var fields: [(name: String, value: String?)] = [("Application", group.app)]
            fields += isTypical ? origin : [("Fingerprint", group.fingerprint)]
            fields += [
                ("Domain", group.domain),
                ("Code", group.code.map(String.init)),
                ("File", group.fileID),
                ("Function", group.function),
                ("Other ids", Self.otherIDs(explanation)),
            ]
            page.fields(fields)
            if !isTypical {
                page.heading(id.contains("-") ? "This record" : "Newest record")
                page.fields(origin)
            }
            Self.add(explanation.corrections, to: &page, context)
            return page.lines
        }
    }

    private static func add(
        _ corrections: [GroupCorrection], to page: inout TextPage, _ context: CommandContext
    ) {
        guard !corrections.isEmpty else { return }
        page.heading("Corrections")
        page.add(corrections.map { CorrectionText.line($0, in: context) })
    }

    private static func origin(_ fingerprint: String, _ isChosen: Bool, _ rule: Int?, _ template: String?) -> String {
        if OverflowText.isOverflow(fingerprint, isChosen) { return OverflowText.issue }
        if isChosen { return "chosen by the sender" }
        let rule = rule.map { "rule \($0)" } ?? "unknown rule"
        let place = hasOnlyValues(template ?? "") ? "function, line, column" : "function"
        return "hash of application, domain, code, module, file, \(place) and template (\(rule))"
    }

    /// Returns `true` if a template has values of the sender, but no letters, digits or non-ASCII characters outside
    /// placeholders. The fingerprint then includes line and column (Grouping.md).
    private static func hasOnlyValues(_ template: String) -> Bool {
        template.contains("<value>")
            && template.replacing(/<[a-z]+>/, with: "").allSatisfy { $0.isASCII && !$0.isLetter && !$0.isNumber }
    }

    /// Returns `true` if the record's fingerprint and template are typical of its group: the fingerprint is the group's
    /// own, and the sender did not choose it. After a correction, a group can have records with other fingerprints.
    /// Records with the same chosen fingerprint can have different templates.
    private static func isTypical(_ explanation: GroupExplanation) -> Bool {
        explanation.fingerprint == explanation.group.fingerprint && !explanation.isChosen
    }

    private static func otherIDs(_ explanation: GroupExplanation) -> String? {
        let others = explanation.ids.filter { $0 != explanation.group.id }
        return others.isEmpty ? nil : others.joined(separator: ", ")
    }

    // MARK: Messages that are not stored

    private func explain(message: String, _ context: CommandContext) throws(CommandFailure) {
        let template = try ReportOptions.template(arguments, in: context)
        let record = Self.record(message, template)
        let collector = try context.collector(denied: CommandFailure.deniedToSee("the applications of other users"))
        let answer = try collector.call(
            CollectorCalls.explainRecord,
            ExplainRecordParameters(
                record: record, user: user, unit: arguments[Self.unit].map(FilterOptions.unitName))
        )
        try context.print(answer) { forecast in
            var page = TextPage(painter: context.painter)
            page.heading("\(forecast.groupID)  \(ForecastText.title(forecast))")
            page.fields([
                ("Issue", ForecastText.issue(forecast)),
                ("Application", ForecastText.application(forecast, of: record, in: context)),
                ("Fingerprint", forecast.fingerprint),
                ("Origin", Self.origin(forecast.fingerprint, forecast.isChosen, forecast.rule, forecast.template)),
                ("Template", forecast.template),
                ("Stored as", forecast.redactions.isEmpty ? nil : forecast.message),
                ("Metadata", forecast.redactions.isEmpty ? nil : forecast.metadata.map { Self.text($0) }),
                ("Removed", ForecastText.redactions(forecast.redactions)),
                ("New issues", forecast.limits.first.map { ForecastText.level($0) }),
            ])
            Self.add(forecast.corrections, to: &page, context)
            for destination in forecast.destinations {
                page.heading("Destination \(destination.destination)")
                page.fields(
                    [("Outcome", ForecastText.outcome(destination))]
                        + destination.limits.map { (ForecastText.name($0), ForecastText.level($0)) })
            }
            if !forecast.notifiers.isEmpty {
                page.heading("Notifiers")
                page.fields(forecast.notifiers.map { ($0.notifier, ForecastText.outcome($0)) })
            }
            return page.lines
        }
    }

    /// Returns the record to explain. As on the standard input of `issuectl report`, a JSON object with a `message` is
    /// taken as a record, and any other text as a message.
    private static func record(_ message: String, _ template: RecordTemplate) -> JSONValue {
        if message.hasPrefix("{"), let value = try? JSONValue(json: message), let members = value.asObject,
            value["message"]?.asString != nil
        {
            return template.record(completing: members)
        }
        return template.record(message: message)
    }

    private static func text(_ value: JSONValue) -> String { String(decoding: value.json, as: UTF8.self) }
}

/// A message of the log, an error or a reason of a destination that `issuectl explain` explains.
struct ExplainedEntry: Sendable {
    /// The identifier of the message, the full name of the error, or the reason.
    let name: String
    /// The text of the message; nil for an error or a reason.
    let message: String?
    let meaning: String
    let action: String?

    static let all =
        LogEvent.all.map { event in
            ExplainedEntry(
                name: event.id, message: event.message, meaning: MessageCatalog.plain(event.meaning),
                action: event.action.map { MessageCatalog.plain($0) })
        }
        + ExplainedError.all.map { error in
            ExplainedEntry(
                name: error.name, message: nil, meaning: MessageCatalog.plain(error.meaning),
                action: MessageCatalog.plain(error.action))
        }
        + ExplainedReason.all.map { reason in
            ExplainedEntry(
                name: reason.name, message: nil, meaning: MessageCatalog.plain(reason.meaning),
                action: MessageCatalog.plain(reason.action))
        }

    var title: String { message.map { "\(name): \($0)" } ?? name }

    /// Returns `true` if the word is the name, or the last part of the name of an error. Case does not count, except in
    /// a reason, since `Timeout` may be a message.
    func isNamed(_ word: String) -> Bool {
        guard name.contains(".") else { return name == word }
        let wanted = word.lowercased()
        return name.lowercased() == wanted
            || message == nil && name.split(separator: ".").last?.lowercased() == wanted
    }

    /// Returns `true` if the word has the form of a full name, even if nothing has this name.
    static func mayName(_ word: String) -> Bool {
        if word.hasPrefix("org.issued.Collector.") || word.hasPrefix("org.varlink.service.") { return true }
        let parts = word.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 && all.contains { $0.message != nil && $0.name.hasPrefix("\(parts[0]).") }
            && parts[1].utf8.allSatisfy { $0 == 0x2D || (0x61...0x7A).contains($0) }
    }

    /// Returns the name of an error that is similar to a word such as `NoSpce`; nil if there is none, or if the word is
    /// not written like the name of an error.
    static func error(similarTo word: String) -> String? {
        guard word.first?.isUppercase == true, word.dropFirst().contains(where: \.isUppercase),
            word.utf8.allSatisfy({ (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) })
        else { return nil }
        let errors = all.filter { $0.message == nil && $0.name.contains(".") }
        return NearestName.find(word, among: errors.compactMap { $0.name.split(separator: ".").last.map(String.init) })
    }

    var json: JSONValue {
        let members: [(String, String?)] = [
            ("name", name), ("message", message), ("meaning", meaning), ("action", action),
        ]
        return .object(members.compactMap { key, value in value.map { .init(key, .string($0)) } })
    }
}

/// The texts for records in overflow groups and applications. See RateLimits.md.
enum OverflowText {
    /// The fingerprint of an application's overflow issue, and the name of a user's overflow application.
    static let name = "overflow"
    static let issue = "the overflow issue, because the application has too many new issues or series"

    /// Returns `true` if the fingerprint is that of an overflow issue.
    static func isOverflow(_ fingerprint: String, _ isChosen: Bool) -> Bool { fingerprint == name && !isChosen }
}

/// Formats the parts of a forecast.
enum ForecastText {
    /// Returns the title of the issue that the record would join.
    static func title(_ forecast: RecordForecast) -> String {
        forecast.group?.title ?? (isOverflow(forecast) ? "(overflow issue)" : forecast.template)
    }

    /// Returns `true` if the record would join an overflow group.
    private static func isOverflow(_ forecast: RecordForecast) -> Bool {
        OverflowText.isOverflow(forecast.fingerprint, forecast.isChosen)
    }

    static func issue(_ forecast: RecordForecast) -> String {
        isOverflow(forecast) ? "\(OverflowText.issue); \(state(forecast))" : state(forecast)
    }

    private static func state(_ forecast: RecordForecast) -> String {
        guard !forecast.isNew else { return "new" + (forecast.events.contains("critical") ? ", critical" : "") }
        guard let group = forecast.group else { return "known, without records" }
        let events = forecast.events.isEmpty ? "" : "; it would be \(forecast.events.joined(separator: " and "))"
        return "known, \(group.state.name), \(Quantity.text(group.records, "record"))\(events)"
    }

    static func application(
        _ forecast: RecordForecast, of record: JSONValue, in context: CommandContext
    ) -> String {
        if forecast.app == OverflowText.name, record["app"]?["name"]?.asString != OverflowText.name {
            return "\(forecast.app) of user \(context.user(forecast.user)), who has too many new applications"
        }
        let others = forecast.otherUsers.map { context.user($0) }.joined(separator: ", ")
        let hint = others.isEmpty ? "" : "; also run by \(others) (see --user)"
        return "\(forecast.app.isEmpty ? "(none)" : forecast.app) of user \(context.user(forecast.user))\(hint)"
    }

    static func redactions(_ redactions: [ForecastRedaction]) -> String {
        guard !redactions.isEmpty else { return "nothing" }
        return redactions.map { redaction in
            let count = redaction.count == 1 ? "" : " (\(Quantity.text(redaction.count)) times)"
            return "\(redaction.rule)\(count)\(redaction.action == "mask" ? "" : ", \(redaction.action)")"
        }.joined(separator: "; ")
    }

    /// Returns the name of a limit of a destination.
    static func name(_ limit: ForecastLimit) -> String {
        let label = SuppressionReason(rawValue: limit.limit)?.label ?? limit.limit
        return label.prefix(1).uppercased() + label.dropFirst()
    }

    /// Returns a text such as `4 of 5 left, 1 more every 5min` or, with the part of the limit that the record can't use,
    /// `150 of 300 left (150 reserved for other records), 300 more every min`.
    static func level(_ limit: ForecastLimit) -> String {
        let isBytes = limit.limit == SuppressionReason.dailyBytes.rawValue
        func text(_ number: Int) -> String { isBytes ? Quantity.bytes(number) : Quantity.text(number) }
        let every = PeriodText.ofRate(.milliseconds(max(1, limit.period)))
        let refill = limit.burst == limit.refill ? "per \(every)" : "\(text(limit.refill)) more every \(every)"
        let reserved = limit.reserved.map { " (\(text($0)) reserved for other records)" } ?? ""
        return "\(text(limit.available)) of \(text(limit.burst)) left\(reserved), \(refill)"
    }

    static func outcome(_ destination: ForecastDestination) -> String {
        switch (destination.outcome, destination.reason) {
        case (let outcome, nil): outcome
        case ("withheld", "muted"): "withheld: the issue is muted"
        case ("withheld", "not_reportable"): "withheld: the sender asked not to forward it"
        case (let outcome, let reason?):
            // All users together have something left, but not this user.
            "\(outcome): \(SuppressionReason(rawValue: reason)?.label ?? reason)"
                + (destination.limits.contains { $0.limit == reason && $0.available > 0 }
                    ? " (the user has used up their share)" : "")
        }
    }

    static func outcome(_ notifier: ForecastNotifier) -> String {
        if notifier.isNotified { return "notified" }
        switch notifier.reason {
        case "no_event":
            return "not notified: the issue would be neither new nor regressed, and the record is not critical"
        case "muted": return "not notified: the issue is muted"
        case "silenced": return "silenced by \(notifier.silence ?? "a silence")"
        case let reason?: return "not notified because of \(reason)="
        case nil: return "not notified"
        }
    }
}
