/// What `Await` answers: what became of the record for each destination.
package struct AwaitReply: Equatable, Sendable {
    package var fates: [DestinationFate]

    package init(fates: [DestinationFate]) {
        self.fates = fates
    }
}

extension AwaitReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var fates: [DestinationFate] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "fates": try scanner.read(&fates, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            fates: fates
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("fates", fates)
        writer.closeObject()
    }
}
