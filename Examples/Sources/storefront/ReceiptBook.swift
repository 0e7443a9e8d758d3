import Issues
import Synchronization

/// Sends each issue to the daemon and keeps the receipt.
final class ReceiptBook: IssueSink {
    struct Entry: Sendable {
        var report: IssueReport
        var receipt: IssueReceipt
    }

    private let kept = Mutex<[Entry]>([])

    var entries: [Entry] { kept.withLock { $0 } }

    func receive(_ report: IssueReport) {
        let entry = Entry(report: report, receipt: DaemonReporter.daemon.submit(report))
        kept.withLock { $0.append(entry) }
    }
}
