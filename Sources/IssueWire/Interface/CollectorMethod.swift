/// The methods of an interface. The raw value is the name of a method without its interface.
package protocol VarlinkMethod: RawRepresentable<String> {
    /// The name of the interface.
    static var interface: String { get }
}

extension VarlinkMethod {
    /// The method's full name, including its interface, as used in calls.
    package var fullName: String { "\(Self.interface).\(rawValue)" }

    /// Returns the method with a full name, or nil if no such method exists.
    package init?(fullName: String) {
        let prefix = "\(Self.interface)."
        guard fullName.hasPrefix(prefix) else { return nil }
        self.init(rawValue: String(fullName.dropFirst(prefix.count)))
    }
}

/// The methods of `org.issued.Collector`.
package enum CollectorMethod: String, VarlinkMethod, CaseIterable, Sendable {
    case report = "Report"
    case list = "List"
    case records = "Records"
    case show = "Show"
    case histogram = "Histogram"
    case setState = "SetState"
    case deploy = "Deploy"
    case removeDeployment = "RemoveDeployment"
    case deployments = "Deployments"
    case status = "Status"
    case limits = "Limits"
    case retention = "Retention"
    case flush = "Flush"
    case deadLetters = "DeadLetters"
    case requeue = "Requeue"
    case await = "Await"
    case mergeGroups = "MergeGroups"
    case splitGroup = "SplitGroup"
    case splitByField = "SplitByField"
    case addGroupRule = "AddGroupRule"
    case corrections = "Corrections"
    case undoCorrection = "UndoCorrection"
    case explain = "Explain"
    case explainRecord = "ExplainRecord"
    case suggestMerges = "SuggestMerges"
    case purge = "Purge"
    case backup = "Backup"
    case repair = "Repair"
    case testNotifier = "TestNotifier"
    case addSilence = "AddSilence"
    case listSilences = "ListSilences"
    case endSilence = "EndSilence"

    /// The name of the daemon's interface.
    package static let interface = "org.issued.Collector"
}

/// The reply of `Report`: one receipt per record, in the order of the records.
package struct ReportReply: Equatable, JSONObjectCodable, Sendable {
    package var receipts: [RecordReceipt]

    package init(receipts: [RecordReceipt]) {
        self.receipts = receipts
    }

    package static var initial: Self { Self(receipts: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("receipts", &receipts, [])
    }
}

/// The daemon's reply for one record of a report.
package enum RecordReceipt: Equatable, Sendable {
    /// The record is on disk under this id.
    case stored(id: String)
    /// The record was received before. The id is nil if the daemon no longer knows it.
    case duplicate(id: String?)
    /// The record was not accepted. `field` is the path of the invalid member; nil if the record as a whole is invalid,
    /// or if the member is no longer known.
    case rejected(field: String?, reason: String)
}

extension RecordReceipt: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        let members = try ReceiptMembers(from: &scanner)
        if let rejection = members.rejection {
            self = .rejected(field: rejection.field, reason: rejection.reason)
        } else if members.isDuplicate == true {
            self = .duplicate(id: members.id)
        } else if let id = members.id {
            self = .stored(id: id)
        } else {
            throw FieldError(field: "id", reason: "is required")
        }
    }

    package func write(to writer: inout JSONWriter) {
        let members =
            switch self {
            case .stored(let id): ReceiptMembers(id: id)
            case .duplicate(let id): ReceiptMembers(id: id, isDuplicate: true)
            case .rejected(let field, let reason): ReceiptMembers(rejection: Rejection(field: field, reason: reason))
            }
        members.write(to: &writer)
    }
}

/// The members of a receipt.
private struct ReceiptMembers: JSONObjectCodable {
    var id: String?
    var isDuplicate: Bool?
    var rejection: Rejection?

    static var initial: Self { Self() }

    mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("id", &id)
        try members.optional("duplicate", &isDuplicate)
        try members.optional("rejected", &rejection)
    }
}

/// The reason why a record was not accepted.
private struct Rejection: JSONObjectCodable {
    var field: String?
    var reason: String

    static var initial: Self { Self(reason: "") }

    mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("field", &field)
        try members.required("reason", &reason)
    }
}

/// The parameters of `Await`.
package struct AwaitParameters: Equatable, JSONObjectCodable, Sendable {
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

    package static var initial: Self { Self(id: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
        try members.optional("destination", &destination)
        try members.optional("timeout", &timeout)
    }
}

/// The reply of `Await`: the fate of the record at the given destination or, if none was given, at each destination.
package struct AwaitReply: Equatable, JSONObjectCodable, Sendable {
    package var fates: [IssueFate]

    package init(fates: [IssueFate]) {
        self.fates = fates
    }

    package static var initial: Self { Self(fates: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("fates", &fates, [])
    }
}
