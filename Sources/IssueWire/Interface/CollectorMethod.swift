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

/// The reply of `Await`: the fate of the record at each destination.
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
