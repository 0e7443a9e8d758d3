import IssueCore
package import IssueProtocol
import SQLiteKit

/// A record with its series, process and group, as one query finds them.
package struct RecordRow: Sendable {
    package var row: Int64
    package var group: Int64
    package var account: Int64
    package var receivedAt: Timestamp
    package var isFirstOfGroup: Bool
    package var fingerprint: String
    package var accountName: String
    package var stored: StoredRecord
    /// How many bytes of it can be long.
    var size: Int

    static let sql: StaticString = """
        SELECT records.id, records.received_at, records.occurred, records.first_occurred, records.count,
               records.message, records.metadata, records.details, series.key, groups.id, groups.key,
               groups.fingerprint, groups.first_record, accounts.id, accounts.app, senders.uid, senders.command,
               senders.executable, senders.unit, processes.pid, processes.gid
        FROM records
        JOIN series ON series.id = records.series
        JOIN groups ON groups.id = series."group"
        JOIN accounts ON accounts.id = series.account
        JOIN processes ON processes.id = records.process
        JOIN senders ON senders.id = processes.sender
        """

    /// Reads a row of the query above; nothing where it is damaged.
    init?(_ row: borrowing Row, id: (Int64) -> String) {
        guard let series = SeriesKey.decode(row.bytes(8)) else { return nil }
        self.row = row.int64(0)
        group = row.int64(9)
        account = row.int64(13)
        receivedAt = Timestamp(milliseconds: row.int64(1))
        isFirstOfGroup = row.int64(12) == self.row
        fingerprint = row.text(11)
        accountName = row.text(14)

        let message: String
        switch row.type(5) {
        case .text: message = row.text(5)
        case .null, .blob, .integer, .real:
            message = MessageTemplate.message(template: series.template, parts: row.bytes(5))
        }
        var record = IssueRecord(
            message: message, severity: series.severity, domain: series.domain, code: series.code,
            count: row.int64(4), source: series.source == SourceLocation() ? nil : series.source,
            app: series.app == Application() ? nil : series.app, fingerprint: series.fingerprint,
            reportable: series.isReportable)
        record.occurredAt = row.optionalInt64(2).map { Timestamp(milliseconds: row.int64(1) &+ $0) } ?? receivedAt
        record.firstOccurredAt = row.optionalInt64(3).map { Timestamp(milliseconds: row.int64(1) &+ $0) }
        size = message.utf8.count + (row.optionalText(6)?.utf8.count ?? 0) + (row.optionalText(7)?.utf8.count ?? 0)
        record.metadata = row.optionalText(6).flatMap { try? JSONValue(json: $0) }
        var repairs: [String] = []
        var sender = Sender(
            uid: UInt32(clamping: row.int64(15)), gid: UInt32(clamping: row.int64(20)),
            pid: Int32(clamping: row.int64(19)), command: Self.present(row.text(16)),
            executable: Self.present(row.text(17)), unit: Self.present(row.text(18)))
        if let details = row.optionalText(7), let details = try? JSONValue(json: details) {
            record.add(details, repairs: &repairs)
            if let said = details["sender"].flatMap({ try? Sender(json: $0.json) }) {
                sender = said
                repairs.append("kept under an overflow sender, since its user had too many different ones")
            }
        }
        stored = StoredRecord(
            id: id(self.row), group: GroupID.text(key: row.int64(10)), receivedAt: receivedAt, sender: sender,
            repairs: repairs, record: record)
    }

    private static func present(_ text: String) -> String? {
        text.isEmpty ? nil : text
    }
}

extension IssueRecord {
    /// Adds what few records have, from the JSON in which it is stored.
    fileprivate mutating func add(_ details: JSONValue, repairs: inout [String]) {
        if let recovered = details["recovered"] {
            let (id, time) = (recovered["id"]?.asString ?? "?", recovered["received_at"]?.asString ?? "?")
            var words = "brought over from a database that was set aside, where it was \(id), received at \(time)"
            if recovered["pending"]?.asBool == false { words += "; not forwarded again, since it had a fate there" }
            repairs.append(words)
        }
        if let original = details["original"] {
            repairs.append("kept under an overflow series, since there were too many different ones")
            if let said = IssueRecord(message: message, details: original) {
                severity = said.severity
                domain = said.domain
                code = said.code
                source = said.source
                app = said.app
                fingerprint = said.fingerprint
                reportable = said.reportable ?? true
            }
        }
        if let said = IssueRecord(message: message, details: details["more"] ?? details) {
            causes = said.causes
            backtrace = said.backtrace
        }
    }

    /// A record of which only some members were kept.
    private init?(message: String, details: JSONValue) {
        guard case .object(let members) = details else { return nil }
        let whole = JSONValue.object(members + [JSONValue.Member("message", .string(message))])
        guard let record = try? IssueRecord(json: whole.json) else { return nil }
        self = record
    }
}
