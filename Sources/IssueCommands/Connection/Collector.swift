import IssueProtocol

/// The daemon's methods, as the commands call them.
struct Collector {
    private let link: any CollectorLink

    /// How long an ordinary answer may take.
    private static let patience = Duration.seconds(45)

    init(link: any CollectorLink) {
        self.link = link
    }

    /// Records that are JSON already, so that what we do not know passes through.
    func report(_ records: [[UInt8]]) throws(CommandFailure) -> Answer<ReportReply> {
        var writer = JSONWriter()
        writer.openObject()
        writer.key("records")
        writer.openArray()
        for record in records { writer.raw(record) }
        writer.closeArray()
        writer.closeObject()
        return try Answer(try call(.report, writer.bytes))
    }

    func list(_ parameters: ListParameters) throws(CommandFailure) -> Answer<ListReply> {
        try Answer(try call(.list, parameters.json))
    }

    func records(_ parameters: RecordsParameters) throws(CommandFailure) -> Answer<RecordsReply> {
        try Answer(try call(.records, parameters.json))
    }

    func show(_ id: String) throws(CommandFailure) -> Answer<ShowReply> {
        try Answer(try call(.show, ShowParameters(id: id).json))
    }

    func deadLetters(_ parameters: DeadLettersParameters) throws(CommandFailure) -> Answer<DeadLettersReply> {
        try Answer(try call(.deadLetters, parameters.json))
    }

    func status() throws(CommandFailure) -> Answer<DaemonStatus> {
        try Answer(try call(.status, Array("{}".utf8)))
    }

    func flush(_ parameters: FlushParameters) throws(CommandFailure) -> Answer<FlushReply> {
        // The daemon keeps the time itself; what is added is for its answer to arrive.
        let patience = (parameters.timeout ?? .seconds(30)) + .seconds(15)
        return try Answer(try call(.flush, parameters.json, patience: patience))
    }

    /// New records as they come, until the receiver throws or the daemon ends.
    func follow(
        _ parameters: RecordsParameters, receive: (Answer<RecordsReply>) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        var failure: CommandFailure?
        do throws(LinkFailure) {
            try link.stream(.records, parameters: parameters.json) { json in
                do throws(CommandFailure) {
                    try receive(try Answer(json))
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
        } catch {
            throw CommandFailure(error)
        }
        if let failure { throw failure }
    }

    /// Has something done that takes long, and answers the last reply; the ones before say how far it is.
    func order<Reply>(
        _ method: CollectorMethod, _ parameters: [UInt8], progress: (Reply) -> Void
    ) throws(CommandFailure) -> Answer<Reply> {
        var failure: CommandFailure?
        var last: Answer<Reply>?
        do throws(LinkFailure) {
            try link.stream(method, parameters: parameters) { json in
                do throws(CommandFailure) {
                    if let last { progress(last.value) }
                    last = try Answer(json)
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
        } catch {
            throw CommandFailure(error)
        }
        if let failure { throw failure }
        guard let last else { throw .unreadable("it is missing") }
        return last
    }

    private func call(
        _ method: CollectorMethod, _ parameters: [UInt8], patience: Duration = Self.patience
    ) throws(CommandFailure) -> [UInt8] {
        do throws(LinkFailure) {
            return try link.call(method, parameters: parameters, timeout: patience)
        } catch {
            throw CommandFailure(error)
        }
    }
}
