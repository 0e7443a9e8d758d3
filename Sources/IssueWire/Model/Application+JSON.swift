extension Application: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "name": try scanner.read(&name, key)
            case "version": try scanner.read(&version, key)
            case "build": try scanner.read(&build, key)
            case "environment": try scanner.read(&environment, key)
            case "platform": try scanner.read(&platform, key)
            case "network": try scanner.read(&network, key)
            case "development": try scanner.read(&development, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("name", ifPresent: name)
        writer.member("version", ifPresent: version)
        writer.member("build", ifPresent: build)
        writer.member("environment", ifPresent: environment)
        writer.member("platform", ifPresent: platform)
        writer.member("network", ifPresent: network)
        writer.member("development", ifPresent: development)
        writer.closeObject()
    }
}
