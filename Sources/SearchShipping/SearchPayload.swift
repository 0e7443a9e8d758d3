import HTTPShipping
package import IssueCore
import IssueProtocol

/// Makes the two lines that `_bulk` wants for each document, as one.
package struct SearchPayload: Sendable {
    private let index: String

    package init(index: String) {
        self.index = index
    }

    package func line(of outbound: OutboundRecord) -> [UInt8] {
        let stored = outbound.stored
        var members: [JSONValue.Member] = [
            .init("@timestamp", .string(stored.believedTime.time.text)),
            .init("received_at", .string(stored.receivedAt.text)),
        ]
        members += RecordFields.members(of: outbound)
        if !stored.record.causes.isEmpty { members.append(.init("causes", RecordFields.causes(of: stored.record))) }
        if let metadata = outbound.metadata, !metadata.isNull { members.append(.init("metadata", metadata)) }
        return document(members, id: stored.id)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] {
        let times: [JSONValue.Member] = [
            .init("@timestamp", .string(summary.windowEnd.text)),
            .init("window_start", .string(summary.windowStart.text)),
            .init("first_seen", .string(summary.firstSeen.text)), .init("last_seen", .string(summary.lastSeen.text)),
        ]
        return document(times + RecordFields.members(of: summary), id: summary.eventID)
    }

    /// `create` with an id of our own: what is there already is answered with 409 and not stored twice.
    private func document(_ members: [JSONValue.Member], id: String) -> [UInt8] {
        let action = JSONValue.object([
            .init("create", .object([.init("_index", .string(index)), .init("_id", .string(id))]))
        ])
        return action.json + [UInt8(ascii: "\n")] + JSONValue.object(members).json
    }
}
