package import IssueCore

/// Calls of one connection that wait for their commit.
package struct Submission: Sendable {
    package var process: ReportingProcess
    package var batch: RecordBatch
    package var calls: [ReportCall]

    package init(process: ReportingProcess, batch: RecordBatch, calls: [ReportCall]) {
        self.process = process
        self.batch = batch
        self.calls = calls
    }
}
