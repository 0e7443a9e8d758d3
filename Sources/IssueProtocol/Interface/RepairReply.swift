package import IssueWire

/// What `Repair` answers: how far it is, and of which files.
package struct RepairReply: Equatable, Sendable {
    package var recovered: Int64
    package var unreadable: Int64
    package var isDone: Bool
    package var files: [String]
    /// Those of them of which nothing can be read, which stay as they are.
    package var hopeless: [String]

    package init(
        recovered: Int64 = 0, unreadable: Int64 = 0, isDone: Bool = false, files: [String] = [],
        hopeless: [String] = []
    ) {
        self.recovered = recovered
        self.unreadable = unreadable
        self.isDone = isDone
        self.files = files
        self.hopeless = hopeless
    }
}

extension RepairReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var recovered: Int64?
        var unreadable: Int64?
        var isDone: Bool?
        var files: [String] = []
        var hopeless: [String] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "recovered": try scanner.read(&recovered, key)
            case "unreadable": try scanner.read(&unreadable, key)
            case "done": try scanner.read(&isDone, key)
            case "files": try scanner.read(&files, key)
            case "hopeless": try scanner.read(&hopeless, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            recovered: try recovered.required("recovered"),
            unreadable: try unreadable.required("unreadable"),
            isDone: try isDone.required("done"),
            files: files,
            hopeless: hopeless
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("recovered", recovered)
        writer.member("unreadable", unreadable)
        writer.member("done", isDone)
        writer.member("files", files)
        if !hopeless.isEmpty { writer.member("hopeless", hopeless) }
        writer.closeObject()
    }
}
