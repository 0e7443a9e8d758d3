extension Frame: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "image": try scanner.read(&image, key)
            case "build_id": try scanner.read(&buildID, key)
            case "offset": try scanner.read(&offset, key)
            case "symbol": try scanner.read(&symbol, key)
            case "file": try scanner.read(&file, key)
            case "line": try scanner.read(&line, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("image", ifPresent: image)
        writer.member("build_id", ifPresent: buildID)
        writer.member("offset", ifPresent: offset)
        writer.member("symbol", ifPresent: symbol)
        writer.member("file", ifPresent: file)
        writer.member("line", ifPresent: line)
        writer.closeObject()
    }
}
