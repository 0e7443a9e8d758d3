package import IssueWire

/// What `Repair` is called with.
package struct RepairParameters: Equatable, Sendable {
    /// The file that was set aside, by its name; all of them where none is named.
    package var file: String?
    /// Whether the files are only to be named.
    package var isDryRun: Bool?

    package init(file: String? = nil, isDryRun: Bool? = nil) {
        self.file = file
        self.isDryRun = isDryRun
    }
}

extension RepairParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "file": try scanner.read(&file, key)
            case "dry_run": try scanner.read(&isDryRun, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("file", ifPresent: file)
        writer.member("dry_run", ifPresent: isDryRun)
        writer.closeObject()
    }
}
