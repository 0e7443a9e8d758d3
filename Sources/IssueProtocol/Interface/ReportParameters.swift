package import IssueWire

/// What `Report` is called with.
package struct ReportParameters: Equatable, Sendable {
    package var records: [IssueRecord]
    /// Who numbers its records, so that what was sent before is not stored twice.
    package var producer: String?
    /// The number of the first record.
    package var sequence: Int64?

    package init(records: [IssueRecord], producer: String? = nil, sequence: Int64? = nil) {
        self.records = records
        self.producer = producer
        self.sequence = sequence
    }
}

extension ReportParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var records: [IssueRecord] = []
        var producer: String?
        var sequence: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "records": try scanner.read(&records, key)
            case "producer": try scanner.read(&producer, key)
            case "sequence": try scanner.read(&sequence, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            records: records,
            producer: producer,
            sequence: sequence
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("records", records)
        writer.member("producer", ifPresent: producer)
        writer.member("sequence", ifPresent: sequence)
        writer.closeObject()
    }
}
