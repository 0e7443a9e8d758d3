extension DestinationFate: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var destination: String?
        var fate: Fate?
        var attempts: Int64?
        var at: Timestamp?
        var answer: String?
        var maybeDuplicate: Bool?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destination": try scanner.read(&destination, key)
            case "fate": try scanner.read(&fate, key)
            case "attempts": try scanner.read(&attempts, key)
            case "at": try scanner.read(&at, key)
            case "answer": try scanner.read(&answer, key)
            case "maybe_duplicate": try scanner.read(&maybeDuplicate, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            destination: try destination.required("destination"),
            fate: try fate.required("fate"),
            attempts: try attempts.required("attempts"),
            at: at,
            answer: answer,
            maybeDuplicate: try maybeDuplicate.required("maybe_duplicate")
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destination", destination)
        writer.member("fate", fate)
        writer.member("attempts", attempts)
        writer.member("at", ifPresent: at)
        writer.member("answer", ifPresent: answer)
        writer.member("maybe_duplicate", maybeDuplicate)
        writer.closeObject()
    }
}
