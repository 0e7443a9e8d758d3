package import IssueWire

/// What `DeadLetters` answers.
package struct DeadLettersReply: Equatable, Sendable {
    package var deadLetters: [DeadLetter]
    /// Where the next page begins.
    package var next: String?

    package init(deadLetters: [DeadLetter], next: String? = nil) {
        self.deadLetters = deadLetters
        self.next = next
    }
}

extension DeadLettersReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var deadLetters: [DeadLetter]?
        var next: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "dead_letters": try scanner.read(&deadLetters, key)
            case "next": try scanner.read(&next, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(deadLetters: try deadLetters.required("dead_letters"), next: next)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("dead_letters", deadLetters)
        writer.member("next", ifPresent: next)
        writer.closeObject()
    }
}
