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
