package import IssueProtocol

/// Which minutes a histogram counts, and into which buckets.
///
/// Counts are kept by the minute, so buckets are of whole minutes, and those
/// count in which the time begins and ends. Buckets lie as if the first had
/// begun in 1970: hours are full hours, days begin at midnight UTC.
package struct HistogramFrame: Equatable, Sendable {
    /// More are refused.
    package static let maxBuckets = 1000
    /// The time that is counted where none is named.
    package static let defaultSpan: Duration = .seconds(86_400)

    package let minutesPerBucket: Int64
    package let minutes: ClosedRange<Int64>

    /// Throws if the bucket is not a number of whole minutes, or if there would be too many of them.
    package init(
        bucket: Duration, since: Timestamp?, until: Timestamp?, now: Timestamp
    ) throws(QueryLimits.Excess) {
        let (width, rest) = bucket.wholeMilliseconds.quotientAndRemainder(dividingBy: Self.millisecondsPerMinute)
        guard width > 0, rest == 0 else {
            throw QueryLimits.Excess(
                field: "bucket", reason: "it must be a number of whole minutes, and at least 1 min")
        }
        let end = until ?? now
        let start = since ?? end.advanced(by: .zero - Self.defaultSpan)
        let first = max(0, start.milliseconds / Self.millisecondsPerMinute)
        minutesPerBucket = width
        minutes = first...max(first, end.milliseconds / Self.millisecondsPerMinute)
        let count = minutes.upperBound / width - minutes.lowerBound / width + 1
        guard count <= Self.maxBuckets else {
            let fitting = (minutes.upperBound - minutes.lowerBound) / Int64(Self.maxBuckets - 1) + 1
            throw QueryLimits.Excess(
                field: "bucket",
                reason:
                    "\(count) buckets of \(width) min would be needed for this time, and at most \(Self.maxBuckets) "
                    + "are counted; use buckets of at least \(fitting) min")
        }
    }

    private static let millisecondsPerMinute: Int64 = 60_000

    /// The first bucket, counted from 1970 on.
    private var first: Int64 { minutes.lowerBound / minutesPerBucket }

    package var bucketCount: Int { Int(minutes.upperBound / minutesPerBucket - first) + 1 }

    /// When the first bucket begins.
    package var start: Timestamp {
        Timestamp(milliseconds: first * minutesPerBucket * Self.millisecondsPerMinute)
    }

    /// The bucket that a minute belongs to, of those that are counted.
    package func bucket(ofMinute minute: Int64) -> Int {
        Int(minute / minutesPerBucket - first)
    }

    /// The wall times that are counted.
    package var times: ClosedRange<Int64> {
        let last = minutes.upperBound * Self.millisecondsPerMinute + Self.millisecondsPerMinute - 1
        return minutes.lowerBound * Self.millisecondsPerMinute...last
    }
}
