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
