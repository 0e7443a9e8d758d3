/// The parameters of all errors that are known, each where its error has it.
struct ErrorDetails {
    var index: Int?
    var field: String?
    var reason: String?
    var limit: Int?
    var retryAfter: Duration?
    var id: String?
    var interface: String?
    var method: String?
    var parameter: String?
}

extension ErrorDetails {
    init(json: Span<UInt8>) throws(FieldError) {
        var scanner = JSONScanner(json)
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "index": try scanner.read(&index, key)
            case "field": try scanner.read(&field, key)
            case "reason": try scanner.read(&reason, key)
            case "limit": try scanner.read(&limit, key)
            case "retry_after": try scanner.read(&retryAfter, key)
            case "id": try scanner.read(&id, key)
            case "interface": try scanner.read(&interface, key)
            case "method": try scanner.read(&method, key)
            case "parameter": try scanner.read(&parameter, key)
            default: try scanner.skipField(key)
            }
        }
    }
}
