package import IssueCore
package import IssueProtocol

/// A record with its series, process and group.
package struct RecordRow: Sendable {
    package var row: Int64
    package var group: Int64
    package var account: Int64
    package var receivedAt: Timestamp
    package var isFirstOfGroup: Bool
    package var fingerprint: String
    package var accountName: String
    /// All of it, or what is its own where there is a memory of the rest.
    package var stored: StoredRecord
    /// The metadata as they are stored, where they were not read.
    package var metadata: String?
    /// What its series has in common; nothing where all of it was asked for, or the record is kept under a series that is
    /// not its own.
    package var memory: (any LineMemory)?
    /// How many bytes of it can be long.
    var size: Int

    init(_ cells: RecordCells, of series: KnownSeries, by sender: Sender, id: String, isWhole: Bool) {
        row = cells.row
        group = series.group
        account = series.account
        receivedAt = cells.receivedAt
        isFirstOfGroup = series.firstOfGroup == cells.row
        fingerprint = series.fingerprint
        accountName = series.accountName

        let kind = series.description
        let message =
            switch cells.message {
            case .whole(let text): text
            case .parts(let parts): MessageTemplate.text(template: kind.template, parts: parts)
            }
        let details = cells.details.flatMap { try? JSONValue(json: $0) }
        var record = IssueRecord(message: message, count: cells.count)
        // To copy it for each record costs more than to look it up where it is asked for.
        let isShared = !isWhole && details?["original"] == nil
        memory = isShared ? series : nil
        if !isShared { series.complete(&record) }
        let received = cells.receivedAt.milliseconds
        record.occurredAt = cells.occurred.map { Timestamp(milliseconds: received &+ $0) } ?? receivedAt
        record.firstOccurredAt = cells.firstOccurred.map { Timestamp(milliseconds: received &+ $0) }
        size = message.utf8.count + (cells.metadata?.utf8.count ?? 0) + (cells.details?.utf8.count ?? 0)
        if isWhole {
            record.metadata = cells.metadata.flatMap { try? JSONValue(json: $0) }
        } else {
            metadata = cells.metadata
        }
        var repairs: [String] = []
        var sender = sender
        if let details {
            record.add(details, repairs: &repairs)
            if let said = details["sender"].flatMap({ try? Sender(json: $0.json) }) {
                sender = said
                repairs.append("kept under an overflow sender, since its user had too many different ones")
            }
        }
        stored = StoredRecord(
            id: id, group: series.groupID, receivedAt: receivedAt, sender: sender, repairs: repairs, record: record)
    }
}

extension IssueRecord {
    /// Adds what few records have, from the JSON in which it is stored.
    fileprivate mutating func add(_ details: JSONValue, repairs: inout [String]) {
        if let recovered = details["recovered"] {
            let (id, time) = (recovered["id"]?.asString ?? "?", recovered["received_at"]?.asString ?? "?")
            var words = "brought over from a database that was set aside, where it was \(id), received at \(time)"
            if recovered["pending"]?.asBool == false { words += "; not forwarded again, since it had a fate there" }
            if recovered["series"] != nil { words += "; its place and application, and part of its words are lost" }
            if recovered["sender"] != nil { words += "; who sent it is lost, in part" }
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
