package import IssueWire

/// What `Requeue` is called with.
package struct RequeueParameters: Equatable, Sendable {
    /// The dead letters of one destination, or of all.
    package var destination: String?
    /// Those of some records, or of all.
    package var records: [String]?

    package init(destination: String? = nil, records: [String]? = nil) {
        self.destination = destination
        self.records = records
    }
}

extension RequeueParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destination": try scanner.read(&destination, key)
            case "records": try scanner.read(&records, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destination", ifPresent: destination)
        writer.member("records", ifPresent: records)
        writer.closeObject()
    }
}
