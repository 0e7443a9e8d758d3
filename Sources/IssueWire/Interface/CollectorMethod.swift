/// The methods of `org.issued.Collector`.
package enum CollectorMethod: String, CaseIterable, Sendable {
    case report = "Report"
    case list = "List"
    case records = "Records"
    case show = "Show"
    case histogram = "Histogram"
    case setState = "SetState"
    case status = "Status"
    case flush = "Flush"
    case deadLetters = "DeadLetters"
    case requeue = "Requeue"
    case await = "Await"
    case mergeGroups = "MergeGroups"
    case splitGroup = "SplitGroup"
    case purge = "Purge"
    case backup = "Backup"
    case repair = "Repair"

    /// The name of the daemon's interface.
    package static let interface = "org.issued.Collector"

    /// The method's full name, including its interface, as used in calls.
    package var fullName: String { "\(Self.interface).\(rawValue)" }

    /// Returns the method with a full name, or nil if no such method exists.
    package init?(fullName: String) {
        let prefix = "\(Self.interface)."
        guard fullName.hasPrefix(prefix) else { return nil }
        self.init(rawValue: String(fullName.dropFirst(prefix.count)))
    }
}

/// The reply of `Report`: one receipt per record, in the order of the records.
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

/// The parameters of `Await`.
package struct AwaitParameters: Equatable, Sendable {
    package var id: String
    /// The destination to wait for; nil for all.
    package var destination: String?
    /// The maximum time to wait; nil for the daemon's default.
    package var timeout: Duration?

    package init(id: String, destination: String? = nil, timeout: Duration? = nil) {
        self.id = id
        self.destination = destination
        self.timeout = timeout
    }
}

extension AwaitParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var id: String?
        var destination: String?
        var timeout: Duration?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "id": try scanner.read(&id, key)
            case "destination": try scanner.read(&destination, key)
            case "timeout": try scanner.read(&timeout, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            id: try id.required("id"),
            destination: destination,
            timeout: timeout
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("id", id)
        writer.member("destination", ifPresent: destination)
        writer.member("timeout", ifPresent: timeout)
        writer.closeObject()
    }
}

/// The reply of `Await`: the fate of the record at each destination.
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
