package import IssueProtocol
public import Issues

extension IssueBrowser {
    /// All records with the same fingerprint from one user's application, usually called "the issue".
    public struct Group: Sendable {
        package var wire: IssueGroup

        package init(_ wire: IssueGroup) {
            self.wire = wire
        }

        /// The id of the group.
        public var id: String { wire.id }
        /// A one-line description of what went wrong.
        public var title: String { wire.title }
        /// The highest level of its records.
        public var level: IssueLevel { wire.severity }
        /// The state that a user has set.
        public var state: State { State(wire.state) }
        /// The time at which muting ends. Nil if it does not end at a time.
        public var mutedUntil: IssueTimestamp? { wire.mutedUntil }
        /// Whether the issue was resolved and has occurred again.
        public var hasRegressed: Bool { wire.regressed }
        /// The name of the application. Nil if it sent none.
        public var app: String? { wire.app }
        /// The id of the user that reported the issue.
        public var user: UInt32 { wire.uid }
        /// The text that identifies the records of the group.
        public var fingerprint: String { wire.fingerprint }
        /// The domain of the error. Nil if it has none.
        public var domain: String? { wire.domain }
        /// The code of the error. Nil if it has none.
        public var code: Int? { wire.code.map { Int(clamping: $0) } }
        /// The file ID of the source file. Nil if unknown.
        public var fileID: String? { wire.source?.fileID }
        /// The line in the source file. Nil if unknown.
        public var line: Int? { wire.source?.line.map { Int(clamping: $0) } }
        /// The column in the line. Nil if unknown.
        public var column: Int? { wire.source?.column.map { Int(clamping: $0) } }
        /// The function. Nil if unknown.
        public var function: String? { wire.source?.function }
        /// The module. Nil if the sender does not send it separately from the file ID.
        public var module: String? { wire.source?.module }
        /// The number of stored records.
        public var records: Int { Int(clamping: wire.records) }
        /// The number of occurrences, including those that were only counted.
        public var occurrences: Int { Int(clamping: wire.occurrences) }
        /// The time of the first occurrence.
        public var firstSeen: IssueTimestamp { wire.firstSeen }
        /// The time of the last occurrence.
        public var lastSeen: IssueTimestamp { wire.lastSeen }
        /// The version of the application at the first occurrence. Nil if unknown.
        public var firstVersion: String? { wire.firstVersion }
        /// The version of the application at the last occurrence. Nil if unknown.
        public var lastVersion: String? { wire.lastVersion }
        /// The id of the newest record. Nil if none is stored.
        public var newestRecord: String? { wire.newest }
        /// The counts per bucket. Empty unless the query asked for them.
        public var sparkline: [Int] { wire.sparkline?.map { Int(clamping: $0) } ?? [] }
    }
}

extension IssueBrowser.Group: CustomStringConvertible {
    /// A summary in one line.
    public var description: String {
        let mark: String
        switch state {
        case .open: mark = hasRegressed ? "[regressed] " : ""
        case .resolved: mark = "[resolved] "
        case .muted: mark = "[muted] "
        }
        let suffix = app.map { " in \($0)" } ?? ""
        let times = occurrences == 1 ? "once" : "\(occurrences) times"
        return TerminalSanitizer.line("\(id) \(level.rawValue)\(suffix): \(mark)\(title) (\(times), last \(lastSeen))")
    }
}

extension IssueBrowser {
    /// The state of a group.
    public enum State: Sendable {
        /// Neither resolved nor muted.
        case open
        /// Fixed. The next record is a regression.
        case resolved
        /// Stored and counted, but not forwarded or announced.
        case muted

        init(_ wire: GroupState) {
            switch wire {
            case .open: self = .open
            case .resolved: self = .resolved
            case .muted: self = .muted
            }
        }

        var wire: GroupState {
            switch self {
            case .open: .open
            case .resolved: .resolved
            case .muted: .muted
            }
        }
    }
}

/// Users can change the state of their own issues, and operators that of all issues.
extension IssueBrowser {
    /// Marks an issue as resolved. The next record reopens it, and operators are notified.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - isUntilNewerVersion: Whether only a record from a version of the application newer than all
    ///     versions so far reopens it.
    /// - Returns: The group after the change.
    /// - Throws: `DeliveryError` with the code `.notFound` if no such group exists or the caller may not see it,
    ///   `.denied` if the caller may not change it, or another code if the daemon cannot be reached.
    @discardableResult
    public func resolve(_ group: String, untilNewerVersion isUntilNewerVersion: Bool = false) async throws -> Group {
        try await setState(
            SetStateParameters(
                group: group, state: .resolved, untilNewerVersion: isUntilNewerVersion ? true : nil))
    }

    /// Mutes an issue: its records are stored and counted, but not forwarded or announced.
    ///
    /// Records that arrive while the issue is muted are never forwarded, even after it is reopened.
    ///
    /// - Parameters:
    ///   - group: The id of the group.
    ///   - end: The time at which muting ends. Nil mutes it until it is reopened.
    ///   - isUntilNewerVersion: Whether muting ends with a record from a version of the application
    ///     newer than all versions so far.
    /// - Returns: The group after the change.
    /// - Throws: `DeliveryError` with the code `.notFound` if no such group exists or the caller may not see it,
    ///   `.denied` if the caller may not change it, or another code if the daemon cannot be reached.
    @discardableResult
    public func mute(
        _ group: String, until end: IssueTimestamp? = nil, untilNewerVersion isUntilNewerVersion: Bool = false
    ) async throws -> Group {
        try await setState(
            SetStateParameters(
                group: group, state: .muted, until: end, untilNewerVersion: isUntilNewerVersion ? true : nil))
    }

    /// Reopens a resolved or muted issue.
    ///
    /// - Parameter group: The id of the group.
    /// - Returns: The group after the change.
    /// - Throws: `DeliveryError` with the code `.notFound` if no such group exists or the caller may not see it,
    ///   `.denied` if the caller may not change it, or another code if the daemon cannot be reached.
    @discardableResult
    public func reopen(_ group: String) async throws -> Group {
        try await setState(SetStateParameters(group: group, state: .open))
    }

    private func setState(_ parameters: SetStateParameters) async throws -> Group {
        let reply: SetStateReply = try await ask(.setState, parameters.json)
        return Group(reply.group)
    }
}

extension IssueBrowser {
    /// The property that the series of a histogram are split by.
    public enum Dimension: Sendable {
        /// One series for all records.
        case total
        /// A series for each level, the most severe first.
        case level
        /// A series for each application, the one with the most records first.
        case app
        /// A series for each group, the one with the most records first.
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

    /// Counts of received records over time.
    public struct Histogram: Sendable {
        /// The start of the first bucket.
        public var start: IssueTimestamp
        /// The length of a bucket.
        public var bucket: Duration
        /// The counts.
        public var series: [Series]

        /// Returns the start of a bucket.
        ///
        /// - Parameter index: The index of the bucket, from 0.
        /// - Returns: The time at which the bucket starts.
        public func start(ofBucket index: Int) -> IssueTimestamp {
            start.advanced(by: bucket * index)
        }

        /// The counts for one level, application or group.
        public struct Series: Sendable {
            /// The name of the level, the name of the application or the id of the group. The last series may be `*`,
            /// with the sum of all that have no series of their own.
            public var key: String
            /// The number of records in each bucket.
            public var counts: [Int]
        }
    }

    /// Counts records over time, including those that are no longer stored.
    ///
    /// - Parameters:
    ///   - filter: Selects the records. Without a `since`, the last 24 hours are counted.
    ///   - bucket: The length of a bucket, in whole minutes. At most 1,000 buckets are allowed, so
    ///     for 24 hours the minimum is two minutes.
    ///   - dimension: The property that the series are split by.
    /// - Returns: The counts.
    /// - Throws: `DeliveryError` with the code `.refused` if the length of the buckets is invalid,
    ///   or with another code if the daemon cannot be reached.
    public func histogram(
        _ filter: Filter = Filter(), bucket: Duration = .seconds(3600), by dimension: Dimension = .total
    ) async throws -> Histogram {
        let parameters = HistogramParameters(filter: filter.wire, bucket: bucket, by: dimension.wire)
        let reply: HistogramReply = try await ask(.histogram, parameters.json) { error in
            guard case .refused(.invalidFilter("bucket", let reason)) = error else { return DeliveryError(error) }
            return DeliveryError(
                .refused,
                "Invalid bucket length \(bucket): use whole minutes, and at most 1,000 buckets "
                    + "between the filter's since and until or in the last 24 hours (\(reason)).")
        }
        return Histogram(
            start: reply.start, bucket: bucket,
            series: reply.series.map { series in
                Histogram.Series(key: series.key, counts: series.counts.map { Int(clamping: $0) })
            })
    }
}
