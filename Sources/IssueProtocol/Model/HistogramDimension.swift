internal import IssueWire

/// What a histogram has a series for each of (`Dimension` on the wire).
package enum HistogramDimension: String, CaseIterable, Sendable {
    /// One series for everything.
    case total
    case severity
    case app
    case group
}
