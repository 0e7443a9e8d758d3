internal import Synchronization

/// Which reports go to the daemon, and in what form.
package final class SendingGate: Sendable {
    package typealias BeforeSend = @Sendable (IssueReport) -> IssueReport?

    /// What becomes of a report.
    package enum Verdict: Sendable {
        case send(IssueReport)
        case withheld
        case sampledOut
    }

    /// That of the process.
    package static let process = SendingGate(level: ProcessSettings.shared.level)

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
