/// What `Report` answers: one receipt for each record, in their order.
package struct ReportReply: Equatable, Sendable {
    package var receipts: [RecordReceipt]

    package init(receipts: [RecordReceipt]) {
        self.receipts = receipts
    }
}

extension ReportReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var receipts: [RecordReceipt] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "receipts": try scanner.read(&receipts, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            receipts: receipts
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("receipts", receipts)
        writer.closeObject()
    }
}
