package import IssueWire

/// The parameters of `Backup`.
package struct BackupParameters: Equatable, Sendable {
    /// `true` to be given the copy as an open file along with the last reply. No copy stays in the daemon's folder then.
    package var descriptor: Bool?

    package init(descriptor: Bool? = nil) {
        self.descriptor = descriptor
    }
}

extension BackupParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "descriptor": try scanner.read(&descriptor, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("descriptor", ifPresent: descriptor)
        writer.closeObject()
    }
}
