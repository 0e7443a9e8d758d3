/// The daemon's reply for one record of a report.
package enum RecordReceipt: Equatable, Sendable {
    /// The record is on disk under this id.
    case stored(id: String)
    /// The record had been stored before. The id is nil if that was too long ago for the daemon to know it.
    case duplicate(id: String?)
    /// The record was not accepted.
    case rejected(field: String?, reason: String)
}

extension RecordReceipt: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var id: String?
        var duplicate: Bool?
        var rejection: Rejection?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "id": try scanner.read(&id, key)
            case "duplicate": try scanner.read(&duplicate, key)
            case "rejected": try scanner.read(&rejection, key)
            default: try scanner.skipField(key)
            }
        }
        if let rejection {
            self = .rejected(field: rejection.field, reason: rejection.reason)
        } else if duplicate == true {
            self = .duplicate(id: id)
        } else {
            self = .stored(id: try id.required("id"))
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        switch self {
        case .stored(let id): writer.member("id", id)
        case .duplicate(let id):
            writer.member("id", ifPresent: id)
            writer.member("duplicate", true)
        case .rejected(let field, let reason):
            writer.member("rejected", Rejection(field: field, reason: reason))
        }
        writer.closeObject()
    }
}

/// The reason why a record was not accepted, as a member of its receipt.
private struct Rejection: JSONCodable {
    var field: String?
    var reason: String

    init(field: String?, reason: String) {
        self.field = field
        self.reason = reason
    }

    init(from scanner: inout JSONScanner) throws(FieldError) {
        var field: String?
        var reason: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "field": try scanner.read(&field, key)
            case "reason": try scanner.read(&reason, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(field: field, reason: try reason.required("reason"))
    }

    func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("field", ifPresent: field)
        writer.member("reason", reason)
        writer.closeObject()
    }
}

/// The fate of a record at one destination.
package enum Fate: UInt8, CaseIterable, Hashable, Sendable {
    case pending
    case delivered
    case summarised
    case deadLettered
    case withheld
    case expired
    case unconfirmed

    /// The name of the fate on the wire and in tables.
    package var name: String {
        switch self {
        case .pending: "pending"
        case .delivered: "delivered"
        case .summarised: "summarised"
        case .deadLettered: "dead_lettered"
        case .withheld: "withheld"
        case .expired: "expired"
        case .unconfirmed: "unconfirmed"
        }
    }

    /// Returns the fate with a name, or nil if no such fate exists.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}

/// The fate of one record at one destination, with the number of attempts and the last answer.
package struct DestinationFate: Equatable, Sendable {
    package var destination: String
    package var fate: Fate
    /// The number of attempts to send the record's batch or a part of it.
    package var attempts: Int64
    /// The time at which the record got its fate; nil if it is pending.
    package var at: Timestamp?
    /// The last answer of the destination about the record.
    package var answer: String?
    /// `true` if the destination may have received the record twice.
    package var maybeDuplicate: Bool

    package init(
        destination: String, fate: Fate, attempts: Int64, at: Timestamp?, answer: String?, maybeDuplicate: Bool
    ) {
        self.destination = destination
        self.fate = fate
        self.attempts = attempts
        self.at = at
        self.answer = answer
        self.maybeDuplicate = maybeDuplicate
    }
}

extension DestinationFate: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var destination: String?
        var fate: Fate?
        var attempts: Int64?
        var at: Timestamp?
        var answer: String?
        var maybeDuplicate: Bool?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destination": try scanner.read(&destination, key)
            case "fate": try scanner.read(&fate, key)
            case "attempts": try scanner.read(&attempts, key)
            case "at": try scanner.read(&at, key)
            case "answer": try scanner.read(&answer, key)
            case "maybe_duplicate": try scanner.read(&maybeDuplicate, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            destination: try destination.required("destination"),
            fate: try fate.required("fate"),
            attempts: try attempts.required("attempts"),
            at: at,
            answer: answer,
            maybeDuplicate: try maybeDuplicate.required("maybe_duplicate")
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destination", destination)
        writer.member("fate", fate)
        writer.member("attempts", attempts)
        writer.member("at", ifPresent: at)
        writer.member("answer", ifPresent: answer)
        writer.member("maybe_duplicate", maybeDuplicate)
        writer.closeObject()
    }
}
