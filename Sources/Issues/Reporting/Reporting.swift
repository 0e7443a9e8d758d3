/// The way from a reporting call to the reporters.
enum Reporting {
    /// Reports an error, or an issue in words where there is none.
    static func report(
        _ error: (any Error)?, _ message: () -> String?, level: IssueLevel, metadata: () -> IssueMetadata,
        at site: IssueSite
    ) {
        let scope = ReportingScope.current
        let reporters = scope.reporters.reporters
        guard !reporters.isEmpty else { return }
        let site = scope.site ?? site
        if let known = scope.knownIssues {
            known.count()
            return expect(error, message, at: site, by: reporters)
        }
        var pending = PendingReport(error: error, level: level, site: site)
        guard !scope.isReporting else {
            return StandardErrorLine.write(pending.report(message, metadata))
        }
        whileReporting {
            var reached = ReachedDeliveries()
            for reporter in reporters {
                tell(reporter, &pending, message, metadata, &reached)
            }
        }
    }

    private static func tell(
        _ reporter: any IssueReporter, _ pending: inout PendingReport, _ message: () -> String?,
        _ metadata: () -> IssueMetadata, _ reached: inout ReachedDeliveries
    ) {
        let site = pending.site
        // Our own first: to ask for a type is cheaper than to ask for a protocol.
        if let reporter = reporter as? DaemonReporter {
            reporter.receive(pending.report(message, metadata), reached: &reached)
        } else if let reporter = reporter as? _DefaultReporter {
            reporter.receive(pending.report(message, metadata), reached: &reached)
        } else if let sink = reporter as? any IssueSink {
            sink.receive(pending.report(message, metadata))
        } else if let error = pending.error {
            reporter.reportIssue(
                error, pending.text(message), fileID: site.fileID, filePath: site.filePath, line: site.line,
                column: site.column)
        } else {
            reporter.reportIssue(
                pending.text(message), severity: pending.level.severity, fileID: site.fileID,
                filePath: site.filePath, line: site.line, column: site.column)
        }
    }

    /// Tells reporters of an issue that was expected.
    static func expect(
        _ error: (any Error)?, _ message: () -> String?, at site: IssueSite, by reporters: [any IssueReporter]
    ) {
        var pending = PendingReport(error: error, level: .error, site: site)
        whileReporting {
            for reporter in reporters {
                if let error {
                    reporter.expectIssue(
                        error, pending.text(message), fileID: site.fileID, filePath: site.filePath, line: site.line,
                        column: site.column)
                } else {
                    reporter.expectIssue(
                        pending.text(message), fileID: site.fileID, filePath: site.filePath, line: site.line,
                        column: site.column)
                }
            }
        }
    }

    private static func whileReporting(_ body: () -> Void) {
        ReportingScope.$box.withValue(ReportingScope.changed { $0.isReporting = true }, operation: body)
    }
}
