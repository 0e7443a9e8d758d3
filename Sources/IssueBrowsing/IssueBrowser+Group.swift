package import IssueProtocol
public import Issues

extension IssueBrowser {
    /// All records with the same fingerprint of one user's application: what people call "the issue".
    public struct Group: Sendable {
        package var wire: IssueGroup

        package init(_ wire: IssueGroup) {
            self.wire = wire
        }

        /// The daemon's id of it.
        public var id: String { wire.id }
        /// What went wrong, in one line.
        public var title: String { wire.title }
        /// The worst level that it was reported with.
        public var level: IssueLevel { IssueLevel(wire.severity) }
        /// What people have said of it.
        public var state: State { State(wire.state) }
        /// When it is not muted any more, where that ends by itself.
        public var mutedUntil: IssueTimestamp? { wire.mutedUntil.map { IssueTimestamp($0) } }
        /// Whether it was resolved and has come back.
        public var hasRegressed: Bool { wire.regressed }
        /// The application, as it calls itself.
        public var app: String? { wire.app }
        /// The user who reported, by number.
        public var user: UInt32 { wire.uid }
        /// What made its records one issue.
        public var fingerprint: String { wire.fingerprint }
        /// The error's domain.
        public var domain: String? { wire.domain }
        /// The error's code.
        public var code: Int? { wire.code.map { Int(clamping: $0) } }
        /// The source file, with its module.
        public var fileID: String? { wire.source?.fileID }
        /// The line in it.
        public var line: Int? { wire.source?.line.map { Int(clamping: $0) } }
        /// The column in the line.
        public var column: Int? { wire.source?.column.map { Int(clamping: $0) } }
        /// The function.
        public var function: String? { wire.source?.function }
        /// The module, where the sender names it besides the file.
        public var module: String? { wire.source?.module }
        /// How many records are stored of it.
        public var records: Int { Int(clamping: wire.records) }
        /// How many times it happened, those included that were only counted.
        public var occurrences: Int { Int(clamping: wire.occurrences) }
        /// When it was seen first.
        public var firstSeen: IssueTimestamp { IssueTimestamp(wire.firstSeen) }
        /// When it was seen last.
        public var lastSeen: IssueTimestamp { IssueTimestamp(wire.lastSeen) }
        /// The version of the application that it was seen in first.
        public var firstVersion: String? { wire.firstVersion }
        /// The version of the application that it was seen in last.
        public var lastVersion: String? { wire.lastVersion }
        /// The id of its newest record.
        public var newestRecord: String? { wire.newest }
        /// Its counts, where they were asked for.
        public var sparkline: [Int] { wire.sparkline?.map { Int(clamping: $0) } ?? [] }
    }
}

extension IssueBrowser.Group: CustomStringConvertible {
    /// What a person looks for first, in one line.
    public var description: String {
        let mark: String
        switch state {
        case .open: mark = hasRegressed ? "[regressed] " : ""
        case .resolved: mark = "[resolved] "
        case .muted: mark = "[muted] "
        }
        let place = app.map { " in \($0)" } ?? ""
        let times = occurrences == 1 ? "once" : "\(occurrences) times"
        return TerminalSanitizer.line("\(id) \(level.rawValue)\(place): \(mark)\(title) (\(times), last \(lastSeen))")
    }
}

extension IssueBrowser {
    /// What people have said of a group.
    public enum State: Sendable {
        /// Nothing, or not any more.
        case open
        /// It is mended; the next record of it is a regression.
        case resolved
        /// It is stored and counted, and nobody is told.
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

/// Who reported an issue may say something of it, and operators of every one.
extension IssueBrowser {
    /// Says that an issue is mended: the next record of it opens it again, which operators hear of.
    ///
    /// - Parameters:
    ///   - group: The group's id.
    ///   - isUntilNewerVersion: Whether only a record of a version of the application opens it that is newer than all
    ///     so far.
    /// - Returns: The group as it is then.
    @discardableResult
    public func resolve(_ group: String, untilNewerVersion isUntilNewerVersion: Bool = false) async throws -> Group {
        try await say(
            SetStateParameters(
                group: group, state: .resolved, untilNewerVersion: isUntilNewerVersion ? true : nil))
    }

    /// Has an issue stored and counted, and nobody told.
    ///
    /// What comes in meanwhile is withheld from all destinations, also when it is reopened.
    ///
    /// - Parameters:
    ///   - group: The group's id.
    ///   - end: Until when; until it is reopened if nil.
    ///   - isUntilNewerVersion: Whether a record of a version of the application ends it that is newer than all so far.
    /// - Returns: The group as it is then.
    @discardableResult
    public func mute(
        _ group: String, until end: IssueTimestamp? = nil, untilNewerVersion isUntilNewerVersion: Bool = false
    ) async throws -> Group {
        try await say(
            SetStateParameters(
                group: group, state: .muted, until: end?.wire, untilNewerVersion: isUntilNewerVersion ? true : nil))
    }

    /// Takes back that an issue is resolved or muted.
    ///
    /// - Parameter group: The group's id.
    /// - Returns: The group as it is then.
    @discardableResult
    public func reopen(_ group: String) async throws -> Group {
        try await say(SetStateParameters(group: group, state: .open))
    }

    private func say(_ parameters: SetStateParameters) async throws -> Group {
        Group(try await ask { session throws(DeliveryError) in try session.setState(parameters).value.group })
    }
}

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
