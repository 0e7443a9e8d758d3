package import IssueWire

extension Suppression: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var destination: String?
        var app: String?
        var group: String?
        var reason: SuppressionReason?
        var count: Int64?
        var since: Timestamp?
        var groups: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destination": try scanner.read(&destination, key)
            case "app": try scanner.read(&app, key)
            case "group": try scanner.read(&group, key)
            case "reason": try scanner.read(&reason, key)
            case "count": try scanner.read(&count, key)
            case "since": try scanner.read(&since, key)
            case "groups": try scanner.read(&groups, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            destination: try destination.required("destination"),
            app: app,
            group: group,
            reason: try reason.required("reason"),
            count: try count.required("count"),
            since: try since.required("since"),
            groups: groups
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destination", destination)
        writer.member("app", ifPresent: app)
        writer.member("group", ifPresent: group)
        writer.member("reason", reason)
        writer.member("count", count)
        writer.member("since", since)
        writer.member("groups", ifPresent: groups)
        writer.closeObject()
    }
}
