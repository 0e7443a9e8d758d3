internal import Synchronization
internal import UnixIO

/// Passes reports from the reporting call through the responders to the reporters.
enum Reporting {
    /// Reports an error, or a message if `error` is nil.
    ///
    /// - Returns: The outcome of the responders.
    @discardableResult @inline(__always)
    static func report(
        _ error: (any Error)?, _ message: () -> IssueText?, level: IssueLevel = .error,
        metadata: () -> IssueMetadata = { [:] }, fingerprint: () -> String? = { nil }, at site: IssueSite
    ) -> ReportOutcome {
        // Checked without copying the scope: the copy would be most of the cost of a report without reporters.
        guard !ReportingScope.isSilent else { return .unhandled }
        return report(
            error, message, level: level, metadata: metadata, fingerprint: fingerprint, at: site,
            in: ReportingScope.here, CallStack.Mark())
    }

    @inline(never)
    private static func report(
        _ error: (any Error)?, _ message: () -> IssueText?, level: IssueLevel, metadata: () -> IssueMetadata,
        fingerprint: () -> String?, at site: IssueSite, in box: ReportingScope.Box, _ mark: CallStack.Mark
    ) -> ReportOutcome {
        let hasResponders = !box.scope.responders.isEmpty
        // A message that only the daemon receives goes directly to the delivery.
        if error == nil, !hasResponders, box.scope.reporters.isDaemonOnly, box.scope.knownIssues == nil,
            !box.isReporting
        {
            Delivery.current.submit(
                IssueReport(
                    note: message(), level: level, metadata: metadata(), fingerprint: fingerprint(),
                    site: box.scope.site ?? site, in: box, at: mark))
            return .unhandled
        }
        // The scope is accessed in place, since a copy would retain everything that it holds.
        var pending = PendingReport(
            error: error, level: level, fingerprint: fingerprint(), site: box.scope.site ?? site, at: mark)
        guard !box.isReporting else {
            StandardErrorLine.write(pending.report(message, metadata, in: box))
            return .unhandled
        }
        if hasResponders { return propagate(pending.report(message, metadata, in: box), box.scope.responders) }
        notify(in: box, pending: &pending, message, metadata)
        return .unhandled
    }

    /// Passes a finished report to the responders and then to the reporters of the current scope. If
    /// ``ReportingScope/Box/isReporting`` is true, writes the report to standard error instead.
    static func report(_ report: IssueReport) {
        guard !ReportingScope.isSilent else { return }
        let box = ReportingScope.here
        guard !box.isReporting else { return StandardErrorLine.write(report) }
        var report = report
        if let site = box.scope.site { report.site = site }
        propagate(report, box.scope.responders)
    }

    @discardableResult
    private static func propagate(_ report: IssueReport, _ responders: ResponderChain) -> ReportOutcome {
        var report = report
        var chain = responders
        while let (responder, outside) = chain.first {
            chain = outside
            // An issue that a responder reports goes to the responders outside of it.
            let scope = ReportingScope.changed { $0.responders = outside }
            let response = ReportingScope.$box.withValue(scope) { responder.respond(report) }
            switch response {
            case .handled: return .handled
            case .discarded: return .discarded
            case .notHandled: break
            case .replaced(let error): report.replaceError(with: error)
            }
        }
        report.notifyReporters()
        return .unhandled
    }

    fileprivate static func notify(
        in box: ReportingScope.Box, pending: inout PendingReport, _ message: () -> IssueText?,
        _ metadata: () -> IssueMetadata
    ) {
        let reporters = box.scope.reporters.reporters
        if let known = box.scope.knownIssues {
            known.countIssue()
            return expect(pending.error, { pending.text(message)?.text }, at: pending.site, by: reporters)
        }
        guard !reporters.isEmpty else { return }
        let scope = box.forReporters()
        defer { scope.endWork() }
        // A report enters each delivery once, even if several reporters use the same one.
        var reached: Set<ObjectIdentifier> = []
        for reporter in reporters { pending.notify(reporter, message, metadata, &reached, from: box, in: scope) }
    }

    /// Passes an expected issue to the reporters.
    ///
    /// - Parameters:
    ///   - error: The expected error. Nil for a message only.
    ///   - message: Returns the message. Not called if there are no reporters.
    ///   - site: The reported location.
    ///   - reporters: The reporters.
    static func expect(
        _ error: (any Error)?, _ message: () -> String?, at site: IssueSite, by reporters: [any IssueReporter]
    ) {
        let text = reporters.isEmpty ? nil : message().map(RedactionHook.text)
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

/// The settings that apply to reports in a scope.
///
/// They are a single task-local value, so that a report without reporters costs at most one lookup.
struct ReportingScope: Sendable {
    var reporters = ReporterBox.process
    /// The responders, which run before the reporters.
    var responders = ResponderChain.root
    var metadata: IssueMetadata = [:]
    /// The fingerprint of reports that do not set one. Nil if the daemon computes it.
    var fingerprint: String?
    /// The ids of `withIssueContext`. Nil if there are none.
    var context: ScopeContext?
    var trail = BreadcrumbTrail.process
    /// The source location that replaces the location of each report. Nil for none.
    var site: IssueSite?
    /// Counts the issues of the surrounding `_withKnownIssue`. Nil if there is none, or if Swift Testing counts them.
    var knownIssues: KnownIssues?
    /// The box of the hook code (see ``Box/isReporting``) that created this scope. Nil if other code created the scope,
    /// if the scope has other reporters than the scope around it, or if ``ErrorResponders`` has saved it.
    ///
    /// Without this property, a reporter that reports an issue in a scope of its own would be called for that issue
    /// again, and so on until the stack overflows. A task that the reporter starts inherits the property, but the
    /// task's reports are treated like any others.
    var reportingBox: Box?

    /// A reference to a scope that tasks can share without a copy.
    final class Box: Sendable {
        let scope: ReportingScope
        /// The thread that runs hook code in this box. 0 if none does.
        private let workingThread: Atomic<UInt>

        init(_ scope: ReportingScope, workingThread: UInt = 0) {
            self.scope = scope
            self.workingThread = Atomic(workingThread)
        }

        /// Whether the current code is hook code: a reporter, a rule of redaction, ``IssueReporters/beforeSend`` or
        /// ``IssueReporters/context``, or what these call.
        ///
        /// `false` in a task that a reporter has started, since the task runs on another thread or after the reporter
        /// has returned.
        var isReporting: Bool {
            let thread = workingThread.load(ordering: .acquiring)
            if thread != 0, thread == CurrentProcess.threadMark { return true }
            return scope.reportingBox?.isReporting == true
        }

        /// Returns a box with the same scope, in which the current thread can run hook code. The caller must call
        /// `endWork` on the new box when that code has returned.
        func forReporters() -> Box {
            ReportingScope.hasScopes.store(true, ordering: .relaxed)
            // An outer scope whose reporters are running need not be recorded, since they run on this thread, too.
            return Box(scope, workingThread: CurrentProcess.threadMark)
        }

        /// Records that the code that ran in this box has returned. Used on boxes that `forReporters` created.
        func endWork() {
            workingThread.store(0, ordering: .releasing)
        }

        /// Whether the scope has neither reporters nor responders.
        var isSilent: Bool { scope.reporters.isEmpty && scope.responders.isEmpty }
    }

    /// The scope outside of all `with…` functions.
    private static let process = Box(ReportingScope())
    // Whether any scope was created in this process. Until then, a report skips the lookup of the task-local value, so
    // that a report without reporters is cheap.
    private static let hasScopes = Atomic(false)

    @TaskLocal static var box = process

    /// Whether a report would reach neither reporters nor responders. Needs no reference counting until the first scope
    /// is created.
    static var isSilent: Bool {
        guard hasScopes.load(ordering: .relaxed) else {
            return ReporterBox.isProcessEmpty && ErrorResponders.isRootEmpty
        }
        return box.isSilent
    }

    /// The current scope.
    static var here: Box { hasScopes.load(ordering: .relaxed) ? box : process }

    static var current: ReportingScope { here.scope }

    /// Returns a copy of the current scope with a change.
    static func changed(_ change: (inout ReportingScope) -> Void) -> Box {
        let here = here
        var scope = here.scope
        // A scope whose reporters have returned is dropped, so that nested tasks do not build a chain of scopes.
        scope.reportingBox = here.isReporting ? here : nil
        change(&scope)
        hasScopes.store(true, ordering: .relaxed)
        return Box(scope)
    }
}

/// A thread-safe list of reporters.
final class ReporterBox: Sendable {
    /// The reporters outside of all scopes.
    static let process: ReporterBox = {
        let box = ReporterBox(ProcessSettings.shared.reporters)
        processKind.store(box.kind.load(ordering: .relaxed), ordering: .releasing)
        return box
    }()
    // Separate from the box, so that a report without reporters is cheap: accessing the box costs more.
    private static let processKind = Atomic(Kind.others)

    /// Whether there are no reporters outside of all scopes. `false` until ``process`` is used for the first time.
    static var isProcessEmpty: Bool { processKind.load(ordering: .acquiring) == .none }

    private let storage: Mutex<[any IssueReporter]>

    // Separate from the list, so that a report need not lock the list if there are no reporters or only the daemon's.
    private let kind: Atomic<Kind>

    private enum Kind: UInt8, AtomicRepresentable {
        case none
        case daemonOnly
        case others

        init(_ reporters: [any IssueReporter]) {
            guard !reporters.isEmpty else {
                self = .none
                return
            }
            let isDaemon = reporters.allSatisfy { ($0 as? DaemonReporter)?.isOfProcess == true }
            self = isDaemon ? .daemonOnly : .others
        }
    }

    init(_ reporters: [any IssueReporter]) {
        storage = Mutex(reporters)
        kind = Atomic(Kind(reporters))
    }

    var isEmpty: Bool { kind.load(ordering: .acquiring) == .none }

    /// Whether all reports go to the shared delivery of the process, and nowhere else.
    var isDaemonOnly: Bool { kind.load(ordering: .acquiring) == .daemonOnly }

    var reporters: [any IssueReporter] {
        get { storage.withLock { $0 } }
        set {
            // The old list is released outside the lock, because the deinit of a reporter may report an issue.
            var list = newValue
            let newKind = Kind(newValue)
            storage.withLock {
                swap(&$0, &list)
                kind.store(newKind, ordering: .releasing)
                if self === Self.process { Self.processKind.store(newKind, ordering: .releasing) }
            }
        }
    }
}

/// An unfinished report. It evaluates each closure of the caller at most once.
struct PendingReport {
    let error: (any Error)?
    let level: IssueLevel
    /// The fingerprint that the call gave. Nil for none.
    private let fingerprint: String?
    let site: IssueSite
    /// The position in the call stack where this library's calls begin.
    private let mark: CallStack.Mark
    private var text: IssueText??
    private var whole: IssueReport?

    init(
        error: (any Error)?, level: IssueLevel, fingerprint: String?, site: IssueSite, at mark: CallStack.Mark
    ) {
        self.error = error
        self.level = level
        self.fingerprint = fingerprint
        self.site = site
        self.mark = mark
    }

    /// Wraps a finished report.
    init(_ report: IssueReport) {
        self.init(
            error: report.error, level: report.level, fingerprint: report.fingerprint, site: report.site, at: .bottom)
        text = .some(report.noteText)
        whole = report
    }

    mutating func text(_ message: () -> IssueText?) -> IssueText? {
        if let text { return text }
        let evaluated = message()
        text = .some(evaluated)
        return evaluated
    }

    mutating func report(
        _ message: () -> IssueText?, _ metadata: () -> IssueMetadata, in box: ReportingScope.Box
    ) -> IssueReport {
        if let whole { return whole }
        let report = IssueReport(
            error: error, note: text(message), level: level, metadata: metadata(), fingerprint: fingerprint,
            site: site, in: box, at: mark)
        whole = report
        return report
    }

    /// Returns the report as reporters receive it.
    private mutating func redactedReport(
        _ message: () -> IssueText?, _ metadata: () -> IssueMetadata, in box: ReportingScope.Box
    ) -> IssueReport {
        let report = report(message, metadata, in: box).redacted
        whole = report
        return report
    }

    /// Passes the report to a reporter through the most detailed method that the reporter supports.
    ///
    /// The caller's closures and, for a sink, the error's text are evaluated in the caller's scope, since they may
    /// report issues themselves. `box` is the caller's scope, and the reporter runs in `scope`. `reached` holds the
    /// deliveries that have the report already.
    mutating func notify(
        _ reporter: any IssueReporter, _ message: () -> IssueText?, _ metadata: () -> IssueMetadata,
        _ reached: inout Set<ObjectIdentifier>, from box: ReportingScope.Box, in scope: ReportingScope.Box
    ) {
        // The concrete types first: checking for a type is cheaper than checking for a protocol.
        if let reporter = reporter as? DaemonReporter {
            let report = redactedReport(message, metadata, in: box)
            ReportingScope.$box.withValue(scope) { reporter.receive(report, reached: &reached) }
        } else if let reporter = reporter as? _DefaultReporter {
            let report = redactedReport(message, metadata, in: box)
            ReportingScope.$box.withValue(scope) { reporter.receive(report, reached: &reached) }
        } else if let sink = reporter as? any IssueSink {
            let report = redactedReport(message, metadata, in: box)
            ReportingScope.$box.withValue(scope) { sink.receive(report) }
        } else {
            let text = (text(message)?.text).map(RedactionHook.text)
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

/// The result of passing a report to the responders.
enum ReportOutcome {
    /// No responder handled the report. The reporters received it, if there are any. If
    /// ``ReportingScope/Box/isReporting`` was true, the report was written to standard error instead.
    case unhandled
    case handled
    /// A responder dropped the report. A failed `Reported.assert` then does not trap.
    case discarded
}

extension IssueReport {
    /// Sends the report to the reporters of the current scope immediately, without passing it to further responders.
    package func notifyReporters() {
        var pending = PendingReport(self)
        Reporting.notify(in: ReportingScope.here, pending: &pending, { nil }, { [:] })
    }
}
