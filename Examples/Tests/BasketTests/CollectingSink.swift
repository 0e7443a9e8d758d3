import Issues
import Synchronization

/// Collects reports so that a test can check them.
final class CollectingSink: IssueSink {
    private let kept = Mutex<[IssueReport]>([])

    var reports: [IssueReport] { kept.withLock { $0 } }

    func receive(_ report: IssueReport) {
        kept.withLock { $0.append(report) }
    }
}
