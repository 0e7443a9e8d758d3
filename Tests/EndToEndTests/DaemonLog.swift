import Foundation
import IssueTestSupport
import Testing
import Torture

extension Trait where Self == IssueHandlingTrait {
    /// Adds the last 8 KiB of the daemon's standard error to each failure.
    static var daemonLog: Self {
        .compactMapIssues { issue in
            guard let path = DaemonFixture.currentLog, let log = FileManager.default.contents(atPath: path)
            else { return issue }
            var issue = issue
            issue.comments.append("Standard error of the daemon:\n\(String(decoding: log.suffix(8192), as: UTF8.self))")
            return issue
        }
    }

    /// Adds the seed of the random numbers to each failure.
    static var runSeed: Self {
        .compactMapIssues { issue in
            var issue = issue
            issue.comments.append("To use the same random numbers, set ISSUED_SEED=\(SeededGenerator.runSeed)")
            return issue
        }
    }
}
