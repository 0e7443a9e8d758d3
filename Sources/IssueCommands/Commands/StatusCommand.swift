import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl status`: shows the state of the daemon, its store and its destinations.
struct StatusCommand: Command {
    static let specification = CommandSpecification(
        name: "status", summary: "Show the state of the daemon, its store and its destinations",
        notes: [
            "In the line Received, duplicates are records that had been stored before, rejected records were invalid "
                + "or too large, and refused ones were in a report that was answered with an error as a whole, for "
                + "example because the call was invalid or the disk was full.",
            "For each destination, the ledger counts, by fate, the records received since the destination was added and, "
                + "with Backlog=all, those stored before. It balances if the fates add up to the number received.",
            "Held back since the last summary counts the records above a limit that no summary has reported yet, so the "
                + "section disappears after a flood. issuectl limits shows what was held back in the last 24 hours.",
            "Destinations that are no longer configured are shown while records or corrections wait for them, or while "
                + "they have dead letters; --json always lists them.",
            "Exits with 1 if a fault is shown.",
        ],
        examples: ["issuectl status", "issuectl status --json"])

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {}

    func run(in context: CommandContext) throws(CommandFailure) {
        let answer = try context.collector().call(CollectorCalls.status)
        try context.print(answer) { status in
            StatusPage(status: status, now: context.now, width: context.width, painter: context.painter).lines
        }
        // Monitoring can rely on the exit code alone.
        if !answer.value.store.faults.isEmpty { throw CommandFailure(.refused, nil) }
    }
}

extension DaemonStatus {
    /// Whether no destination is in use and the configuration has an error. The daemon then uses its last valid
    /// configuration or, if there is none, the lines without errors. Both may lack a configured destination.
    var lacksDestinations: Bool {
        destinations.allSatisfy(\.isRemoved) && store.faultsByKind.contains { $0.kind == .configuration }
    }

    static let lackOfDestinations = "no destination is in use, and the configuration has an error"
}

/// The output of `status`.
struct StatusPage {
    let status: DaemonStatus
    let now: IssueTimestamp
    let width: Int?
    let painter: Painter

    var lines: [String] {
        var page = TextPage(painter: painter)
        page.heading("issued \(status.version) on \(status.host)")
        let store = status.store
        page.fields([
            ("Up", "\(uptime), since \(PageTime.second(status.startedAt))"),
            ("Received", isStoreOpen ? received : nil),
            ("Redacted", redacted),
            ("Connections", status.connections.map { Quantity.text($0) }),
            ("Store", isStoreOpen ? content(of: store) : "cannot be opened"),
            ("Size", size(store)),
            ("Oldest", store.oldest.map { PageTime.full($0, now: now) }),
        ])
        for fault in store.faults { page.add([painter("Fault: " + TerminalSanitizer.line(fault), .error)]) }
        if isStoreOpen, status.lacksDestinations {
            page.gap()
            page.add(
                [
                    "No destination is in use, and the configuration has an error. Issues are stored but not "
                        + "forwarded."
                ], indent: 0)
        } else if isStoreOpen, destinations.isEmpty {
            page.gap()
            page.add(["No destination configured. Issues are stored but not forwarded."], indent: 0)
        }
        for destination in destinations { show(destination, into: &page) }
        page.add(LedgerTable(destinations: destinations, width: width, painter: painter).lines, indent: 0)
        suppressions(into: &page)
        for notifier in status.notifiers { page.add(notifier, hasCounts: isStoreOpen, now: now) }
        return page.lines
    }

    /// The destinations to show. The status also lists destinations that are no longer configured.
    private var destinations: [DestinationStatus] {
        status.destinations.filter { destination in
            !destination.isRemoved || destination.ledger.pending > 0 || destination.ledger.deadLettered > 0
                || (destination.pendingCorrections ?? 0) > 0
        }
    }

    /// Whether the daemon could open its store. If not, it reports an empty id.
    private var isStoreOpen: Bool { !status.store.id.isEmpty }

    private func content(of store: StoreStatus) -> String {
        "\(Quantity.text(store.records, "record")) in \(Quantity.text(store.groups, "group"))"
    }

    private var uptime: String {
        let age = now.millisecondsSince1970 - status.startedAt.millisecondsSince1970
        let milliseconds = max(0, status.uptime?.wholeMilliseconds ?? age)
        return RelativeTime.span(seconds: UInt64(milliseconds / 1000))
    }

    private var received: String {
        var others: [String] = []
        if status.duplicates > 0 { others.append(Quantity.text(status.duplicates, "duplicate")) }
        if status.rejected > 0 { others.append("\(Quantity.text(status.rejected)) rejected") }
        if status.refused > 0 { others.append("\(Quantity.text(status.refused)) refused") }
        let text = Quantity.text(status.received, "record")
        return others.isEmpty ? text : "\(text); since start: \(others.joined(separator: ", "))"
    }

    private var redacted: String? {
        guard !status.redactions.isEmpty else { return nil }
        let rules = status.redactions.map { "\(Quantity.text($0.count)) \(TerminalSanitizer.line($0.rule))" }
        let count = status.redactions.reduce(0) { $0.clampedSum($1.count) }
        return "\(Quantity.text(count, "value")) since start: \(rules.joined(separator: ", "))"
    }

    private func size(_ store: StoreStatus) -> String? {
        guard let bytes = store.bytes else { return nil }
        return Quantity.bytes(bytes) + (store.freeBytes.map { ", \(Quantity.bytes($0)) free on the disk" } ?? "")
    }

    private func show(_ destination: DestinationStatus, into page: inout TextPage) {
        let isNamedAfterKind = destination.kind.lowercased() == destination.name.lowercased()
        page.heading("Destination \(destination.name)\(isNamedAfterKind ? "" : " (\(destination.kind))")")
        var traffic = Quantity.text(destination.requests, "request")
        if destination.resent > 0 { traffic += ", \(Quantity.text(destination.resent, "line")) sent again" }
        if destination.possibleDuplicates > 0 {
            traffic += ", \(Quantity.text(destination.possibleDuplicates, "line")) perhaps received twice"
        }
        let fields: [(name: String, value: String?)] = [
            ("State", destination.state.rawValue + (destination.reason.map { ": \($0)" } ?? "")),
            ("Failing since", destination.failingSince.map { PageTime.full($0, now: now) }),
            ("Advice", destination.advice),
            ("Corrections", destination.pendingCorrections.map { "\(Quantity.text($0)) pending" }),
            ("Oldest pending", destination.oldestPending.map { PageTime.full($0, now: now) }),
            ("Next attempt", destination.nextAttempt.map { RelativeTime.text($0, now: now) }),
            ("Last answer", destination.lastAnswer),
            ("Last success", destination.lastSuccess.map { PageTime.full($0, now: now) }),
            (
                "Dead letters",
                destination.lastDeadLetter.map { "last \(PageTime.full($0, now: now)), see issuectl dead-letters" }
            ),
            ("Expired", destination.lastExpired.map { "last \(PageTime.full($0, now: now))" }),
            // For users without the right to see all records, these numbers are 0.
            (
                "Traffic",
                status.store.bytes == nil ? nil : traffic + ", \(Quantity.bytes(destination.bytesToday)) today"
            ),
        ]
        page.fields(
            fields,
            styles: [
                "State": destination.state.style, "Advice": .warning, "Dead letters": .warning, "Expired": .warning,
            ])
    }

    private static let maxSuppressions = 5

    private func suppressions(into page: inout TextPage) {
        guard !status.suppressions.isEmpty else { return }
        page.heading("Held back since the last summary")
        var table = Table(
            [
                Column("DESTINATION", maximum: 24), Column("COUNT", alignment: .right),
                Column("SINCE", expendability: 1), Column("LIMIT"), Column("OF", minimum: 8),
            ], width: width.map { $0 - 2 }, painter: painter)
        // The daemon lists them in descending order of their counts.
        let rows = status.suppressions.prefix(Self.maxSuppressions).map { suppression in
            let groups = suppression.groups.flatMap { $0 > 1 ? Quantity.text($0, "group") : nil }
            let subject = [suppression.app, suppression.group.map { "group \($0)" } ?? groups].compactMap(\.self)
            return [
                Cell(suppression.destination), Cell(Quantity.text(suppression.count)),
                Cell(RelativeTime.text(suppression.since, now: now)), Cell(suppression.reason.label),
                Cell(subject.isEmpty ? "everything" : subject.joined(separator: ", ")),
            ]
        }
        page.add(table.lines(rows))
        let others = (status.suppressions.count - rows.count).clampedSum(max(0, status.otherSuppressions))
        if others > 0 { page.add(["and \(Quantity.text(others)) more"]) }
    }
}

extension DestinationState {
    /// The style of the state of a destination or a notifier.
    var style: TextStyle {
        switch self {
        case .idle, .sending: .plain
        case .waiting: .warning
        case .paused: .error
        }
    }
}

extension SuppressionReason {
    /// The name in output for users.
    var label: String {
        self == .cardinality ? "too many new groups" : rawValue.replacing("_", with: " ")
    }
}

/// The ledger as a column of numbers for each destination.
struct LedgerTable {
    let destinations: [DestinationStatus]
    let width: Int?
    let painter: Painter

    var lines: [String] {
        guard !destinations.isEmpty else { return [] }
        // The number of destinations that fit side by side. The others are in further tables below.
        let perTable = width.map { max(1, ($0 - 17) / 18) } ?? destinations.count
        var lines: [String] = []
        for start in stride(from: 0, to: destinations.count, by: perTable) {
            lines.append("")
            lines += table(Array(destinations[start..<min(start + perTable, destinations.count)]))
        }
        return lines
    }

    private func table(_ destinations: [DestinationStatus]) -> [String] {
        let columns =
            [Column("LEDGER")]
            + destinations.map { Column(TerminalSanitizer.line($0.name), alignment: .right, maximum: 16, minimum: 4) }
        var rows = [
            [Cell("  received")] + destinations.map { Cell(Quantity.text($0.ledger.received)) }
        ]
        for (index, fate) in IssueFate.Outcome.allCases.enumerated() {
            let sign = index == 0 ? "=" : "+"
            rows.append(
                [Cell("\(sign) \(fate.label)")] + destinations.map { Cell(Quantity.text($0.ledger[fate])) })
        }
        rows.append([Cell("")] + destinations.map { verdict($0.ledger) })
        var table = Table(columns, width: width, painter: painter)
        return table.lines(rows)
    }

    private func verdict(_ ledger: Ledger) -> Cell {
        if ledger.balances { return Cell("balances") }
        let sum = IssueFate.Outcome.allCases.reduce(Int64(0)) { $0 &+ ledger[$1] }
        let difference = ledger.received &- sum
        return Cell("off by \(Quantity.text(difference))", style: .error)
    }
}
