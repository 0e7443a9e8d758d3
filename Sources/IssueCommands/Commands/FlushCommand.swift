import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl flush`: forwards pending records now and shows the result.
struct FlushCommand: Command {
    static let timeout = OptionSpecification(
        "timeout", value: "TIME", "Maximum time to wait for all fates (default 30s)")

    static let specification = CommandSpecification(
        name: "flush", summary: "Forward pending records now and show the result", operands: .optional("DESTINATION"),
        operandSources: [.destinations],
        sections: [("Options", [timeout])],
        notes: [
            "Exits with 75 if some of the records or corrections are still pending after the timeout, or if a "
                + "destination is paused even after another attempt; otherwise with 1 if records or corrections became "
                + "dead letters meanwhile. Destinations that are no longer configured do not count."
        ],
        examples: ["issuectl flush", "issuectl flush logzio --timeout 2min"])

    private let destination: String?
    private let timeout: Duration

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        destination = arguments.operands.first
        timeout = try arguments.duration(Self.timeout) ?? .seconds(30)
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let collector = try context.collector()
        let asksBefore = context.format == .human || destination != nil
        let before = asksBefore ? try collector.call(CollectorCalls.status).value.destinations : []
        if let destination, !before.contains(where: { $0.name == destination && !$0.isRemoved }) {
            throw CommandFailure(.refused, "no destination '\(destination)' is configured: see issuectl status")
        }
        let parameters = FlushParameters(destination: destination, timeout: timeout)
        let answer = try collector.call(CollectorCalls.flush, parameters, timeout: parameters.replyTimeout)
        let unfinished = answer.value.destinations.filter { isUnfinished($0, startedAt: context.now) }
        try context.print(answer, elements: "destinations") { reply in
            guard !reply.destinations.isEmpty else { return ["No destination is configured."] }
            return reply.destinations.flatMap { destination in
                let earlier = before.first { $0.name == destination.name }
                return [
                    line(destination, since: earlier), destination.advice.map { "  " + TerminalSanitizer.line($0) },
                ]
                .compactMap(\.self)
            }
        }
        let rejecting = answer.value.destinations.filter { destination in
            hasNewDeadLetters(destination, since: before.first { $0.name == destination.name }, at: context.now)
        }
        if !rejecting.isEmpty {
            let names = rejecting.map(\.name).joined(separator: ", ")
            let message = "some records or corrections became dead letters (\(names)): see issuectl dead-letters"
            if unfinished.isEmpty { throw CommandFailure(.refused, message) }
            context.warn(message)
        }
        guard unfinished.isEmpty else {
            let kind = unfinished.contains { $0.ledger.pending > 0 } ? "records" : "corrections"
            let names = unfinished.map(\.name).joined(separator: ", ")
            guard unfinished.contains(where: { $0.state != .paused }) else {
                throw CommandFailure(
                    .tryAgain, "some \(kind) are still pending (\(names)): the destination is paused, see the advice")
            }
            throw CommandFailure(
                .tryAgain,
                "some \(kind) are still pending (\(names)): see issuectl status, or wait longer with --timeout")
        }
        return .success
    }

    private func isPending(_ destination: DestinationStatus) -> Bool {
        destination.ledger.pending > 0 || (destination.pendingCorrections ?? 0) > 0
    }

    /// Returns `true` if records or corrections from before the wait are pending. A destination that is no longer
    /// configured does not count.
    private func isUnfinished(_ destination: DestinationStatus, startedAt: IssueTimestamp) -> Bool {
        !destination.isRemoved && isPending(destination) && destination.oldestPending.map { $0 <= startedAt } ?? true
    }

    /// Returns `true` if records or corrections became dead letters during the wait.
    ///
    /// - Parameters:
    ///   - before: The status before the wait; nil if it is not known.
    ///   - start: The start of the wait.
    private func hasNewDeadLetters(
        _ destination: DestinationStatus, since before: DestinationStatus?, at start: IssueTimestamp
    ) -> Bool {
        if destination.isRemoved { return false }
        if let before, destination.ledger.deadLettered > before.ledger.deadLettered { return true }
        return destination.lastDeadLetter.map { $0 >= start } ?? false
    }

    /// A line such as `logzio: 12 delivered, 1 summarised, 3 still pending (waiting: no answer)`.
    private func line(_ destination: DestinationStatus, since before: DestinationStatus?) -> String {
        let earlier = before?.ledger ?? Ledger()
        let corrections = destination.pendingCorrections ?? 0
        let sent = (before?.pendingCorrections ?? 0) &- corrections
        var parts: [String] = []
        for fate in IssueFate.Outcome.allCases where fate != .pending {
            let count = destination.ledger[fate] &- earlier[fate]
            if count > 0 { parts.append("\(Quantity.text(count)) \(fate.label)") }
        }
        if destination.ledger.pending > 0 {
            parts.append("\(Quantity.text(destination.ledger.pending)) still pending")
        }
        if sent > 0 { parts.append("\(Quantity.text(sent, "correction")) sent") }
        if corrections > 0 { parts.append("\(Quantity.text(corrections, "correction")) still pending") }
        var text = parts.isEmpty ? "nothing was pending" : parts.joined(separator: ", ")
        if isPending(destination) {
            text += " (\(destination.state.rawValue)\(destination.reason.map { ": \($0)" } ?? ""))"
        }
        return TerminalSanitizer.line("\(destination.name): \(text)")
    }
}
