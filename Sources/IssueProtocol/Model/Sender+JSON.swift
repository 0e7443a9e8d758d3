package import IssueWire

extension Sender: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var uid: UInt32?
        var gid: UInt32?
        var pid: Int32?
        var command: String?
        var executable: String?
        var unit: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "uid": try scanner.read(&uid, key)
            case "gid": try scanner.read(&gid, key)
            case "pid": try scanner.read(&pid, key)
            case "command": try scanner.read(&command, key)
            case "executable": try scanner.read(&executable, key)
            case "unit": try scanner.read(&unit, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            uid: try uid.required("uid"),
            gid: try gid.required("gid"),
            pid: try pid.required("pid"),
            command: command,
            executable: executable,
            unit: unit
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("uid", uid)
        writer.member("gid", gid)
        writer.member("pid", pid)
        writer.member("command", ifPresent: command)
        writer.member("executable", ifPresent: executable)
        writer.member("unit", ifPresent: unit)
        writer.closeObject()
    }
}
