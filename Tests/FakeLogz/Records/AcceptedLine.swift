package import IssueProtocol

/// A line that the listener took, whatever it then said about it.
package struct AcceptedLine: Hashable, Sendable {
    package let connection: Int
    package let request: Int
    package let text: String
    package let fields: JSONValue
    package let eventID: String?
    /// The line's own `type`, else the query's, else the service's default.
    package let type: String
    package let tags: Set<LineTag>

    /// The value of a field.
    package subscript(field: String) -> JSONValue? {
        fields[field]
    }

    /// Writes the line with where it came from; `event` is for the ledger.
    func write(to writer: inout JSONWriter, event: String? = nil) {
        writer.object { writer in
            writer.member("event", ifPresent: event)
            writer.member("connection", Int64(connection))
            writer.member("request", Int64(request))
            writer.member("event_id", ifPresent: eventID)
            writer.member("type", type)
            writer.key("tags")
            writer.array { writer in
                for tag in tags.map(\.rawValue).sorted() { writer.string(tag) }
            }
            // The line is JSON already, and stays as it was sent.
            writer.key("fields")
            writer.raw(text)
        }
    }
}
