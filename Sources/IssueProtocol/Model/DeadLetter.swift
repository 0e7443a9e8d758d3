package import IssueWire

/// A record, or a summary, that was given up for a destination.
package struct DeadLetter: Equatable, Sendable {
    /// The record's id; of a summary `summary-` and a number.
    package var record: String
    package var destination: String
    /// Why, in a word: `refused`, `too_large` or `retries_expired`.
    package var reason: String
    package var answer: String?
    package var attempts: Int64
    package var at: Timestamp
    /// What was to be sent, where it was asked for.
    package var line: String?

    package init(
        record: String, destination: String, reason: String, answer: String? = nil, attempts: Int64, at: Timestamp,
        line: String? = nil
    ) {
        self.record = record
        self.destination = destination
        self.reason = reason
        self.answer = answer
        self.attempts = attempts
        self.at = at
        self.line = line
    }
}

extension DeadLetter: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var record: String?
        var destination: String?
        var reason: String?
        var answer: String?
        var attempts: Int64?
        var at: Timestamp?
        var line: String?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "record": try scanner.read(&record, key)
            case "destination": try scanner.read(&destination, key)
            case "reason": try scanner.read(&reason, key)
            case "answer": try scanner.read(&answer, key)
            case "attempts": try scanner.read(&attempts, key)
            case "at": try scanner.read(&at, key)
            case "line": try scanner.read(&line, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            record: try record.required("record"),
            destination: try destination.required("destination"),
            reason: try reason.required("reason"),
            answer: answer,
            attempts: try attempts.required("attempts"),
            at: try at.required("at"),
            line: line
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("record", record)
        writer.member("destination", destination)
        writer.member("reason", reason)
        writer.member("answer", ifPresent: answer)
        writer.member("attempts", attempts)
        writer.member("at", at)
        writer.member("line", ifPresent: line)
        writer.closeObject()
    }
}
