package import IssueWire

/// The parameters of `List`.
package struct ListParameters: Equatable, JSONObjectCodable, Sendable {
    package var filter: IssueFilter?
    package var order: ResultOrder?
    /// The maximum number of groups in the reply; nil for the daemon's default.
    package var limit: Int?
    /// The `next` of the previous page; nil for the first page.
    package var after: String?
    /// The number of buckets of each group's sparkline; nil for none.
    package var sparkline: Int?

    package init(
        filter: IssueFilter? = nil, order: ResultOrder? = nil, limit: Int? = nil, after: String? = nil,
        sparkline: Int? = nil
    ) {
        self.filter = filter
        self.order = order
        self.limit = limit
        self.after = after
        self.sparkline = sparkline
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("filter", &filter)
        try members.optional("order", &order)
        try members.optional("limit", &limit, check: atLeastOne)
        try members.optional("after", &after)
        try members.optional("sparkline", &sparkline, check: atLeastOne)
    }
}

/// The reply of `List`: a page of groups.
package struct ListReply: Equatable, JSONObjectCodable, Sendable {
    package var groups: [IssueGroup]
    /// The cursor of the next page; nil if this is the last one.
    package var next: String?

    package init(groups: [IssueGroup], next: String? = nil) {
        self.groups = groups
        self.next = next
    }

    package static var initial: Self { Self(groups: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("groups", &groups, [])
        try members.optional("next", &next)
    }
}

/// The parameters of `Records`.
package struct RecordsParameters: Equatable, JSONObjectCodable, Sendable {
    package var filter: IssueFilter?
    package var order: ResultOrder?
    /// The maximum number of records in each reply; nil for the daemon's default.
    package var limit: Int?
    /// The `next` of the previous page; nil for the first page.
    package var after: String?
    /// `true` to also receive records that arrive later.
    package var follow: Bool?

    package init(
        filter: IssueFilter? = nil, order: ResultOrder? = nil, limit: Int? = nil, after: String? = nil,
        follow: Bool? = nil
    ) {
        self.filter = filter
        self.order = order
        self.limit = limit
        self.after = after
        self.follow = follow
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("filter", &filter)
        try members.optional("order", &order)
        try members.optional("limit", &limit, check: atLeastOne)
        try members.optional("after", &after)
        try members.optional("follow", &follow)
    }
}

/// The reply of `Records`: a page of single records.
package struct RecordsReply: Equatable, JSONObjectCodable, Sendable {
    package var records: [StoredRecord]
    /// The cursor of the next page; nil if this is the last one.
    package var next: String?

    package init(records: [StoredRecord], next: String? = nil) {
        self.records = records
        self.next = next
    }

    package static var initial: Self { Self(records: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("records", &records, [])
        try members.optional("next", &next)
    }
}

/// The parameters of `Histogram`.
package struct HistogramParameters: Equatable, JSONObjectCodable, Sendable {
    package var filter: IssueFilter?
    /// The size of a bucket: whole minutes.
    package var bucket: Duration
    /// The property by which the counts are split; nil for a single series.
    package var by: HistogramDimension?

    package init(filter: IssueFilter? = nil, bucket: Duration, by: HistogramDimension? = nil) {
        self.filter = filter
        self.bucket = bucket
        self.by = by
    }

    package static var initial: Self { Self(bucket: .zero) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("filter", &filter)
        try members.required("bucket", &bucket)
        try members.optional("by", &by)
    }
}

/// The reply of `Histogram`: the start of the first bucket, the size of a bucket, and the counts.
package struct HistogramReply: Equatable, JSONObjectCodable, Sendable {
    /// The start of the first bucket.
    package var start: IssueTimestamp
    /// The size of a bucket; nil from a daemon that does not send it yet.
    package var bucket: Duration?
    package var series: [HistogramSeries]
    /// The declared deployments in the time range, earliest first.
    package var deploys: [IssueDeployment]

    package init(
        start: IssueTimestamp, bucket: Duration? = nil, series: [HistogramSeries], deploys: [IssueDeployment] = []
    ) {
        self.start = start
        self.bucket = bucket
        self.series = series
        self.deploys = deploys
    }

    package static var initial: Self { Self(start: .epoch, series: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("start", &start)
        try members.optional("bucket", &bucket)
        try members.defaulted("series", &series, [])
        try members.nonempty("deploys", &deploys)
    }
}

/// Returns the reason why a count is invalid; nil if it is valid.
private func atLeastOne(_ count: Int) -> String? {
    count < 1 ? "must be at least 1" : nil
}
