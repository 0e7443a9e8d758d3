package import IssueWire

extension DaemonStatus: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var version: String?
        var host: String?
        var startedAt: Timestamp?
        var received: Int64?
        var rejected: Int64?
        var duplicates: Int64?
        var refused: Int64?
        var connections: Int64?
        var store: StoreStatus?
        var destinations: [DestinationStatus] = []
        var suppressions: [Suppression] = []
        var otherSuppressions: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "version": try scanner.read(&version, key)
            case "host": try scanner.read(&host, key)
            case "started_at": try scanner.read(&startedAt, key)
            case "received": try scanner.read(&received, key)
            case "rejected": try scanner.read(&rejected, key)
            case "duplicates": try scanner.read(&duplicates, key)
            case "refused": try scanner.read(&refused, key)
            case "connections": try scanner.read(&connections, key)
            case "store": try scanner.read(&store, key)
            case "destinations": try scanner.read(&destinations, key)
            case "suppressions": try scanner.read(&suppressions, key)
            case "other_suppressions": try scanner.read(&otherSuppressions, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            version: try version.required("version"),
            host: try host.required("host"),
            startedAt: try startedAt.required("started_at"),
            received: try received.required("received"),
            rejected: try rejected.required("rejected"),
            duplicates: try duplicates.required("duplicates"),
            refused: refused ?? 0,
            connections: connections,
            store: try store.required("store"),
            destinations: destinations,
            suppressions: suppressions,
            otherSuppressions: otherSuppressions ?? 0
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("version", version)
        writer.member("host", host)
        writer.member("started_at", startedAt)
        writer.member("received", received)
        writer.member("rejected", rejected)
        writer.member("duplicates", duplicates)
        writer.member("refused", refused)
        writer.member("connections", ifPresent: connections)
        writer.member("store", store)
        writer.member("destinations", destinations)
        writer.member("suppressions", suppressions)
        writer.member("other_suppressions", otherSuppressions)
        writer.closeObject()
    }
}
