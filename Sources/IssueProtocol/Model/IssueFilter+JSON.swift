package import IssueWire

extension IssueFilter: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "apps": try scanner.read(&apps, key)
            case "versions": try scanner.read(&versions, key)
            case "environments": try scanner.read(&environments, key)
            case "severity": try scanner.read(&severity, key)
            case "domains": try scanner.read(&domains, key)
            case "codes": try scanner.read(&codes, key)
            case "files": try scanner.read(&files, key)
            case "text": try scanner.read(&text, key)
            case "groups": try scanner.read(&groups, key)
            case "users": try scanner.read(&users, key)
            case "units": try scanner.read(&units, key)
            case "states": try scanner.read(&states, key)
            case "fates": try scanner.read(&fates, key)
            case "destination": try scanner.read(&destination, key)
            case "since": try scanner.read(&since, key)
            case "until": try scanner.read(&until, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("apps", ifPresent: apps)
        writer.member("versions", ifPresent: versions)
        writer.member("environments", ifPresent: environments)
        writer.member("severity", ifPresent: severity)
        writer.member("domains", ifPresent: domains)
        writer.member("codes", ifPresent: codes)
        writer.member("files", ifPresent: files)
        writer.member("text", ifPresent: text)
        writer.member("groups", ifPresent: groups)
        writer.member("users", ifPresent: users)
        writer.member("units", ifPresent: units)
        writer.member("states", ifPresent: states)
        writer.member("fates", ifPresent: fates)
        writer.member("destination", ifPresent: destination)
        writer.member("since", ifPresent: since)
        writer.member("until", ifPresent: until)
        writer.closeObject()
    }
}
