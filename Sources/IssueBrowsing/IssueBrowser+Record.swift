package import IssueProtocol
public import Issues

extension IssueBrowser {
    /// One stored report.
    public struct Record: Sendable {
        package var wire: StoredRecord

        package init(_ wire: StoredRecord) {
            self.wire = wire
        }

        /// The id of the record.
        public var id: String { wire.id }
        /// The id of the group.
        public var group: String { wire.group }
        /// A description of what went wrong.
        public var message: String { wire.record.message }
        /// The level.
        public var level: IssueLevel { wire.record.severity ?? .error }
        /// The domain of the error. Nil if it has none.
        public var domain: String? { wire.record.domain }
        /// The code of the error. Nil if it has none.
        public var code: Int? { wire.record.code.map { Int(clamping: $0) } }
        /// The number of occurrences that the record represents.
        public var count: Int { Int(clamping: wire.record.count ?? 1) }
        /// The time of the first occurrence. Nil unless ``count`` is above 1 and the sender sent the time.
        public var firstOccurredAt: IssueTimestamp? { wire.record.firstOccurredAt }
        /// The time of the last occurrence.
        public var occurredAt: IssueTimestamp { wire.record.occurredAt ?? wire.receivedAt }
        /// The time at which the daemon received the record.
        public var receivedAt: IssueTimestamp { wire.receivedAt }
        /// The file ID of the source file. Nil if unknown.
        public var fileID: String? { wire.record.source?.fileID }
        /// The line in the source file. Nil if unknown.
        public var line: Int? { wire.record.source?.line.map { Int(clamping: $0) } }
        /// The column in the line. Nil if unknown.
        public var column: Int? { wire.record.source?.column.map { Int(clamping: $0) } }
        /// The function. Nil if unknown.
        public var function: String? { wire.record.source?.function }
        /// The module. Nil if the sender does not send it separately from the file ID.
        public var module: String? { wire.record.source?.module }
        /// The call stack, innermost first. Empty if the sender sent none.
        public var backtrace: [Frame] { wire.record.backtrace.map { Frame($0) } }
        /// The fingerprint that the sender chose. Nil if the daemon derived it from the contents.
        public var fingerprint: String? { wire.record.fingerprint }
        /// The name of the application. Nil if it sent none.
        public var app: String? { wire.record.app?.name }
        /// The version of the application. Nil if it sent none.
        public var version: String? { wire.record.app?.version }
        /// The build number of the application. Nil if it sent none.
        public var build: Int? { wire.record.app?.build.map { Int(clamping: $0) } }
        /// The environment of the application. Nil if it sent none.
        public var environment: String? { wire.record.app?.environment }
        /// The platform of the application. Nil if it sent none.
        public var platform: String? { wire.record.app?.platform }
        /// The kind of network connection of the application. Nil if it sent none.
        public var network: String? { wire.record.app?.network }
        /// Whether the application is a development build. Nil if it did not send this.
        public var isDevelopment: Bool? { wire.record.app?.development }
        /// The errors that caused this one, outermost first.
        public var causes: [IssueCause] { wire.record.causes }
        /// The metadata.
        public var metadata: IssueMetadata { wire.record.metadata.map { IssueMetadata(json: $0) } ?? [:] }
        /// Whether the daemon may forward the record.
        public var isReportable: Bool { wire.record.reportable ?? true }
        /// Sentences about what the daemon fixed or truncated.
        public var repairs: [String] { wire.repairs }
        /// The id of the user that reported the issue, from the kernel.
        public var user: UInt32 { wire.sender.uid }
        /// The id of that user's group, from the kernel.
        public var userGroup: UInt32 { wire.sender.gid }
        /// The id of the reporting process, from the kernel.
        public var process: Int32 { wire.sender.pid }
        /// The name of the reporting process, from the kernel. Nil if unknown.
        public var command: String? { wire.sender.command }
        /// The path of the process's executable, from the kernel. Nil if the daemon was not allowed to read it.
        public var executable: String? { wire.sender.executable }
        /// The systemd unit that reported the issue, from the kernel. Nil if there is none.
        public var unit: String? { wire.sender.unit }
    }
}

extension IssueBrowser.Record: CustomStringConvertible {
    /// A summary in one line.
    public var description: String {
        var text = "\(id) \(level.rawValue)"
        if let app { text += " in \(app)\(version.map { " \($0)" } ?? "")" }
        text += ": \(message) ("
        if count > 1 { text += "\(count) times, " }
        if let fileID { text += "\(fileID)\(line.map { ":\($0)" } ?? ""), " }
        return TerminalSanitizer.line(text + "\(occurredAt))")
    }
}

extension IssueBrowser {
    /// A record with its group and its fates.
    public struct Details: Sendable {
        /// The record. Nil if no record of the group is stored any longer.
        public var record: Record?
        /// The group.
        public var group: Group
        /// The fate of the record for each destination.
        public var fates: [IssueFate]

        package init(_ reply: ShowReply) {
            record = reply.record.map { Record($0) }
            group = Group(reply.group)
            fates = reply.fates
        }
    }
}

extension IssueBrowser.Details: CustomStringConvertible {
    /// A line each for the record, the group and each fate.
    public var description: String {
        let record = record?.description ?? "No record of the group is stored any longer."
        let fates = fates.map { TerminalSanitizer.line($0.description) }
        return ([record, group.description] + fates).joined(separator: "\n")
    }
}

extension IssueBrowser {
    /// A call in a backtrace: a location in a binary, and names if the sender knew them.
    public struct Frame: Sendable {
        package var wire: IssueProtocol.Frame

        package init(_ wire: IssueProtocol.Frame) {
            self.wire = wire
        }

        /// The name of the binary. Nil if unknown.
        public var image: String? { wire.image }
        /// The build ID of the binary, to find its symbols. Nil if unknown.
        public var buildID: String? { wire.buildID }
        /// The offset in bytes from the start of the symbol, or of the binary if there is no symbol. Nil if unknown.
        public var offset: UInt64? { wire.offset.map { UInt64(bitPattern: $0) } }
        /// The function. Nil if unknown.
        public var symbol: String? { wire.symbol }
        /// The source file. Nil if unknown.
        public var file: String? { wire.file }
        /// The line in the source file. Nil if unknown.
        public var line: Int? { wire.line.map { Int(clamping: $0) } }
    }
}

extension IssueBrowser.Frame: CustomStringConvertible {
    /// All known properties in one line.
    public var description: String {
        let location = wire.location
        return TerminalSanitizer.line((image ?? "?") + (location.isEmpty ? "" : " \(location)"))
    }
}

extension IssueBrowser {
    /// A record, or a summary of records, that was given up for a destination.
    public struct DeadLetter: Sendable {
        package var wire: IssueProtocol.DeadLetter

        package init(_ wire: IssueProtocol.DeadLetter) {
            self.wire = wire
        }

        /// The id of the record. For a summary it is `summary-` and a number.
        public var record: String { wire.record }
        /// The name of the destination.
        public var destination: String { wire.destination }
        /// The reason: `refused`, `too_large` or `retries_expired`.
        public var reason: String { wire.reason }
        /// The destination's response. Nil if there is none.
        public var answer: String? { wire.answer }
        /// The number of attempts to send it.
        public var attempts: Int { Int(clamping: wire.attempts) }
        /// The time at which it was given up.
        public var timestamp: IssueTimestamp { wire.at }
        /// The text that was to be sent. Nil unless the query asked for it.
        public var line: String? { wire.line }
    }
}

extension IssueBrowser.DeadLetter: CustomStringConvertible {
    /// The record, the destination, the reason and the time in one line.
    public var description: String {
        let tries = attempts == 1 ? "1 attempt" : "\(attempts) attempts"
        let answer = answer.map { ": \($0)" } ?? ""
        return TerminalSanitizer.line("\(record) for \(destination): \(reason) after \(tries), \(timestamp)\(answer)")
    }
}
