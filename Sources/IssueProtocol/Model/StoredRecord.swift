package import IssueWire

/// A stored record with everything that the daemon knows about it.
package struct StoredRecord: Equatable, Sendable {
    package var id: String
    /// The id of the record's group.
    package var group: String
    package var receivedAt: IssueTimestamp
    package var sender: Sender
    /// A sentence for each change that the daemon made to the record, such as a repair or a cut.
    package var repairs: [String]
    /// The record as sent, with severity, times and count filled in.
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

/// A single flat JSON object holds the record's members and the daemon's.
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

/// The identity of the sending process, as reported by the kernel. A sender cannot forge it.
package struct Sender: Hashable, Sendable {
    package var uid: UInt32
    package var gid: UInt32
    package var pid: Int32
    /// The short name of the process.
    package var command: String?
    /// The path of the executable.
    package var executable: String?
    /// The systemd unit of the process.
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
}

extension Sender: JSONObjectCodable {
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

/// A record or summary that the daemon gave up sending to a destination.
package struct DeadLetter: Equatable, Sendable {
    /// The record's id, or `summary-` and a number for a summary.
    package var record: String
    package var destination: String
    /// The reason as a keyword: `refused`, `too_large` or `retries_expired`.
    package var reason: String
    /// The last answer of the destination.
    package var answer: String?
    /// The number of attempts to send the record's batch or a part of it.
    package var attempts: Int64
    /// The time at which the daemon gave up.
    package var at: IssueTimestamp
    /// The line that was to be sent; nil unless it was requested.
    package var line: String?

    package init(
        record: String, destination: String, reason: String, answer: String? = nil, attempts: Int64, at: IssueTimestamp,
        line: String? = nil
    ) {
        self.record = record
        self.destination = destination
        self.reason = reason
        self.answer = answer
        self.attempts = attempts
        self.at = at
        self.line = line
    }
}

extension DeadLetter: JSONObjectCodable {
    package static var initial: Self {
        Self(record: "", destination: "", reason: "", attempts: 0, at: .epoch)
    }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("record", &record)
        try members.required("destination", &destination)
        try members.required("reason", &reason)
        try members.optional("answer", &answer)
        try members.required("attempts", &attempts)
        try members.required("at", &at)
        try members.optional("line", &line)
    }
}

extension GroupState: JSONStringEnum {}
extension ResultOrder: JSONStringEnum {}
extension HistogramDimension: JSONStringEnum {}
extension DestinationState: JSONStringEnum {}
extension SuppressionReason: JSONStringEnum {}
