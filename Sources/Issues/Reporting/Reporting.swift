/// The way from a reporting call to the reporters.
enum Reporting {
    /// Whether a reporter of this task is at work.
    ///
    /// A reporter that reports would otherwise be asked to report that, and so
    /// on until the stack ends.
    @TaskLocal static var isUnderWay = false

    static func report(
        _ message: () -> String?, level: IssueLevel, metadata: () -> IssueMetadata, at site: IssueSite
    ) {
        let reporters = IssueReporters.current
        guard !reporters.isEmpty else { return }
        deliver(error: nil, message, level: level, metadata: metadata, at: site, to: reporters)
    }

    static func report(
        _ error: any Error, _ message: () -> String?, level: IssueLevel, metadata: () -> IssueMetadata,
        at site: IssueSite
    ) {
        let reporters = IssueReporters.current
        guard !reporters.isEmpty else { return }
        deliver(error: error, message, level: level, metadata: metadata, at: site, to: reporters)
    }

    private static func deliver(
        error: (any Error)?, _ message: () -> String?, level: IssueLevel, metadata: () -> IssueMetadata,
        at site: IssueSite, to reporters: [any IssueReporter]
    ) {
        var pending = PendingReport(error: error, level: level, site: site)
        guard !isUnderWay else {
            return StandardErrorLine.write(pending.report(message, metadata))
        }
        $isUnderWay.withValue(true) {
            var reached: [ObjectIdentifier] = []
            for reporter in reporters {
                if let sink = reporter as? any CollectorSink {
                    sink.receive(pending.report(message, metadata), reached: &reached)
                } else if let sink = reporter as? any IssueSink {
                    sink.receive(pending.report(message, metadata))
                } else if let error {
                    reporter.reportIssue(
                        error, pending.text(message), fileID: site.fileID, filePath: site.filePath, line: site.line,
                        column: site.column)
                } else {
                    reporter.reportIssue(
                        pending.text(message), severity: level.severity, fileID: site.fileID, filePath: site.filePath,
                        line: site.line, column: site.column)
                }
            }
        }
    }
}

/// A report in the making: each closure of the caller is evaluated at most once.
private struct PendingReport {
    let error: (any Error)?
    let level: IssueLevel
    let site: IssueSite
    private var text: String??
    private var whole: IssueReport?

    init(error: (any Error)?, level: IssueLevel, site: IssueSite) {
        self.error = error
        self.level = level
        self.site = site
    }

    mutating func text(_ message: () -> String?) -> String? {
        if let text { return text }
        let evaluated = message()
        text = .some(evaluated)
        return evaluated
    }

    mutating func report(_ message: () -> String?, _ metadata: () -> IssueMetadata) -> IssueReport {
        if let whole { return whole }
        let report = IssueReport(error: error, note: text(message), level: level, metadata: metadata(), site: site)
        whole = report
        return report
    }
}
