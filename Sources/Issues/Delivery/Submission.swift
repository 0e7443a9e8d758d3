/// An issue on its way to the daemon.
struct Submission: Sendable {
    var report: IssueReport
    var application: ApplicationSnapshot
    var receipt: ReceiptState?
    /// How many more there were that said the same, and when the last of them came.
    var repeats = 0
    var lastRepeat: IssueTimestamp?
}

extension Submission {
    init(_ report: IssueReport, receipt: ReceiptState?) {
        self.report = report
        // Its words are in the report; the error itself may hold on to half of the application.
        if report.error != nil { self.report.error = nil }
        application = IssueReporters.applicationSnapshot
        self.receipt = receipt
    }

    /// Counts another one as a repeat of this one, if it says the same and nobody waits for either.
    mutating func absorb(_ other: Submission) -> Bool {
        guard receipt == nil, other.receipt == nil, application === other.application,
            report.saysTheSame(as: other.report)
        else { return false }
        repeats += 1
        lastRepeat = other.report.timestamp
        return true
    }
}
