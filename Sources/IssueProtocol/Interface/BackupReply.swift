package import IssueWire

/// What `Backup` answers: how far the copy is, and where it lies once it is whole.
package struct BackupReply: Equatable, Sendable {
    package var path: String?
    /// The index of the copy among the descriptors that came with this reply, which is 0, if it was asked for.
    package var descriptor: Int64?
    package var bytesDone: Int64
    package var bytesTotal: Int64

    package init(path: String? = nil, descriptor: Int64? = nil, bytesDone: Int64, bytesTotal: Int64) {
        self.path = path
        self.descriptor = descriptor
        self.bytesDone = bytesDone
        self.bytesTotal = bytesTotal
    }
}

extension BackupReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var path: String?
        var descriptor: Int64?
        var bytesDone: Int64?
        var bytesTotal: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "path": try scanner.read(&path, key)
            case "descriptor": try scanner.read(&descriptor, key)
            case "bytes_done": try scanner.read(&bytesDone, key)
            case "bytes_total": try scanner.read(&bytesTotal, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            path: path,
            descriptor: descriptor,
            bytesDone: try bytesDone.required("bytes_done"),
            bytesTotal: try bytesTotal.required("bytes_total")
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("path", ifPresent: path)
        writer.member("descriptor", ifPresent: descriptor)
        writer.member("bytes_done", bytesDone)
        writer.member("bytes_total", bytesTotal)
        writer.closeObject()
    }
}
