package import IssueWire

/// A stored record with everything that the daemon knows about it.
package struct StoredRecord: Equatable, Sendable {
    package var id: String
    /// The id of the record's group.
    package var group: String
    package var receivedAt: Timestamp
    package var sender: Sender
    /// A sentence for each change that the daemon made to the record, such as a repair or a cut.
    package var repairs: [String]
    /// The record as sent, with severity, times and count filled in.
    package var record: IssueRecord

    package init(
        id: String, group: String, receivedAt: Timestamp, sender: Sender, repairs: [String], record: IssueRecord
    ) {
        self.id = id
        self.group = group
        self.receivedAt = receivedAt
        self.sender = sender
        self.repairs = repairs
        self.record = record
    }
}

extension StoredRecord: JSONCodable {
    /// Reads the record from a single flat JSON object that holds the record's members and the daemon's.
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var id: String?
        var group: String?
        var receivedAt: Timestamp?
        var sender: Sender?
        var repairs: [String] = []
        var message: String?
        var record = IssueRecord(message: "")
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "id": try scanner.read(&id, key)
            case "group": try scanner.read(&group, key)
            case "received_at": try scanner.read(&receivedAt, key)
            case "sender": try scanner.read(&sender, key)
            case "repairs": try scanner.read(&repairs, key)
            case "message": try scanner.read(&message, key)
            default:
                if try !record.readMember(key, from: &scanner) { try scanner.skipField(key) }
            }
        }
        record.message = try message.required("message")
        self.init(
            id: try id.required("id"),
            group: try group.required("group"),
            receivedAt: try receivedAt.required("received_at"),
            sender: try sender.required("sender"),
            repairs: repairs,
            record: record
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("id", id)
        writer.member("group", group)
        writer.member("received_at", receivedAt)
        writer.member("sender", sender)
        writer.member("repairs", repairs)
        record.writeMembers(to: &writer)
        writer.closeObject()
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

extension Sender: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var uid: UInt32?
        var gid: UInt32?
        var pid: Int32?
        var command: String?
        var executable: String?
        var unit: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "uid": try scanner.read(&uid, key)
            case "gid": try scanner.read(&gid, key)
            case "pid": try scanner.read(&pid, key)
            case "command": try scanner.read(&command, key)
            case "executable": try scanner.read(&executable, key)
            case "unit": try scanner.read(&unit, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            uid: try uid.required("uid"),
            gid: try gid.required("gid"),
            pid: try pid.required("pid"),
            command: command,
            executable: executable,
            unit: unit
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("uid", uid)
        writer.member("gid", gid)
        writer.member("pid", pid)
        writer.member("command", ifPresent: command)
        writer.member("executable", ifPresent: executable)
        writer.member("unit", ifPresent: unit)
        writer.closeObject()
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
    package var at: Timestamp
    /// The line that was to be sent; nil unless it was requested.
    package var line: String?

    package init(
        record: String, destination: String, reason: String, answer: String? = nil, attempts: Int64, at: Timestamp,
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

extension DeadLetter: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var record: String?
        var destination: String?
        var reason: String?
        var answer: String?
        var attempts: Int64?
        var at: Timestamp?
        var line: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "record": try scanner.read(&record, key)
            case "destination": try scanner.read(&destination, key)
            case "reason": try scanner.read(&reason, key)
            case "answer": try scanner.read(&answer, key)
            case "attempts": try scanner.read(&attempts, key)
            case "at": try scanner.read(&at, key)
            case "line": try scanner.read(&line, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            record: try record.required("record"),
            destination: try destination.required("destination"),
            reason: try reason.required("reason"),
            answer: answer,
            attempts: try attempts.required("attempts"),
            at: try at.required("at"),
            line: line
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("record", record)
        writer.member("destination", destination)
        writer.member("reason", reason)
        writer.member("answer", ifPresent: answer)
        writer.member("attempts", attempts)
        writer.member("at", at)
        writer.member("line", ifPresent: line)
        writer.closeObject()
    }
}

extension GroupState: JSONStringEnum {}
extension ResultOrder: JSONStringEnum {}
extension HistogramDimension: JSONStringEnum {}
extension DestinationState: JSONStringEnum {}
extension SuppressionReason: JSONStringEnum {}
