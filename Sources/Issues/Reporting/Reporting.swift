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
        var climbing = ClimbingReport(report: report)
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
        climbing.tellReporters()
        return .unhandled
    }

    /// Hands a report that is whole to the reporters in force.
    static func tellReporters(_ report: IssueReport) {
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
