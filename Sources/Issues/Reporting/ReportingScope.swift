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
    }

    @TaskLocal static var box = Box(ReportingScope())

    static var current: ReportingScope { box.scope }

    /// The scope here with a change in it.
    static func changed(_ change: (inout ReportingScope) -> Void) -> Box {
        var scope = current
        change(&scope)
        return Box(scope)
    }
}
