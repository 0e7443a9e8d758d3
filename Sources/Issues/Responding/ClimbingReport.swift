/// A report on its way past the responders.
struct ClimbingReport: Sendable {
    var report: IssueReport

    /// What the responders are asked about: the error, or the message as one.
    var error: any Error { report.error ?? IssueMessage(report.message) }

    /// Hands it to the reporters now, without waiting for who lies further outside.
    func tellReporters() {
        Reporting.tellReporters(report)
    }
}
