import Issues
import Synchronization

/// A sink that stores the reports that it receives.
final class CollectingSink: IssueSink {
    private let stored = Mutex<[IssueReport]>([])

    var reports: [IssueReport] { stored.withLock { $0 } }

    func receive(_ report: IssueReport) {
        stored.withLock { $0.append(report) }
    }
}
