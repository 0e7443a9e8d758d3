package import IssueWire

/// What `Requeue` answers: how many are pending again.
package struct RequeueReply: Equatable, Sendable {
    package var count: Int64
    /// How many stay what they are, as their record is gone or their destination is not configured any more.
    package var left: Int64

    package init(count: Int64, left: Int64 = 0) {
        self.count = count
        self.left = left
    }
}

extension RequeueReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var count: Int64?
        var left: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "count": try scanner.read(&count, key)
            case "left": try scanner.read(&left, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(count: try count.required("count"), left: left ?? 0)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("count", count)
        writer.member("left", left)
        writer.closeObject()
    }
}
