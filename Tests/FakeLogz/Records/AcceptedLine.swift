package import IssueProtocol

/// A line that the listener accepted, regardless of the response.
package struct AcceptedLine: Hashable, Sendable {
    package let connection: Int
    package let request: Int
    package let text: String
    /// The members of the line; none if the line is nested too deeply to be examined.
    package let fields: JSONValue
    package let eventID: String?
    /// The `type` of the line, otherwise that of the query, otherwise the service's default.
    package let type: String
    package let tags: Set<LineTag>

    /// Returns the value of a field.
    package subscript(field: String) -> JSONValue? {
        fields[field]
    }

    /// Writes the line and its origin. `event` is set for the ledger.
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
            // The line is JSON already, and is written unchanged.
            writer.key("fields")
            writer.raw(text)
        }
    }
}
