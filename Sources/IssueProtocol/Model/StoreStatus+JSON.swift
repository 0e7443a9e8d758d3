package import IssueWire

extension StoreStatus: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var id: String?
        var records: Int64?
        var groups: Int64?
        var bytes: Int64?
        var oldest: Timestamp?
        var freeBytes: Int64?
        var faults: [String] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "id": try scanner.read(&id, key)
            case "records": try scanner.read(&records, key)
            case "groups": try scanner.read(&groups, key)
            case "bytes": try scanner.read(&bytes, key)
            case "oldest": try scanner.read(&oldest, key)
            case "free_bytes": try scanner.read(&freeBytes, key)
            case "faults": try scanner.read(&faults, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            id: try id.required("id"),
            records: try records.required("records"),
            groups: try groups.required("groups"),
            bytes: bytes,
            oldest: oldest,
            freeBytes: freeBytes,
            faults: faults
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("id", id)
        writer.member("records", records)
        writer.member("groups", groups)
        writer.member("bytes", ifPresent: bytes)
        writer.member("oldest", ifPresent: oldest)
        writer.member("free_bytes", ifPresent: freeBytes)
        writer.member("faults", faults)
        writer.closeObject()
    }
}
