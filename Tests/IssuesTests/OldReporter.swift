internal import Issues
internal import Synchronization

/// A reporter written for swift-issue-reporting 2.0.
final class OldReporter: IssueReporter {
    struct Issue: Equatable {
        var message: String?
        var severity: IssueSeverity
        var line: UInt
    }

    private let stored = Mutex<[Issue]>([])

    var issues: [Issue] { stored.withLock { $0 } }

    func reportIssue(
        _ message: @autoclosure () -> String?, severity: IssueSeverity, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        let issue = Issue(message: message(), severity: severity, line: line)
        stored.withLock { $0.append(issue) }
    }
}
