import IssueProtocol

/// Counters of everything the listener has received.
package struct FakeLogzStats: Hashable, Sendable {
    package var requests = 0
    /// The connections accepted since the start, also before a reset.
    package var connections = 0
    package var acceptedLines = 0
    package var distinctEventIDs = 0
    /// Accepted lines whose `event_id` had been accepted before.
    package var duplicates = 0
    /// Accepted lines with a tag.
    package var taggedLines = 0

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("requests", Int64(requests))
            writer.member("connections", Int64(connections))
            writer.member("accepted", Int64(acceptedLines))
            writer.member("distinct_event_ids", Int64(distinctEventIDs))
            writer.member("duplicates", Int64(duplicates))
            writer.member("tagged", Int64(taggedLines))
        }
    }
}
