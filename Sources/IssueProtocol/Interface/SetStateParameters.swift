package import IssueWire

/// What `SetState` is called with.
package struct SetStateParameters: Equatable, Sendable {
    package var group: String
    package var state: GroupState
    /// When a mute ends by itself.
    package var until: Timestamp?
    /// Whether only a newer version of the application undoes it.
    package var untilNewerVersion: Bool?

    package init(group: String, state: GroupState, until: Timestamp? = nil, untilNewerVersion: Bool? = nil) {
        self.group = group
        self.state = state
        self.until = until
        self.untilNewerVersion = untilNewerVersion
    }
}

extension SetStateParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var group: String?
        var state: GroupState?
        var until: Timestamp?
        var untilNewerVersion: Bool?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "group": try scanner.read(&group, key)
            case "state": try scanner.read(&state, key)
            case "until": try scanner.read(&until, key)
            case "until_newer_version": try scanner.read(&untilNewerVersion, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            group: try group.required("group"),
            state: try state.required("state"),
            until: until,
            untilNewerVersion: untilNewerVersion
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("group", group)
        writer.member("state", state)
        writer.member("until", ifPresent: until)
        writer.member("until_newer_version", ifPresent: untilNewerVersion)
        writer.closeObject()
    }
}
