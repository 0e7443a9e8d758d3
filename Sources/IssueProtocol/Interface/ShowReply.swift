package import IssueWire

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
