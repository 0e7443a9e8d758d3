internal import Synchronization

extension IssueReporters {
    /// A closure that can change or withhold each report before it is sent to the daemon. Nil by default.
    ///
    /// ```swift
    /// IssueReporters.beforeSend = { report in
    ///     var report = report
    ///     report.metadata["card"] = nil
    ///     return report
    /// }
    /// ```
    ///
    /// To withhold a report, return nil. The next report that is sent contains the number of withheld ones as
    /// `withheld_before`. Other reporters receive the unchanged report. The closure is called on the reporting thread,
    /// so it must not block.
    public static var beforeSend: (@Sendable (IssueReport) -> IssueReport?)? {
        get { SendGate.process.beforeSend }
        set { SendGate.process.beforeSend = newValue }
    }

    /// The fraction of reports that is sent to the daemon for each level, from 0 to 1. All reports of a level without a
    /// value are sent.
    ///
    /// The next report that is sent contains the number of omitted ones as `sampled_out_before`. A report with a
    /// receipt is never omitted.
    public static var sampling: [IssueLevel: Double] {
        get { SendGate.process.sampling }
        set { SendGate.process.sampling = newValue }
    }
}

/// Decides which reports are sent to the daemon, and can change them.
package final class SendGate: Sendable {
    package typealias BeforeSend = @Sendable (IssueReport) -> IssueReport?

    /// The decision about a report.
    package enum Decision: Sendable {
        case send(IssueReport)
        case withheld
        case sampledOut
    }

    /// The gate of the process.
    package static let process = SendGate(level: ProcessSettings.shared.level)

    private struct Rules: Sendable {
        var beforeSend: BeforeSend?
        var sampling: [IssueLevel: Double] = [:]
    }

    private let rules = Mutex(Rules())
    // Separate from the rules, since nearly all applications have none.
    private let hasRules: Atomic<Bool>
    private let level: IssueLevel

    /// Creates a gate that withholds reports below a level.
    package init(level: IssueLevel = .debug) {
        self.level = level
        hasRules = Atomic(level > .debug)
    }

    /// Whether every report is sent unchanged.
    var isOpen: Bool { !hasRules.load(ordering: .acquiring) }

    package var beforeSend: BeforeSend? {
        get { rules.withLock { $0.beforeSend } }
        set { change { $0.beforeSend = newValue } }
    }

    package var sampling: [IssueLevel: Double] {
        get { rules.withLock { $0.sampling } }
        set { change { $0.sampling = newValue } }
    }

    private func change(_ change: (inout Rules) -> Void) {
        rules.withLock { rules in
            change(&rules)
            let hasAny = level > .debug || rules.beforeSend != nil || !rules.sampling.isEmpty
            hasRules.store(hasAny, ordering: .releasing)
        }
    }

    /// Decides whether a report is sent, and applies ``beforeSend``.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - isSampled: `true` if the level and the sampling apply to the report.
    ///   - chance: A random number from 0 up to, but not including, 1.
    /// - Returns: The decision, with the report to send.
    package func evaluate(
        _ report: IssueReport, isSampled: Bool, chance: @autoclosure () -> Double
    ) -> Decision {
        if isSampled, report.level < level { return .withheld }
        let rules = rules.withLock { $0 }
        if isSampled, let rate = rules.sampling[report.level], chance() >= rate { return .sampledOut }
        guard let beforeSend = rules.beforeSend else { return .send(report) }
        // Issues that the closure reports itself must not be passed to it again.
        let scope = ReportingScope.here.forReporters()
        defer { scope.endWork() }
        return ReportingScope.$box.withValue(scope) { beforeSend(report).map { .send($0) } ?? .withheld }
    }
}

/// The numbers of reports that were not sent and that no later report has mentioned yet.
struct UnsentCount: Sendable {
    var withheld = 0
    var sampledOut = 0

    /// Whether any such report exists.
    var hasCounts: Bool { withheld > 0 || sampledOut > 0 }

    /// Moves the numbers into the metadata of a report that is about to be sent.
    mutating func addCounts(to report: inout IssueReport) {
        if withheld > 0 { report.metadata.setReserved(.withheldBefore, to: .init(withheld)) }
        if sampledOut > 0 { report.metadata.setReserved(.sampledOutBefore, to: .init(sampledOut)) }
        self = UnsentCount()
    }

    /// Takes the numbers back from a report that is not sent after all.
    mutating func takeBack(from report: IssueReport) {
        withheld += report.metadata[.withheldBefore]?.integer ?? 0
        sampledOut += report.metadata[.sampledOutBefore]?.integer ?? 0
    }
}

extension IssueMetadata.Key {
    /// The number of reports that were withheld since the last report that was sent.
    static let withheldBefore: Self = "withheld_before"
    /// The number of reports that were omitted by sampling since the last report that was sent.
    static let sampledOutBefore: Self = "sampled_out_before"
}
