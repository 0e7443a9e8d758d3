package import IssueWire

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
