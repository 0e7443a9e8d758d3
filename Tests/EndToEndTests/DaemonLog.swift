import Foundation
import IssueTestSupport
import Testing

extension Trait where Self == IssueHandlingTrait {
    /// Adds the daemon's standard error to each failure.
    static var daemonLog: Self {
        .compactMapIssues { issue in
            guard let path = DaemonFixture.currentLog, let log = FileManager.default.contents(atPath: path)
            else { return issue }
            var issue = issue
            issue.comments.append("Standard error of the daemon:\n\(String(decoding: log.suffix(8192), as: UTF8.self))")
            return issue
        }
    }
}
