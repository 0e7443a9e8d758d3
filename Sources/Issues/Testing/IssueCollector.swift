internal import Synchronization

/// Keeps what is reported, for a test to look at.
final class IssueCollector: IssueSink {
    private let kept = Mutex<[ReportedIssue]>([])

    func receive(_ report: IssueReport) {
        kept.withLock { $0.append(ReportedIssue(report)) }
    }

    /// Reports what is wrong with the issues that came: none at all, or one that does not match.
    func judge(
        _ message: () -> String?, at site: IssueSite, matching issueMatcher: (ReportedIssue) -> Bool
    ) {
        let issues = kept.withLock { $0 }
        func complain(_ text: String) {
            Reporting.report(nil, { text }, level: .error, metadata: { [:] }, at: site)
        }
        // The texts are those of swift-issue-reporting, which tests compare with.
        guard !issues.isEmpty else {
            let words = message() ?? ""
            return complain("Expected issue to be reported\(words.isEmpty ? "" : ": \(words)")")
        }
        for issue in issues where !issueMatcher(issue) { complain("Issue does not match: \(issue.description)") }
    }
}
