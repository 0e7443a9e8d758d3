internal import UnixIO

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
