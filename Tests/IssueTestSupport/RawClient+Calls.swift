package import IssueProtocol

extension RawClient {
    /// Calls a method with the given parameters, and waits for its reply.
    package func call(_ method: String, _ parameters: String = "{}") throws -> VarlinkReply {
        try begin(method, parameters)
        return try reply()
    }

    /// Calls a method, and returns the parameters of its reply. Throws `CollectorError` if the reply is an error.
    package func call<Reply: JSONCodable>(
        _ method: CollectorMethod, _ parameters: some JSONCodable, returning: Reply.Type = Reply.self
    ) throws -> Reply {
        try begin(method, parameters)
        return try answer()
    }

    /// Calls a method and returns the error of the reply, or nil if the call succeeds.
    package func refusal(of method: CollectorMethod, _ parameters: some JSONCodable) throws -> CollectorError? {
        try begin(method, parameters)
        return CollectorError(try reply())
    }

    // MARK: Common calls

    package func report(
        _ records: [IssueRecord], producer: String? = nil, sequence: Int64? = nil
    ) throws -> [RecordReceipt] {
        let parameters = ReportParameters(records: records, producer: producer, sequence: sequence)
        return try call(.report, parameters, returning: ReportReply.self).receipts
    }

    /// Reports one record per message, and returns the ids of the records. Throws `NotStored` if one has no id.
    package func report(_ messages: String..., app: String = "shop") throws -> [String] {
        let records = messages.map { IssueRecord(message: $0, app: Application(name: app)) }
        return try report(records).map { try $0.storedID }
    }

    package func status() throws -> DaemonStatus {
        try call(.status, JSONValue.object([]))
    }

    /// Returns the first destination of the status. Throws `NoReply.quiet` if there is none.
    package func destination() throws -> DestinationStatus {
        guard let first = try status().destinations.first else { throw NoReply.quiet }
        return first
    }

    package func groups(_ filter: IssueFilter? = nil) throws -> [IssueGroup] {
        try call(.list, ListParameters(filter: filter, limit: 1000), returning: ListReply.self).groups
    }

    /// Returns all visible records, newest first.
    package func allRecords(_ filter: IssueFilter? = nil) throws -> [StoredRecord] {
        try begin(.records, RecordsParameters(filter: filter, limit: 500), more: true)
        var records: [StoredRecord] = []
        while true {
            let reply = try reply()
            if let error = CollectorError(reply) { throw error }
            records += try RecordsReply(json: reply.parameters).records
            if !reply.continues { return records }
        }
    }

    package func show(_ id: String) throws -> IssueDetails {
        try call(.show, ShowParameters(id: id))
    }

    package func awaitFates(of id: String, timeout: Duration = testTimeout) throws -> [IssueFate] {
        try call(.await, AwaitParameters(id: id, timeout: timeout), returning: AwaitReply.self).fates
    }
}

extension RecordReceipt {
    /// A record was unexpectedly not stored.
    package struct NotStored: Error {
        let receipt: RecordReceipt
    }

    /// The id of a stored record, whether it is new or a duplicate. Throws `NotStored` without an id.
    package var storedID: String {
        get throws {
            switch self {
            case .stored(let id): return id
            case .duplicate(let id?): return id
            case .duplicate, .rejected: throw NotStored(receipt: self)
            }
        }
    }
}
