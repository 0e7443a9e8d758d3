package import IssueWire

/// The parameters of `List`.
package struct ListParameters: Equatable, Sendable {
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
}

extension ListParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "filter": try scanner.read(&filter, key)
            case "order": try scanner.read(&order, key)
            case "limit": try scanner.readCount(&limit, key)
            case "after": try scanner.read(&after, key)
            case "sparkline": try scanner.readCount(&sparkline, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("filter", ifPresent: filter)
        writer.member("order", ifPresent: order)
        writer.member("limit", ifPresent: limit)
        writer.member("after", ifPresent: after)
        writer.member("sparkline", ifPresent: sparkline)
        writer.closeObject()
    }
}

/// The reply of `List`: a page of groups.
package struct ListReply: Equatable, Sendable {
    package var groups: [IssueGroup]
    /// The cursor of the next page; nil if this is the last one.
    package var next: String?

    package init(groups: [IssueGroup], next: String? = nil) {
        self.groups = groups
        self.next = next
    }
}

extension ListReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var groups: [IssueGroup] = []
        var next: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "groups": try scanner.read(&groups, key)
            case "next": try scanner.read(&next, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            groups: groups,
            next: next
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("groups", groups)
        writer.member("next", ifPresent: next)
        writer.closeObject()
    }
}

/// The parameters of `Records`.
package struct RecordsParameters: Equatable, Sendable {
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
}

extension RecordsParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "filter": try scanner.read(&filter, key)
            case "order": try scanner.read(&order, key)
            case "limit": try scanner.readCount(&limit, key)
            case "after": try scanner.read(&after, key)
            case "follow": try scanner.read(&follow, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("filter", ifPresent: filter)
        writer.member("order", ifPresent: order)
        writer.member("limit", ifPresent: limit)
        writer.member("after", ifPresent: after)
        writer.member("follow", ifPresent: follow)
        writer.closeObject()
    }
}

/// The reply of `Records`: a page of single records.
package struct RecordsReply: Equatable, Sendable {
    package var records: [StoredRecord]
    /// The cursor of the next page; nil if this is the last one.
    package var next: String?

    package init(records: [StoredRecord], next: String? = nil) {
        self.records = records
        self.next = next
    }
}

extension RecordsReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var records: [StoredRecord] = []
        var next: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "records": try scanner.read(&records, key)
            case "next": try scanner.read(&next, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            records: records,
            next: next
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("records", records)
        writer.member("next", ifPresent: next)
        writer.closeObject()
    }
}

/// The parameters of `Show`.
package struct ShowParameters: Equatable, Sendable {
    /// The id of a record or of a group.
    package var id: String

    package init(id: String) {
        self.id = id
    }
}

extension ShowParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var id: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "id": try scanner.read(&id, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            id: try id.required("id")
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("id", id)
        writer.closeObject()
    }
}

/// The reply of `Show`: a record, its group, and its fate at each destination.
package struct ShowReply: Equatable, Sendable {
    /// The record; nil if all records of the group have been removed.
    package var record: StoredRecord?
    package var group: IssueGroup
    package var fates: [DestinationFate]

    package init(record: StoredRecord? = nil, group: IssueGroup, fates: [DestinationFate]) {
        self.record = record
        self.group = group
        self.fates = fates
    }
}

extension ShowReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var record: StoredRecord?
        var group: IssueGroup?
        var fates: [DestinationFate] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "record": try scanner.read(&record, key)
            case "group": try scanner.read(&group, key)
            case "fates": try scanner.read(&fates, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            record: record,
            group: try group.required("group"),
            fates: fates
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("record", ifPresent: record)
        writer.member("group", group)
        writer.member("fates", fates)
        writer.closeObject()
    }
}

/// The parameters of `Histogram`.
package struct HistogramParameters: Equatable, Sendable {
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
}

extension HistogramParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var filter: IssueFilter?
        var bucket: Duration?
        var by: HistogramDimension?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "filter": try scanner.read(&filter, key)
            case "bucket": try scanner.read(&bucket, key)
            case "by": try scanner.read(&by, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(filter: filter, bucket: try bucket.required("bucket"), by: by)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("filter", ifPresent: filter)
        writer.member("bucket", bucket)
        writer.member("by", ifPresent: by)
        writer.closeObject()
    }
}

/// The reply of `Histogram`: the start of the first bucket, and the counts.
package struct HistogramReply: Equatable, Sendable {
    /// The start of the first bucket.
    package var start: Timestamp
    package var series: [HistogramSeries]

    package init(start: Timestamp, series: [HistogramSeries]) {
        self.start = start
        self.series = series
    }
}

extension HistogramReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var start: Timestamp?
        var series: [HistogramSeries] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "start": try scanner.read(&start, key)
            case "series": try scanner.read(&series, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(start: try start.required("start"), series: series)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("start", start)
        writer.member("series", series)
        writer.closeObject()
    }
}
