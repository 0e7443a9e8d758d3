package import IssueWire

/// What `SetState` answers: the group as it is then.
package struct SetStateReply: Equatable, Sendable {
    package var group: IssueGroup

    package init(group: IssueGroup) {
        self.group = group
    }
}

extension SetStateReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var group: IssueGroup?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "group": try scanner.read(&group, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(group: try group.required("group"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("group", group)
        writer.closeObject()
    }
}
