package import IssueWire

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
