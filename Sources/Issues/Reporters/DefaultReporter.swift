/// Fails the test in tests; elsewhere says issues on standard error, and to the daemon if there is one.
public struct _DefaultReporter: IssueSink {
    init() {}

    /// Fails the test in tests; elsewhere says the issue on standard error, and to the daemon if there is one.
    public func receive(_ report: IssueReport) {
        var reached = ReachedDeliveries()
        receive(report, reached: &reached)
    }

    func receive(_ report: IssueReport, reached: inout ReachedDeliveries) {
        guard !isTesting else {
            // A test pages nobody, unless it asks for the daemon by name.
            if !TestFailure.record(report) { StandardErrorLine.write(report) }
            return
        }
        if report.level >= ProcessSettings.shared.level { StandardErrorLine.write(report) }
        guard Delivery.current.isExpectedToWork else { return }
        DaemonReporter().receive(report, reached: &reached)
    }

    /// Says the issue on standard error.
    public func expectIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt
    ) {
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
        StandardErrorLine.write(expected: message(), at: site)
    }
}

extension IssueReporter where Self == _DefaultReporter {
    /// A line on standard error, and the daemon where its socket exists; in tests a failure of the test.
    ///
    /// In tests nothing is sent. What no test library can be told is written to
    /// standard error: a warning under XCTest, which knows none, too.
    public static var `default`: Self { Self() }

    /// What version 1 of swift-issue-reporting called the default.
    @available(*, deprecated, renamed: "default")
    public static var runtimeWarning: Self { Self() }
}
