extension IssueRecord: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var message: String?
        self.init(message: "")
        try scanner.openFields()
        while let key = try scanner.nextField() {
            if key == "message" {
                try scanner.read(&message, key)
            } else if try !readMember(key, from: &scanner) {
                try scanner.skipField(key)
            }
        }
        self.message = try message.required("message")
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writeMembers(to: &writer)
        writer.closeObject()
    }

    /// Reads any member but the message, or says that a record has none of that name.
    package mutating func readMember(_ key: String, from scanner: inout JSONScanner) throws(FieldError) -> Bool {
        switch key {
        case "severity": try scanner.read(&severity, key)
        case "domain": try scanner.read(&domain, key)
        case "code": try scanner.read(&code, key)
        case "occurred_at": try scanner.read(&occurredAt, key)
        case "first_occurred_at": try scanner.read(&firstOccurredAt, key)
        case "count": try scanner.read(&count, key)
        case "source": try scanner.read(&source, key)
        case "app": try scanner.read(&app, key)
        case "fingerprint": try scanner.read(&fingerprint, key)
        case "backtrace": try scanner.read(&backtrace, key)
        case "causes": try scanner.read(&causes, key)
        case "metadata":
            try scanner.read(&metadata, key)
            if let metadata, metadata.asObject == nil { throw FieldError(field: key, reason: "must be an object") }
        case "reportable": try scanner.read(&reportable, key)
        default: return false
        }
        return true
    }

    /// Writes the members without the object around them, which may hold more.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("message", message)
        writer.member("severity", ifPresent: severity)
        writer.member("domain", ifPresent: domain)
        writer.member("code", ifPresent: code)
        writer.member("occurred_at", ifPresent: occurredAt)
        writer.member("first_occurred_at", ifPresent: firstOccurredAt)
        writer.member("count", ifPresent: count)
        writer.member("source", ifPresent: source)
        writer.member("app", ifPresent: app)
        writer.member("fingerprint", ifPresent: fingerprint)
        if !backtrace.isEmpty { writer.member("backtrace", backtrace) }
        if !causes.isEmpty { writer.member("causes", causes) }
        writer.member("metadata", ifPresent: metadata)
        writer.member("reportable", ifPresent: reportable)
    }
}
