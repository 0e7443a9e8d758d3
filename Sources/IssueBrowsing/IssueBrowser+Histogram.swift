internal import IssueProtocol
public import Issues

extension IssueBrowser {
    /// What a histogram has a series for each of.
    public enum Dimension: Sendable {
        /// One series for everything.
        case total
        /// A series for each level, the worst first.
        case level
        /// A series for each application, those with the most records first.
        case app
        /// A series for each group, those with the most records first.
        case group

        var wire: HistogramDimension {
            switch self {
            case .total: .total
            case .level: .severity
            case .app: .app
            case .group: .group
            }
        }
    }

    /// How many records came in over a time.
    public struct Histogram: Sendable {
        /// When the first bucket begins.
        public var start: IssueTimestamp
        /// How long each bucket is.
        public var bucket: Duration
        /// The counts.
        public var series: [Series]

        /// When a bucket begins, the first being 0.
        public func start(ofBucket index: Int) -> IssueTimestamp {
            IssueTimestamp(start.wire.advanced(by: bucket * index))
        }

        /// The counts for one level, application or group.
        public struct Series: Sendable {
            /// The level's word, the application's name or the group's id; `*` at the end for all that have no series
            /// of their own.
            public var key: String
            /// How many records there are in each bucket.
            public var counts: [Int]
        }
    }

    /// Counts records by time, also those that are not kept any more.
    ///
    /// - Parameters:
    ///   - filter: Which ones; over the last 24 hours unless it says else.
    ///   - bucket: How long a bucket is: whole minutes, and so many that there are at most 1,000 buckets. Over the
    ///     usual 24 hours that is two minutes at least.
    ///   - dimension: What each series is for.
    /// - Returns: The counts.
    /// - Throws: `DeliveryError` of the code `.refused` where no such bucket can be had.
    public func histogram(
        _ filter: Filter = Filter(), bucket: Duration = .seconds(3600), by dimension: Dimension = .total
    ) async throws -> Histogram {
        let parameters = HistogramParameters(filter: filter.wire, bucket: bucket, by: dimension.wire)
        let reply = try await ask { session throws(DeliveryError) in
            try session.histogram(parameters).value
        } failing: { error in
            guard case .refused(.invalidFilter("bucket", let reason)) = error else { return DeliveryError(error) }
            return DeliveryError(
                .refused,
                "Nothing can be counted in buckets of \(bucket): a bucket is of whole minutes, and at most 1,000 of them "
                    + "may lie between the filter's since and until, or in the last 24 hours (\(reason)).")
        }
        return Histogram(
            start: IssueTimestamp(reply.start), bucket: bucket,
            series: reply.series.map { series in
                Histogram.Series(key: series.key, counts: series.counts.map { Int(clamping: $0) })
            })
    }
}
