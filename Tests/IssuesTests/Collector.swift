internal import Issues
internal import Synchronization

/// A sink that stores the reports that it receives.
final class Collector: IssueSink {
    private let stored = Mutex<[IssueReport]>([])

    var reports: [IssueReport] { stored.withLock { $0 } }
    var messages: [String] { reports.map(\.message) }

    func receive(_ report: IssueReport) {
        stored.withLock { $0.append(report) }
    }
}
