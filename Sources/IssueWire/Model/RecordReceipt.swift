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
        let members = try ReceiptMembers(from: &scanner)
        if let rejection = members.rejection {
            self = .rejected(field: rejection.field, reason: rejection.reason)
        } else if members.isDuplicate == true {
            self = .duplicate(id: members.id)
        } else if let id = members.id {
            self = .stored(id: id)
        } else {
            throw FieldError(field: "id", reason: "is required")
        }
    }

    package func write(to writer: inout JSONWriter) {
        let members =
            switch self {
            case .stored(let id): ReceiptMembers(id: id)
            case .duplicate(let id): ReceiptMembers(id: id, isDuplicate: true)
            case .rejected(let field, let reason): ReceiptMembers(rejection: Rejection(field: field, reason: reason))
            }
        members.write(to: &writer)
    }
}

/// The members of a receipt.
private struct ReceiptMembers: JSONObjectCodable {
    var id: String?
    var isDuplicate: Bool?
    var rejection: Rejection?

    static var initial: Self { Self() }

    mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("id", &id)
        try members.optional("duplicate", &isDuplicate)
        try members.optional("rejected", &rejection)
    }
}

/// The reason why a record was not accepted.
private struct Rejection: JSONObjectCodable {
    var field: String?
    var reason: String

    static var initial: Self { Self(reason: "") }

    mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("field", &field)
        try members.required("reason", &reason)
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
    package var at: IssueTimestamp?
    /// The last answer of the destination about the record.
    package var answer: String?
    /// `true` if the destination may have received the record twice.
    package var maybeDuplicate: Bool

    package init(
        destination: String, fate: Fate, attempts: Int64, at: IssueTimestamp?, answer: String?, maybeDuplicate: Bool
    ) {
        self.destination = destination
        self.fate = fate
        self.attempts = attempts
        self.at = at
        self.answer = answer
        self.maybeDuplicate = maybeDuplicate
    }
}

extension DestinationFate: JSONObjectCodable {
    package static var initial: Self {
        DestinationFate(destination: "", fate: .pending, attempts: 0, at: nil, answer: nil, maybeDuplicate: false)
    }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("destination", &destination)
        try members.required("fate", &fate)
        try members.required("attempts", &attempts)
        try members.optional("at", &at)
        try members.optional("answer", &answer)
        try members.required("maybe_duplicate", &maybeDuplicate)
    }
}
