package import IssueCore

/// Calls of one connection that wait for their commit.
package struct Submission: Sendable {
    package var process: ReportingProcess
    package var batch: RecordBatch
    /// In the order in which they came; those alike that followed each other are one.
    package var calls: [ReportCall]

    package init(process: ReportingProcess, batch: RecordBatch, calls: [ReportCall]) {
        self.process = process
        self.batch = batch
        self.calls = calls
    }

    /// Its calls one by one, for whoever answers each of them.
    package var eachCall: [ReportCall] { calls.flatMap(\.each) }
}
