package import IssueWire

extension StoredRecord: JSONCodable {
    /// Reads what is one flat object on the wire: the record's members stand beside the daemon's.
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var id: String?
        var group: String?
        var receivedAt: Timestamp?
        var sender: Sender?
        var repairs: [String] = []
        var message: String?
        var record = IssueRecord(message: "")
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "id": try scanner.read(&id, key)
            case "group": try scanner.read(&group, key)
            case "received_at": try scanner.read(&receivedAt, key)
            case "sender": try scanner.read(&sender, key)
            case "repairs": try scanner.read(&repairs, key)
            case "message": try scanner.read(&message, key)
            default:
                if try !record.readMember(key, from: &scanner) { try scanner.skipField(key) }
            }
        }
        record.message = try message.required("message")
        self.init(
            id: try id.required("id"),
            group: try group.required("group"),
            receivedAt: try receivedAt.required("received_at"),
            sender: try sender.required("sender"),
            repairs: repairs,
            record: record
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("id", id)
        writer.member("group", group)
        writer.member("received_at", receivedAt)
        writer.member("sender", sender)
        writer.member("repairs", repairs)
        record.writeMembers(to: &writer)
        writer.closeObject()
    }
}
