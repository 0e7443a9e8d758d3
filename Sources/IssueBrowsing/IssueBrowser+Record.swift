package import IssueProtocol
public import Issues

extension IssueBrowser {
    /// One report of one occurrence, with all that the daemon knows of it.
    public struct Record: Sendable {
        package var wire: StoredRecord

        package init(_ wire: StoredRecord) {
            self.wire = wire
        }

        /// The daemon's id of it.
        public var id: String { wire.id }
        /// The id of its group.
        public var group: String { wire.group }
        /// What went wrong.
        public var message: String { wire.record.message }
        /// How serious it is.
        public var level: IssueLevel { wire.record.severity.map { IssueLevel($0) } ?? .error }
        /// The error's domain.
        public var domain: String? { wire.record.domain }
        /// The error's code.
        public var code: Int? { wire.record.code.map { Int(clamping: $0) } }
        /// How many times it happened.
        public var count: Int { Int(clamping: wire.record.count ?? 1) }
        /// When it happened first, where ``count`` is above 1 and the sender says so.
        public var firstOccurredAt: IssueTimestamp? { wire.record.firstOccurredAt.map { IssueTimestamp($0) } }
        /// When it happened, of several times the last.
        public var occurredAt: IssueTimestamp { IssueTimestamp(wire.record.occurredAt ?? wire.receivedAt) }
        /// When the daemon received it.
        public var receivedAt: IssueTimestamp { IssueTimestamp(wire.receivedAt) }
        /// The source file, with its module.
        public var fileID: String? { wire.record.source?.fileID }
        /// The line in it.
        public var line: Int? { wire.record.source?.line.map { Int(clamping: $0) } }
        /// The column in the line.
        public var column: Int? { wire.record.source?.column.map { Int(clamping: $0) } }
        /// The function.
        public var function: String? { wire.record.source?.function }
        /// The module, where the sender names it besides the file.
        public var module: String? { wire.record.source?.module }
        /// The calls that were under way, innermost first.
        public var backtrace: [Frame] { wire.record.backtrace.map { Frame($0) } }
        /// The fingerprint that the sender chose; nil where the daemon made one out of what was said.
        public var fingerprint: String? { wire.record.fingerprint }
        /// The application, as it calls itself.
        public var app: String? { wire.record.app?.name }
        /// The application's version.
        public var version: String? { wire.record.app?.version }
        /// The number of the application's build.
        public var build: Int? { wire.record.app?.build.map { Int(clamping: $0) } }
        /// Where the application runs.
        public var environment: String? { wire.record.app?.environment }
        /// The kind of system that it runs on.
        public var platform: String? { wire.record.app?.platform }
        /// How it reaches the rest of the world.
        public var network: String? { wire.record.app?.network }
        /// Whether it is a developer's build; nil where it does not say.
        public var isDevelopment: Bool? { wire.record.app?.development }
        /// The errors that led to this one, outermost first.
        public var causes: [IssueCause] { wire.record.causes.map { IssueCause($0) } }
        /// What else was said.
        public var metadata: IssueMetadata { wire.record.metadata.map { IssueMetadata(json: $0) } ?? [:] }
        /// Whether it may be forwarded.
        public var isReportable: Bool { wire.record.reportable ?? true }
        /// What the daemon mended or cut in it, a sentence each.
        public var repairs: [String] { wire.repairs }
        /// The user who reported it, by number, as the kernel says.
        public var user: UInt32 { wire.sender.uid }
        /// The group of that user, by number, as the kernel says.
        public var userGroup: UInt32 { wire.sender.gid }
        /// The process that reported it, as the kernel says.
        public var process: Int32 { wire.sender.pid }
        /// The name of that process, as the kernel says.
        public var command: String? { wire.sender.command }
        /// The path of its program, as the kernel says; nil where the daemon may not know it.
        public var executable: String? { wire.sender.executable }
        /// The systemd unit that reported it, as the kernel says.
        public var unit: String? { wire.sender.unit }
    }
}

extension IssueBrowser.Record: CustomStringConvertible {
    /// What a person looks for first, in one line.
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
    /// A record, its group, and what became of it.
    public struct Details: Sendable {
        /// The record; nil where none of the group's is stored any more.
        public var record: Record?
        /// The group.
        public var group: Group
        /// What became of the record, for each destination.
        public var fates: [IssueFate]

        package init(_ reply: ShowReply) {
            record = reply.record.map { Record($0) }
            group = Group(reply.group)
            fates = reply.fates.map { IssueFate($0) }
        }
    }
}

extension IssueBrowser.Details: CustomStringConvertible {
    /// A line each for the record, the group, and what became of the record.
    public var description: String {
        let record = record?.description ?? "None of the group's records is stored any more."
        let fates = fates.map { TerminalSanitizer.line($0.description) }
        return ([record, group.description] + fates).joined(separator: "\n")
    }
}

extension IssueBrowser {
    /// A call that was under way: as a place in a binary, and with names where the sender knew them.
    public struct Frame: Sendable {
        package var wire: IssueProtocol.Frame

        package init(_ wire: IssueProtocol.Frame) {
            self.wire = wire
        }

        /// The name of the binary.
        public var image: String? { wire.image }
        /// The binary's build id, by which its symbols are found.
        public var buildID: String? { wire.buildID }
        /// How many bytes behind the beginning of the symbol, or of the binary where there is none.
        public var offset: UInt64? { wire.offset.map { UInt64(bitPattern: $0) } }
        /// The function.
        public var symbol: String? { wire.symbol }
        /// The source file.
        public var file: String? { wire.file }
        /// The line in it.
        public var line: Int? { wire.line.map { Int(clamping: $0) } }
    }
}

extension IssueBrowser.Frame: CustomStringConvertible {
    /// All that is known of it, in one line.
    public var description: String {
        var text = image ?? "?"
        if let symbol { text += " \(symbol)" }
        if let offset { text += " + 0x\(String(offset, radix: 16))" }
        if let file { text += " at \(file)\(line.map { ":\($0)" } ?? "")" }
        if symbol == nil, let buildID { text += " [\(buildID)]" }
        return TerminalSanitizer.line(text)
    }
}

extension IssueBrowser {
    /// A record, or a summary, that was given up for a destination.
    public struct DeadLetter: Sendable {
        package var wire: IssueProtocol.DeadLetter

        package init(_ wire: IssueProtocol.DeadLetter) {
            self.wire = wire
        }

        /// The record's id; of a summary `summary-` and a number.
        public var record: String { wire.record }
        /// The destination.
        public var destination: String { wire.destination }
        /// Why, in a word: `refused`, `too_large` or `retries_expired`.
        public var reason: String { wire.reason }
        /// What the destination said.
        public var answer: String? { wire.answer }
        /// How many times it was sent.
        public var attempts: Int { Int(clamping: wire.attempts) }
        /// When it was given up.
        public var timestamp: IssueTimestamp { IssueTimestamp(wire.at) }
        /// What was to be sent, where it was asked for.
        public var line: String? { wire.line }
    }
}

extension IssueBrowser.DeadLetter: CustomStringConvertible {
    /// What was given up and why, in one line.
    public var description: String {
        let tries = attempts == 1 ? "1 attempt" : "\(attempts) attempts"
        let answer = answer.map { ": \($0)" } ?? ""
        return TerminalSanitizer.line("\(record) for \(destination): \(reason) after \(tries), \(timestamp)\(answer)")
    }
}
