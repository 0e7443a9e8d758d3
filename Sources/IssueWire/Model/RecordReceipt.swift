/// The daemon's answer for one record of a report.
package enum RecordReceipt: Equatable, Sendable {
    /// The record is on disk under this id.
    case stored(id: String)
    /// The record was there already, under this id; none where it came so long ago that its id is no longer known.
    case duplicate(id: String?)
    /// The record was not taken.
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

/// Why a record was not taken, as it stands in its receipt.
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

/// What became of a record for one destination.
package enum Fate: UInt8, CaseIterable, Hashable, Sendable {
    case pending
    case delivered
    case summarised
    case deadLettered
    case withheld
    case expired
    case unconfirmed

    /// The word that stands for it on the wire and in tables.
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

    /// The fate that a word of the wire means, or nothing.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}

/// What became of one record for one destination, with the attempts and the last answer.
package struct DestinationFate: Equatable, Sendable {
    package var destination: String
    package var fate: Fate
    package var attempts: Int64
    package var at: Timestamp?
    package var answer: String?
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
