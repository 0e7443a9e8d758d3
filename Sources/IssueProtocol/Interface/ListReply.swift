package import IssueWire

/// What `List` answers: a page of groups.
package struct ListReply: Equatable, Sendable {
    package var groups: [IssueGroup]
    /// Where the next page begins, when there is one.
    package var next: String?

    package init(groups: [IssueGroup], next: String? = nil) {
        self.groups = groups
        self.next = next
    }
}

extension ListReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var groups: [IssueGroup] = []
        var next: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "groups": try scanner.read(&groups, key)
            case "next": try scanner.read(&next, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            groups: groups,
            next: next
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("groups", groups)
        writer.member("next", ifPresent: next)
        writer.closeObject()
    }
}
