package import IssueProtocol

/// The range of minutes that a histogram covers, and its division into buckets.
///
/// Counts are stored per minute, so buckets consist of whole minutes, and the minutes in which the time range starts
/// and ends are included. Buckets are aligned to 1970-01-01: hours are full hours, and days begin at midnight UTC.
package struct HistogramFrame: Equatable, Sendable {
    /// The maximum number of buckets in one query.
    package static let maxBuckets = 1000
    /// The time range used if none is given.
    package static let defaultSpan: Duration = .seconds(86_400)

    /// The width of a bucket, in minutes.
    package let minutesPerBucket: Int64
    /// The minutes covered, counted from 1970-01-01 UTC.
    package let minutes: ClosedRange<Int64>
    /// `true` if the time range ends before it starts. Then nothing is counted.
    package let isEmpty: Bool

    /// Creates a frame.
    ///
    /// - Parameters:
    ///   - bucket: The width of a bucket.
    ///   - since: The start of the time range; nil for `defaultSpan` before its end.
    ///   - until: The end of the time range; nil for `now`.
    ///   - now: The current wall time.
    /// - Throws: `QueryLimits.Excess` if the width is not a number of whole minutes or there would be too many buckets.
    package init(
        bucket: Duration, since: IssueTimestamp?, until: IssueTimestamp?, now: IssueTimestamp
    ) throws(QueryLimits.Excess) {
        let (width, rest) = bucket.wholeMilliseconds.quotientAndRemainder(dividingBy: Self.millisecondsPerMinute)
        guard width > 0, rest == 0 else {
            throw QueryLimits.Excess(
                field: "bucket", reason: "it must be a number of whole minutes, and at least 1 min")
        }
        let end = until ?? now
        let start = since ?? end.advanced(by: .zero - Self.defaultSpan)
        let first = max(0, start.millisecondsSince1970 / Self.millisecondsPerMinute)
        minutesPerBucket = width
        isEmpty = end < start
        minutes = first...max(first, end.millisecondsSince1970 / Self.millisecondsPerMinute)
        let count = minutes.upperBound / width - minutes.lowerBound / width + 1
        guard count <= Self.maxBuckets else {
            let fitting = (minutes.upperBound - minutes.lowerBound) / Int64(Self.maxBuckets - 1) + 1
            throw QueryLimits.Excess(
                field: "bucket",
                reason:
                    "\(count) buckets of \(width) min are needed for this time range, and at most \(Self.maxBuckets) "
                    + "are allowed; use buckets of at least \(fitting) min")
        }
    }

    private static let millisecondsPerMinute: Int64 = 60_000

    /// The number of the first bucket, counted from 1970-01-01 UTC.
    private var first: Int64 { minutes.lowerBound / minutesPerBucket }

    package var bucketCount: Int { Int(minutes.upperBound / minutesPerBucket - first) + 1 }

    /// The start of the first bucket.
    package var start: IssueTimestamp {
        IssueTimestamp(millisecondsSince1970: first * minutesPerBucket * Self.millisecondsPerMinute)
    }

    /// Returns the index of the bucket that contains a minute.
    ///
    /// - Parameter minute: The minute, counted from 1970-01-01 UTC. Must be within `minutes`.
    package func bucket(ofMinute minute: Int64) -> Int {
        Int(minute / minutesPerBucket - first)
    }

    /// The wall times covered, in milliseconds since 1970-01-01 UTC.
    package var times: ClosedRange<Int64> {
        let last = minutes.upperBound * Self.millisecondsPerMinute + Self.millisecondsPerMinute - 1
        return minutes.lowerBound * Self.millisecondsPerMinute...last
    }
}
