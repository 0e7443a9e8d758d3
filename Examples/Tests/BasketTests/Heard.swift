import Issues
import Synchronization

/// Keeps what is reported, for a test to look at.
final class Heard: IssueSink {
    private let kept = Mutex<[IssueReport]>([])

    var reports: [IssueReport] { kept.withLock { $0 } }

    func receive(_ report: IssueReport) {
        kept.withLock { $0.append(report) }
    }
}
