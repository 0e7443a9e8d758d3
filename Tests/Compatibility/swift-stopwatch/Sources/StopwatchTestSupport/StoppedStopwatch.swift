import IssueReportingTestSupport
import Stopwatch

extension Stopwatch {
    public static let stopped = Stopwatch { 0 }
}
