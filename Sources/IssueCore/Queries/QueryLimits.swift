package import IssueProtocol

/// The limits of a query, checked before it reaches the database.
///
/// Any filter within these limits takes time linear in the number of series and of records.
package enum QueryLimits {
    /// The maximum number of words and quoted phrases in `text`.
    package static let maxWords = 16
    /// The maximum number of words in `text` when it is also split at punctuation. `a.b/c` counts as three.
    package static let maxTokens = 64
    /// The maximum size of `text`, in bytes of UTF-8.
    package static let maxTextBytes = 1024
    /// The maximum number of entries in each list of a filter and in a list of record ids.
    package static let maxListEntries = 256
    /// The maximum number of buckets in the sparkline of one group.
    package static let maxSparklineBuckets = 1000
    /// The maximum number of buckets in all sparklines of one reply together.
    package static let maxSparklineNumbers = 100_000

    /// The error for a part of a query that exceeds its limit, or is invalid.
    package struct Excess: Error, Equatable, Sendable {
        /// The name of the filter's member or of the parameter.
        package var field: String
        /// A text for users that states the limit, or what is invalid.
        package var reason: String
    }

    /// Checks a filter.
    ///
    /// - Throws: `Excess` if a part of it exceeds its limit, or is invalid.
    package static func check(_ filter: IssueFilter) throws(Excess) {
        for member in filter.jsonMembers { try check(member.key, count: member.value.asArray?.count) }
        if let other = filter.metadata?.first(where: { MetadataCondition.split($0) == nil }) {
            throw Excess(field: "metadata", reason: "\"\(other)\" is not of the form KEY=VALUE")
        }
        for (name, field, values) in filter.contextConditions {
            guard field.isHexadecimal, let other = values.first(where: { field.normalized($0) == nil }) else {
                continue
            }
            throw Excess(
                field: name, reason: "\"\(other)\" is not a trace id (32 hexadecimal digits, not all 0)")
        }
        // Without fates, the destination would have no effect, and a purge would erase more than its user expects.
        guard filter.destination == nil || filter.outcomes != nil else {
            throw Excess(field: "destination", reason: "it has no effect without fates; add fates, or leave it out")
        }
        guard let text = filter.text else { return }
        let bytes = text.utf8.count
        guard bytes <= maxTextBytes else {
            throw Excess(field: "text", reason: "at most \(maxTextBytes) bytes are allowed, not \(bytes)")
        }
        let words = TextMatcher.parts(of: text).count
        guard words > 0 else { throw Excess(field: "text", reason: "it contains no word") }
        guard words <= maxWords else {
            throw Excess(field: "text", reason: "at most \(maxWords) words or quoted phrases are allowed, not \(words)")
        }
        // A token is a run of letters, digits and non-ASCII bytes.
        let tokens = text.utf8.split { !ByteClass.isLetter($0) && !ByteClass.isDigit($0) && $0 < 0x80 }.count
        guard tokens <= maxTokens else {
            throw Excess(
                field: "text",
                reason:
                    "at most \(maxTokens) words are allowed, not \(tokens); punctuation separates words, too")
        }
    }

    /// Checks the length of a list.
    ///
    /// - Parameters:
    ///   - field: The name of the list.
    ///   - count: The number of its entries; nil if the list is absent.
    /// - Throws: `Excess` if it has too many entries.
    package static func check(_ field: String, count: Int?) throws(Excess) {
        guard let count, count > maxListEntries else { return }
        throw Excess(field: field, reason: "at most \(maxListEntries) entries are allowed, not \(count)")
    }

    /// Checks the sparklines of a list of groups.
    ///
    /// - Parameters:
    ///   - buckets: The number of buckets of each sparkline.
    ///   - groups: The maximum number of groups in the reply.
    /// - Throws: `Excess` if the sparklines have too many buckets.
    package static func check(sparkline buckets: Int, groups: Int) throws(Excess) {
        guard buckets <= maxSparklineBuckets else {
            throw Excess(
                field: "sparkline", reason: "at most \(maxSparklineBuckets) buckets are allowed, not \(buckets)")
        }
        guard buckets * groups <= maxSparklineNumbers else {
            throw Excess(
                field: "sparkline",
                reason: "at most \(maxSparklineNumbers / groups) buckets are allowed for each of \(groups) groups")
        }
    }
}

/// The range of minutes that a histogram covers, and its division into buckets.
///
/// Counts are stored per minute (old ones per hour). Buckets therefore consist of whole minutes, and the minutes in
/// which the time range starts and ends are included. Buckets are aligned to 1970-01-01 UTC: hourly buckets begin on
/// the hour, daily ones at midnight UTC.
package struct HistogramFrame: Equatable, Sendable {
    /// The maximum number of buckets in one query.
    package static let maxBuckets = 1000
    /// The length of the time range if its start is not given.
    package static let defaultSpan: Duration = .seconds(86_400)

    /// The width of a bucket, in minutes.
    package let minutesPerBucket: Int64
    /// The minutes covered, counted from 1970-01-01 UTC.
    package let minutes: ClosedRange<Int64>
    /// Whether the time range ends before it starts. If so, nothing is counted.
    package let isEmpty: Bool

    /// Computes the frame for a time range.
    ///
    /// - Parameters:
    ///   - bucket: The width of a bucket.
    ///   - since: The start of the time range; nil for `defaultSpan` before its end.
    ///   - until: The end of the time range; nil for `now`.
    ///   - now: The current wall time.
    /// - Throws: `QueryLimits.Excess` if the width is not a positive number of whole minutes, or if there would be too
    ///   many buckets.
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

    /// The index of the first bucket, counted from 1970-01-01 UTC.
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

    /// The range of wall times covered, in milliseconds since 1970-01-01 UTC.
    package var times: ClosedRange<Int64> {
        let last = minutes.upperBound * Self.millisecondsPerMinute + Self.millisecondsPerMinute - 1
        return minutes.lowerBound * Self.millisecondsPerMinute...last
    }
}
