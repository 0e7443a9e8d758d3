internal import Synchronization
internal import UnixIO

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
