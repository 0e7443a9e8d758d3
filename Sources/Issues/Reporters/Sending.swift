internal import Synchronization

extension IssueReporters {
    /// Looks at each report before it goes to the daemon, and may change or withhold it.
    ///
    /// ```swift
    /// IssueReporters.beforeSend = { report in
    ///     var report = report
    ///     report.metadata["card"] = nil
    ///     return report
    /// }
    /// ```
    ///
    /// Other reporters hear of it as it was. Called on the thread that
    /// reports, so it must not wait. How many were withheld, by nil, stands as
    /// `withheld_before` in the next one that goes.
    public static var beforeSend: (@Sendable (IssueReport) -> IssueReport?)? {
        get { SendGate.process.beforeSend }
        set { SendGate.process.beforeSend = newValue }
    }

    /// Which share of a level's reports goes to the daemon, from 0 to 1; all of a level that is not named.
    ///
    /// How many were left out stands as `sampled_out_before` in the next one
    /// that goes. A report with a receipt always goes.
    public static var sampling: [IssueLevel: Double] {
        get { SendGate.process.sampling }
        set { SendGate.process.sampling = newValue }
    }
}

/// Which reports go to the daemon, and in what form.
package final class SendGate: Sendable {
    package typealias BeforeSend = @Sendable (IssueReport) -> IssueReport?

    /// What becomes of a report.
    package enum Verdict: Sendable {
        case send(IssueReport)
        case withheld
        case sampledOut
    }

    /// That of the process.
    package static let process = SendGate(level: ProcessSettings.shared.level)

    private struct Rules: Sendable {
        var beforeSend: BeforeSend?
        var sampling: [IssueLevel: Double] = [:]
    }

    private let rules = Mutex(Rules())
    // Apart, since nearly all applications have no rules.
    private let hasRules: Atomic<Bool>
    private let level: IssueLevel

    /// A gate that withholds what is milder than a level.
    package init(level: IssueLevel = .debug) {
        self.level = level
        hasRules = Atomic(level > .debug)
    }

    /// Whether every report goes as it is.
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
            let isAny = level > .debug || rules.beforeSend != nil || !rules.sampling.isEmpty
            hasRules.store(isAny, ordering: .releasing)
        }
    }

    /// Judges a report.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - mayBeLeftOut: Whether it is one of those that are sampled.
    ///   - chance: A number from 0 to 1, 1 not included.
    package func judge(
        _ report: IssueReport, mayBeLeftOut: Bool, chance: @autoclosure () -> Double
    ) -> Verdict {
        if mayBeLeftOut, report.level < level { return .withheld }
        let rules = rules.withLock { $0 }
        if mayBeLeftOut, let rate = rules.sampling[report.level], chance() >= rate { return .sampledOut }
        guard let beforeSend = rules.beforeSend else { return .send(report) }
        // What it reports itself must not come back to it.
        let scope = ReportingScope.here.forReporters()
        defer { scope.endWork() }
        return ReportingScope.$box.withValue(scope) { beforeSend(report).map { .send($0) } ?? .withheld }
    }
}

/// How many reports were not sent, and are not told of yet.
struct UnsentCount: Sendable {
    var withheld = 0
    var sampledOut = 0

    /// Whether there is something to tell.
    var isLogging: Bool { withheld > 0 || sampledOut > 0 }

    /// Has a report that is about to go tell of them.
    mutating func tell(in report: inout IssueReport) {
        if withheld > 0 { report.metadata.setOwn(.withheldBefore, to: .init(withheld)) }
        if sampledOut > 0 { report.metadata.setOwn(.sampledOutBefore, to: .init(sampledOut)) }
        self = UnsentCount()
    }

    /// Takes back what a report would have told, since it will not go after all.
    mutating func takeBack(from report: IssueReport) {
        withheld += report.metadata[.withheldBefore]?.integer ?? 0
        sampledOut += report.metadata[.sampledOutBefore]?.integer ?? 0
    }
}

extension IssueMetadata.Key {
    /// How many reports were withheld since the last one that went.
    static let withheldBefore: Self = "withheld_before"
    /// How many reports were left out by sampling since the last one that went.
    static let sampledOutBefore: Self = "sampled_out_before"
}
