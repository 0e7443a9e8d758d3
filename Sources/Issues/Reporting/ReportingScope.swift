internal import Synchronization

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
    /// Whether a reporter of this task is at work.
    ///
    /// A reporter that reports would otherwise be asked to report that, and so
    /// on until the stack ends.
    var isReporting = false

    /// A scope that tasks share instead of copying it.
    final class Box: Sendable {
        let scope: ReportingScope

        init(_ scope: ReportingScope) {
            self.scope = scope
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
        var scope = current
        change(&scope)
        hasScopes.store(true, ordering: .relaxed)
        return Box(scope)
    }
}
