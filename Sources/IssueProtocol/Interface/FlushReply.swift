package import IssueWire

/// What `Flush` answers: how the destinations stand now.
package struct FlushReply: Equatable, Sendable {
    package var destinations: [DestinationStatus]

    package init(destinations: [DestinationStatus]) {
        self.destinations = destinations
    }
}

extension FlushReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var destinations: [DestinationStatus] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destinations": try scanner.read(&destinations, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            destinations: destinations
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destinations", destinations)
        writer.closeObject()
    }
}
