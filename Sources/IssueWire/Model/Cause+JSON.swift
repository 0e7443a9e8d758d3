extension Cause: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "domain": try scanner.read(&domain, key)
            case "code": try scanner.read(&code, key)
            case "message": try scanner.read(&message, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("domain", ifPresent: domain)
        writer.member("code", ifPresent: code)
        writer.member("message", ifPresent: message)
        writer.closeObject()
    }
}
