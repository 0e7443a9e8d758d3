package import IssueWire

/// What `List` is called with.
package struct ListParameters: Equatable, Sendable {
    package var filter: IssueFilter?
    package var order: ResultOrder?
    package var limit: Int?
    /// Where the page before ended, as its reply said.
    package var after: String?
    /// Into how many buckets each group is counted.
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

/// What `List` answers: a page of groups.
package struct ListReply: Equatable, Sendable {
    package var groups: [IssueGroup]
    /// Where the next page begins, when there is one.
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

/// What `Records` is called with.
package struct RecordsParameters: Equatable, Sendable {
    package var filter: IssueFilter?
    package var order: ResultOrder?
    package var limit: Int?
    /// Where the page before ended, as its reply said.
    package var after: String?
    /// Whether records that come later are wanted too.
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

/// What `Records` answers: a page of single records.
package struct RecordsReply: Equatable, Sendable {
    package var records: [StoredRecord]
    /// Where the next page begins, when there is one.
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

/// What `Show` is called with.
package struct ShowParameters: Equatable, Sendable {
    /// A record's id, or a group's.
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

/// What `Show` answers: a record, its group, and what became of it.
package struct ShowReply: Equatable, Sendable {
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

/// What `Histogram` is called with.
package struct HistogramParameters: Equatable, Sendable {
    package var filter: IssueFilter?
    package var bucket: Duration
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

/// What `Histogram` answers: when the first bucket begins, and the counts.
package struct HistogramReply: Equatable, Sendable {
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
