extension SourceLocation: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "file_id": try scanner.read(&fileID, key)
            case "line": try scanner.read(&line, key)
            case "column": try scanner.read(&column, key)
            case "function": try scanner.read(&function, key)
            case "module": try scanner.read(&module, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("file_id", ifPresent: fileID)
        writer.member("line", ifPresent: line)
        writer.member("column", ifPresent: column)
        writer.member("function", ifPresent: function)
        writer.member("module", ifPresent: module)
        writer.closeObject()
    }
}
