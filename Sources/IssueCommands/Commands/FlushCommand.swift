import IssueBrowsing
import IssueProtocol
import Issues

/// `issuectl flush`: forwards now what is waiting, and says what became of it.
struct FlushCommand: Command {
    static let timeout = OptionSpecification(
        "timeout", value: "TIME", "How long to wait for all to have a fate (default 30s)")

    static let specification = CommandSpecification(
        "flush", "Forward now what is waiting, and say what became of it", operands: .optional("DESTINATION"),
        sections: [.init("How", [timeout])],
        notes: ["Exits with 75 when the time is over before all that was waiting has a fate."],
        examples: ["issuectl flush", "issuectl flush logzio --timeout 2min"])

    private let destination: String?
    private let timeout: Duration

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {
        destination = arguments.operands.first
        guard let text = arguments[Self.timeout] else {
            timeout = .seconds(30)
            return
        }
        guard let duration = DurationExpression.duration(text) else {
            throw UsageError(text, of: Self.timeout, expected: DurationExpression.forms)
        }
        timeout = duration
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let collector = try context.collector()
        let asksBefore = context.format == .human || destination != nil
        let before = asksBefore ? try collector.status().value.destinations : []
        if let destination, !before.contains(where: { $0.name == destination }) {
            throw CommandFailure(.refused, "there is no destination '\(destination)': see issuectl status")
        }
        let answer = try collector.flush(FlushParameters(destination: destination, timeout: timeout))
        let unfinished = answer.value.destinations.filter { isUnfinished($0, startedAt: context.now) }
        switch context.format {
        case .human:
            if answer.value.destinations.isEmpty { try context.print("No destination is configured.") }
            for destination in answer.value.destinations {
                let earlier = before.first { $0.name == destination.name }?.ledger ?? Ledger()
                try context.print(line(destination, since: earlier))
                if let advice = destination.advice { try context.print("  " + TerminalSanitizer.line(advice)) }
            }
        case .json: try context.print(json: answer.json)
        case .lines: for element in answer.elements(of: "destinations") { try context.print(json: element) }
        }
        guard unfinished.isEmpty else {
            let names = unfinished.map(\.name).joined(separator: ", ")
            throw CommandFailure(
                .tryAgain,
                "not all that was waiting has a fate yet (\(names)): see issuectl status, or wait with --timeout")
        }
        return .success
    }

    /// What came in while we waited does not count: it was not asked for.
    private func isUnfinished(_ destination: DestinationStatus, startedAt: Timestamp) -> Bool {
        destination.ledger.pending > 0 && destination.oldestPending.map { $0 <= startedAt } ?? true
    }

    /// `logzio: 12 delivered, 1 summarised, 3 still pending (waiting: no answer)`.
    private func line(_ destination: DestinationStatus, since earlier: Ledger) -> String {
        var parts: [String] = []
        for fate in Fate.allCases where fate != .pending {
            let count = destination.ledger[fate] - earlier[fate]
            if count > 0 { parts.append("\(Quantity.text(count)) \(fate.label)") }
        }
        if destination.ledger.pending > 0 {
            parts.append("\(Quantity.text(destination.ledger.pending)) still pending")
        }
        var text = parts.isEmpty ? "nothing was waiting" : parts.joined(separator: ", ")
        if destination.ledger.pending > 0 {
            text += " (\(destination.state.rawValue)\(destination.reason.map { ": \($0)" } ?? ""))"
        }
        return TerminalSanitizer.line("\(destination.name): \(text)")
    }
}
