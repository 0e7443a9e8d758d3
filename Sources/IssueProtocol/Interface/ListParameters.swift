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
