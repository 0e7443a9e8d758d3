/// An issue on its way to the daemon.
struct Submission: Sendable {
    var report: IssueReport
    var application: ApplicationSnapshot
    var receipt: ReceiptState?
}

extension Submission {
    init(_ report: IssueReport, receipt: ReceiptState?) {
        self.report = report
        // Its words are in the report; the error itself may hold on to half of the application.
        if report.error != nil { self.report.error = nil }
        application = IssueReporters.applicationSnapshot
        self.receipt = receipt
    }
}
