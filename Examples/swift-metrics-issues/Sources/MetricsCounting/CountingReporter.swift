import CoreMetrics
import Issues

/// Counts issues by level, as `issues_reported_total`.
///
/// Use it together with the other reporters:
///
/// ```swift
/// IssueReporters.current.append(CountingReporter())
/// ```
///
/// The level is the only dimension, since messages and locations would create a time series for each issue.
public struct CountingReporter: IssueSink {
    private let counters: [IssueLevel: Counter]

    public init() {
        counters = Dictionary(
            uniqueKeysWithValues: IssueLevel.allCases.map { level in
                (level, Counter(label: "issues_reported_total", dimensions: [("level", level.rawValue)]))
            })
    }

    public func receive(_ report: IssueReport) {
        counters[report.level]?.increment()
    }
}
