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

    /// The interface of the daemon.
    package static let interface = "org.issued.Collector"

    /// The method's name with its interface, as a call has it.
    package var fullName: String { "\(Self.interface).\(rawValue)" }

    /// The method that a full name means, or nothing.
    package init?(fullName: String) {
        let prefix = "\(Self.interface)."
        guard fullName.hasPrefix(prefix) else { return nil }
        self.init(rawValue: String(fullName.dropFirst(prefix.count)))
    }
}

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

/// What `Await` is called with.
package struct AwaitParameters: Equatable, Sendable {
    package var id: String
    /// The one whose answer is awaited, or all.
    package var destination: String?
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
