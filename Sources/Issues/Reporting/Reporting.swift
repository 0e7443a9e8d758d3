internal import Synchronization
internal import UnixIO

/// The way from a reporting call past the responders to the reporters.
enum Reporting {
    /// Reports an error, or an issue in words where there is none.
    @discardableResult
    static func report(
        _ error: (any Error)?, _ message: () -> String?, level: IssueLevel, metadata: () -> IssueMetadata,
        at site: IssueSite
    ) -> ReportOutcome {
        // Looked at in place: a copy of the scope would be most of the cost of a
        // report for nobody.
        guard !ReportingScope.isSilent else { return .unhandled }
        return report(
            error, message, level: level, metadata: metadata, at: site, in: ReportingScope.here, CallStack.Mark())
    }

    @inline(never)
    private static func report(
        _ error: (any Error)?, _ message: () -> String?, level: IssueLevel, metadata: () -> IssueMetadata,
        at site: IssueSite, in box: ReportingScope.Box, _ mark: CallStack.Mark
    ) -> ReportOutcome {
        let hasResponders = !box.scope.responders.isEmpty
        // An error's own words may be somebody's code, which may report.
        if error == nil, !hasResponders, box.scope.reporters.areDaemonAlone, box.scope.knownIssues == nil,
            !box.isReporting
        {
            Delivery.current.submit(
                IssueReport(
                    note: message(), level: level, metadata: metadata(), site: box.scope.site ?? site, in: box,
                    at: mark))
            return .unhandled
        }
        // Read where it is: a copy would retain all that it holds.
        var pending = PendingReport(error: error, level: level, site: box.scope.site ?? site, at: mark)
        guard !box.isReporting else {
            StandardErrorLine.write(pending.report(message, metadata, in: box))
            return .unhandled
        }
        if hasResponders { return climb(pending.report(message, metadata, in: box), box.scope.responders) }
        tell(in: box, pending: &pending, message, metadata)
        return .unhandled
    }

    private static func climb(_ report: IssueReport, _ responders: ResponderChain) -> ReportOutcome {
        var climbing = PropagatingReport(report: report)
        var chain = responders
        while let (responder, outside) = chain.first {
            chain = outside
            // What a responder reports itself goes to those outside of it.
            let scope = ReportingScope.changed { $0.responders = outside }
            let response = ReportingScope.$box.withValue(scope) { responder.respond(climbing) }
            switch response {
            case .handled: return .handled
            case .discarded: return .discarded
            case .notHandled: break
            case .replaced(let error): climbing.report.replaceError(by: error)
            }
        }
        climbing.notifyReporters()
        return .unhandled
    }

    /// Hands a report that is whole to the reporters in force.
    static func notifyReporters(_ report: IssueReport) {
        var pending = PendingReport(report)
        tell(in: ReportingScope.here, pending: &pending, { nil }, { [:] })
    }

    private static func tell(
        in box: ReportingScope.Box, pending: inout PendingReport, _ message: () -> String?,
        _ metadata: () -> IssueMetadata
    ) {
        let reporters = box.scope.reporters.reporters
        if let known = box.scope.knownIssues {
            known.count()
            return expect(pending.error, { pending.text(message) }, at: pending.site, by: reporters)
        }
        guard !reporters.isEmpty else { return }
        let scope = box.forReporters()
        defer { scope.endWork() }
        var reached = ReachedDeliveries()
        for reporter in reporters { pending.tell(reporter, message, metadata, &reached, from: box, in: scope) }
    }

    /// Tells reporters of an issue that was expected.
    static func expect(
        _ error: (any Error)?, _ message: () -> String?, at site: IssueSite, by reporters: [any IssueReporter]
    ) {
        let text = reporters.isEmpty ? nil : message()
        let scope = ReportingScope.here.forReporters()
        defer { scope.endWork() }
        ReportingScope.$box.withValue(scope) {
            for reporter in reporters {
                if let error {
                    reporter.expectIssue(
                        error, text, fileID: site.fileID, filePath: site.filePath, line: site.line,
                        column: site.column)
                } else {
                    reporter.expectIssue(
                        text, fileID: site.fileID, filePath: site.filePath, line: site.line, column: site.column)
                }
            }
        }
    }
}

/// What the scopes around a call say about its reports.
///
/// All of it is one task-local value, so that a report which nobody wants costs
/// one look.
struct ReportingScope: Sendable {
    var reporters = ReporterBox.process
    /// Who is asked before the reporters are told.
    var responders = ResponderChain.root
    var metadata: IssueMetadata = [:]
    var trail = BreadcrumbTrail.process
    /// The place that reports name instead of their own.
    var site: IssueSite?
    /// What counts reports as expected, where tests aren't run by a library that does.
    var knownIssues: KnownIssues?
    /// The scope in which a reporter of this task is at work, or was.
    ///
    /// A reporter that reports would otherwise be asked to report that, and so
    /// on until the stack ends. A task that it starts inherits this, and reports
    /// like any other.
    var reportingBox: Box?

    /// A scope that tasks share instead of copying it.
    final class Box: Sendable {
        let scope: ReportingScope
        /// The thread on which reporters are at work in this scope; 0 where none are.
        private let workingThread: Atomic<UInt>

        init(_ scope: ReportingScope, workingThread: UInt = 0) {
            self.scope = scope
            self.workingThread = Atomic(workingThread)
        }

        /// Whether what is reported here and now is reported by a reporter.
        ///
        /// A task that a reporter has started is on another thread, or begins
        /// when the reporter is done.
        var isReporting: Bool {
            let thread = workingThread.load(ordering: .acquiring)
            if thread != 0, thread == CurrentProcess.threadMark { return true }
            return scope.reportingBox?.isReporting == true
        }

        /// Returns the same scope for reporters to work in. The caller must call `endWork` on it.
        func forReporters() -> Box {
            ReportingScope.hasScopes.store(true, ordering: .relaxed)
            // An enclosing scope with reporters at work need not be kept: they are on the same thread.
            return Box(scope, workingThread: CurrentProcess.threadMark)
        }

        /// Says that the reporters of this scope have returned.
        func endWork() {
            workingThread.store(0, ordering: .releasing)
        }

        /// Whether a report is for nobody.
        var isSilent: Bool { scope.reporters.isEmpty && scope.responders.isEmpty }
    }

    /// What holds outside all scopes.
    private static let process = Box(ReportingScope())
    // To look a task-local value up costs more than a report for nobody should.
    private static let hasScopes = Atomic(false)

    @TaskLocal static var box = process

    /// Whether a report here is for nobody; found without a reference counted where there are no scopes.
    static var isSilent: Bool {
        guard hasScopes.load(ordering: .relaxed) else {
            return ReporterBox.isProcessEmpty && ErrorResponders.isRootEmpty
        }
        return box.isSilent
    }

    /// The scope here, shared.
    static var here: Box { hasScopes.load(ordering: .relaxed) ? box : process }

    static var current: ReportingScope { here.scope }

    /// The scope here with a change in it.
    static func changed(_ change: (inout ReportingScope) -> Void) -> Box {
        let here = here
        var scope = here.scope
        // One that has ended is let go, so that tasks which start tasks make no chain of them.
        scope.reportingBox = here.isReporting ? here : nil
        change(&scope)
        hasScopes.store(true, ordering: .relaxed)
        return Box(scope)
    }
}

/// A report in the making: each closure of the caller is evaluated at most once.
struct PendingReport {
    let error: (any Error)?
    let level: IssueLevel
    let site: IssueSite
    /// Where our own calls begin.
    private let mark: CallStack.Mark
    private var text: String??
    private var whole: IssueReport?

    init(error: (any Error)?, level: IssueLevel, site: IssueSite, at mark: CallStack.Mark) {
        self.error = error
        self.level = level
        self.site = site
        self.mark = mark
    }

    /// One that is made.
    init(_ report: IssueReport) {
        self.init(error: report.error, level: report.level, site: report.site, at: .bottom)
        text = .some(report.note)
        whole = report
    }

    mutating func text(_ message: () -> String?) -> String? {
        if let text { return text }
        let evaluated = message()
        text = .some(evaluated)
        return evaluated
    }

    mutating func report(
        _ message: () -> String?, _ metadata: () -> IssueMetadata, in box: ReportingScope.Box
    ) -> IssueReport {
        if let whole { return whole }
        let report = IssueReport(
            error: error, note: text(message), level: level, metadata: metadata(), site: site, in: box, at: mark)
        whole = report
        return report
    }

    /// Tells a reporter in the way that it understands.
    ///
    /// The caller's closures and the error's own texts are evaluated in the
    /// caller's scope, since they may report issues of their own.
    ///
    /// - Parameters:
    ///   - box: The caller's scope.
    ///   - scope: The scope in which the reporter runs.
    mutating func tell(
        _ reporter: any IssueReporter, _ message: () -> String?, _ metadata: () -> IssueMetadata,
        _ reached: inout ReachedDeliveries, from box: ReportingScope.Box, in scope: ReportingScope.Box
    ) {
        // Our own first: to ask for a type is cheaper than to ask for a protocol.
        if let reporter = reporter as? DaemonReporter {
            let report = report(message, metadata, in: box)
            ReportingScope.$box.withValue(scope) { reporter.receive(report, reached: &reached) }
        } else if let reporter = reporter as? _DefaultReporter {
            let report = report(message, metadata, in: box)
            ReportingScope.$box.withValue(scope) { reporter.receive(report, reached: &reached) }
        } else if let sink = reporter as? any IssueSink {
            let report = report(message, metadata, in: box)
            ReportingScope.$box.withValue(scope) { sink.receive(report) }
        } else {
            let text = text(message)
            ReportingScope.$box.withValue(scope) {
                if let error {
                    reporter.reportIssue(
                        error, text, fileID: site.fileID, filePath: site.filePath, line: site.line,
                        column: site.column)
                } else {
                    reporter.reportIssue(
                        text, severity: level.severity, fileID: site.fileID, filePath: site.filePath,
                        line: site.line, column: site.column)
                }
            }
        }
    }
}

/// How far a report got.
enum ReportOutcome {
    /// No responder kept it; the reporters were told, if there are any.
    case unhandled
    case handled
    /// It was to vanish, with all that would follow it.
    case discarded
}
