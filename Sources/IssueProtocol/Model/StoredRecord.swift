package import IssueWire

/// One stored report.
public struct StoredRecord: Equatable, Sendable {
    /// The id of the record.
    public var id: String
    /// The id of the group.
    public var group: String
    /// The time at which the daemon received the record.
    public var receivedAt: IssueTimestamp
    /// The sender, as reported by the kernel.
    package var sender: Sender
    /// Notes on what the daemon corrected or truncated in the record, and on how it stored the record.
    public var repairs: [String]
    /// The record as stored, with severity, time of occurrence and count filled in.
    package var record: IssueRecord

    package init(
        id: String, group: String, receivedAt: IssueTimestamp, sender: Sender, repairs: [String], record: IssueRecord
    ) {
        self.id = id
        self.group = group
        self.receivedAt = receivedAt
        self.sender = sender
        self.repairs = repairs
        self.record = record
    }
}

/// The contents of the report.
extension StoredRecord {
    /// A description of what went wrong.
    public var message: String { record.message }
    /// The level.
    public var level: IssueLevel { record.severity ?? .error }
    /// The domain of the error. Nil if it has none.
    public var domain: String? { record.domain }
    /// The code of the error. Nil if it has none.
    public var code: Int? { record.code.map { Int(clamping: $0) } }
    /// The number of occurrences that the record represents.
    public var count: Int { Int(clamping: record.count ?? 1) }
    /// The time of the first of several occurrences. Nil if the sender did not send it.
    public var firstOccurredAt: IssueTimestamp? { record.firstOccurredAt }
    /// The time of the last occurrence; the time of receipt if the sender did not send it.
    public var occurredAt: IssueTimestamp { record.occurredAt ?? receivedAt }
    /// The file ID of the source file. Nil if unknown.
    public var fileID: String? { record.source?.fileID }
    /// The line in the source file. Nil if unknown.
    public var line: Int? { record.source?.line.map { Int(clamping: $0) } }
    /// The column in the line. Nil if unknown.
    public var column: Int? { record.source?.column.map { Int(clamping: $0) } }
    /// The function. Nil if unknown.
    public var function: String? { record.source?.function }
    /// The module. Nil if the sender did not send it separately from the file ID.
    public var module: String? { record.source?.module }
    /// The call stack, innermost first. Empty if the sender sent none.
    public var backtrace: [BacktraceFrame] { record.backtrace }
    /// The fingerprint that the sender chose. Nil if the daemon derived it from the contents.
    public var fingerprint: String? { record.fingerprint }
    /// The name of the application. Nil if it sent none.
    public var app: String? { record.app?.name }
    /// The version of the application. Nil if it sent none.
    public var version: String? { record.app?.version }
    /// The build number of the application. Nil if it sent none.
    public var build: Int? { record.app?.build.map { Int(clamping: $0) } }
    /// The environment of the application. Nil if it sent none.
    public var environment: String? { record.app?.environment }
    /// The platform of the application. Nil if it sent none.
    public var platform: String? { record.app?.platform }
    /// The kind of network connection of the application. Nil if it sent none.
    public var network: String? { record.app?.network }
    /// Whether the application is a development build. Nil if it did not send this.
    public var isDevelopment: Bool? { record.app?.development }
    /// The errors that caused the reported error, outermost first.
    public var causes: [IssueCause] { record.causes }
    /// The ids that connect the issue with a trace, a span, a request and a user.
    public var context: IssueContext { record.context }
    /// Whether the daemon may forward the record.
    public var isReportable: Bool { record.reportable ?? true }
}

/// The sender, as reported by the kernel.
extension StoredRecord {
    /// The id of the user who reported the issue, from the kernel.
    public var user: UInt32 { sender.uid }
    /// The group id of the reporting process, from the kernel.
    public var userGroup: UInt32 { sender.gid }
    /// The id of the reporting process, from the kernel.
    public var process: Int32 { sender.pid }
    /// The name of the reporting process, from the kernel. Nil if unknown.
    public var command: String? { sender.command }
    /// The path of the process's executable, from the kernel. Nil if the daemon could not read it.
    public var executable: String? { sender.executable }
    /// The systemd unit that reported the issue, from the kernel. Nil if there is none, or if it is unknown.
    public var unit: String? { sender.unit }
}

extension StoredRecord: CustomStringConvertible {
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

/// The same JSON object has the members of the record and those that the daemon adds.
extension StoredRecord: JSONObjectCodable {
    package static let initial = StoredRecord(
        id: "", group: "", receivedAt: .epoch, sender: Sender(uid: 0, gid: 0, pid: 0), repairs: [],
        record: IssueRecord(message: ""))

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
        try members.required("group", &group)
        try members.required("received_at", &receivedAt)
        try members.required("sender", &sender)
        try members.defaulted("repairs", &repairs, [])
        try record.visit(&members)
    }
}

/// The identity of the sending process, as reported by the kernel. A process can change its command.
package struct Sender: Hashable, JSONObjectCodable, Sendable {
    /// The user id.
    package var uid: UInt32
    /// The group id.
    package var gid: UInt32
    /// The process id.
    package var pid: Int32
    /// The short name of the process, which the process can change. Nil if unknown.
    package var command: String?
    /// The path of the executable. Nil if it could not be read.
    package var executable: String?
    /// The systemd unit of the process. Nil if there is none, or if it is unknown.
    package var unit: String?

    package init(
        uid: UInt32, gid: UInt32, pid: Int32, command: String? = nil, executable: String? = nil, unit: String? = nil
    ) {
        self.uid = uid
        self.gid = gid
        self.pid = pid
        self.command = command
        self.executable = executable
        self.unit = unit
    }

    package static var initial: Self { Self(uid: 0, gid: 0, pid: 0) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("uid", &uid)
        try members.required("gid", &gid)
        try members.required("pid", &pid)
        try members.optional("command", &command)
        try members.optional("executable", &executable)
        try members.optional("unit", &unit)
    }
}

/// A record with its group and its fates (the reply of `Show`).
public struct IssueDetails: Equatable, Sendable {
    /// The record, or the newest one of a requested group. Nil if no readable record of that group was found.
    public var record: StoredRecord?
    /// The group.
    public var group: IssueGroup
    /// The fate of the record at each destination that it was queued for.
    public var fates: [IssueFate]
    /// For a requested group, the fates of its newest stored records at each destination. Empty for a requested record,
    /// or if the query did not request these fates.
    package var groupFates: [GroupFates]

    package init(
        record: StoredRecord? = nil, group: IssueGroup, fates: [IssueFate], groupFates: [GroupFates] = []
    ) {
        self.record = record
        self.group = group
        self.fates = fates
        self.groupFates = groupFates
    }
}

extension IssueDetails: CustomStringConvertible {
    /// A line each for the record, the group and each fate.
    public var description: String {
        let record = record?.description ?? "No readable record of the group was found."
        let fates = fates.map { TerminalSanitizer.line($0.description) }
        return ([record, group.description] + fates).joined(separator: "\n")
    }
}

extension IssueDetails: JSONObjectCodable {
    package static var initial: Self { Self(group: .initial, fates: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("record", &record)
        try members.required("group", &group)
        try members.defaulted("fates", &fates, [])
        try members.nonempty("group_fates", &groupFates)
    }
}

/// How many of the newest stored records of a group have each fate at one destination.
package struct GroupFates: Equatable, JSONObjectCodable, Sendable {
    package var destination: String
    /// `received` is the number of records that were counted.
    package var counts: Ledger

    package init(destination: String, counts: Ledger = Ledger()) {
        (self.destination, self.counts) = (destination, counts)
    }

    package static var initial: Self { Self(destination: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("destination", &destination)
        try members.required("counts", &counts)
    }
}

/// A record, a summary or a correction that could not be delivered to a destination.
public struct DeadLetter: Equatable, Sendable {
    /// The id of the record. For a summary and for a correction it is `summary-` and a number.
    public var record: String
    /// Whether the dead letter is a correction of the grouping. Nil means `false`.
    package var isCorrection: Bool?
    /// The name of the destination.
    public var destination: String
    /// The reason: `refused`, `too_large` or `retries_expired`.
    public var reason: String
    /// The destination's last response, or the part of it that the caller may see. Nil if there is none.
    public var answer: String?
    /// The number of attempts to send its batch or a part of that batch.
    public var attempts: Int
    /// The time at which it became a dead letter.
    public var timestamp: IssueTimestamp
    /// The text that was to be sent. Nil unless the query requested it.
    public var line: String?

    package init(
        record: String, isCorrection: Bool? = nil, destination: String, reason: String, answer: String? = nil,
        attempts: Int, timestamp: IssueTimestamp, line: String? = nil
    ) {
        self.record = record
        self.isCorrection = isCorrection
        self.destination = destination
        self.reason = reason
        self.answer = answer
        self.attempts = attempts
        self.timestamp = timestamp
        self.line = line
    }
}

extension DeadLetter: CustomStringConvertible {
    /// A summary in one line, without the text that was to be sent.
    public var description: String {
        let tries = attempts == 1 ? "1 attempt" : "\(attempts) attempts"
        let answer = answer.map { ": \($0)" } ?? ""
        return TerminalSanitizer.line("\(record) for \(destination): \(reason) after \(tries), \(timestamp)\(answer)")
    }
}

extension DeadLetter: JSONObjectCodable {
    package static var initial: Self {
        Self(record: "", destination: "", reason: "", attempts: 0, timestamp: .epoch)
    }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("record", &record)
        try members.optional("correction", &isCorrection)
        try members.required("destination", &destination)
        try members.required("reason", &reason)
        try members.optional("answer", &answer)
        try members.required("attempts", &attempts)
        try members.required("at", &timestamp)
        try members.optional("line", &line)
    }
}

/// The parameters of `DeadLetters`.
package struct DeadLettersParameters: Equatable, JSONObjectCodable, Sendable {
    /// The destination whose dead letters are listed; nil for all.
    package var destination: String?
    /// The ids of the records, summaries and corrections whose dead letters are listed; nil for all.
    package var records: [String]?
    /// Whether to include the line that was to be sent. Nil means `false`.
    package var lines: Bool?
    /// The maximum number of dead letters in the reply; nil for the daemon's default.
    package var limit: Int?
    /// The `next` of the previous page; nil for the first page.
    package var after: String?

    package init(
        destination: String? = nil, records: [String]? = nil, lines: Bool? = nil, limit: Int? = nil,
        after: String? = nil
    ) {
        self.destination = destination
        self.records = records
        self.lines = lines
        self.limit = limit
        self.after = after
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("destination", &destination)
        try members.optional("records", &records)
        try members.optional("lines", &lines)
        try members.optional("limit", &limit)
        try members.optional("after", &after)
    }
}

/// The reply of `DeadLetters`.
package struct DeadLettersReply: Equatable, JSONObjectCodable, Sendable {
    package var deadLetters: [DeadLetter]
    /// The cursor of the next page; nil if this is the last one.
    package var next: String?

    package init(deadLetters: [DeadLetter], next: String? = nil) {
        self.deadLetters = deadLetters
        self.next = next
    }

    package static var initial: Self { Self(deadLetters: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("dead_letters", &deadLetters)
        try members.optional("next", &next)
    }
}
