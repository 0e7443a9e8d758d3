import HTTPShipping
package import IssueCore
import IssueProtocol

/// Makes rows for the table in `config/clickhouse/schema.sql`, as `JSONEachRow` wants them.
package struct ClickHousePayload: Sendable {
    package init() {}

    package func line(of outbound: OutboundRecord) -> [UInt8] {
        let stored = outbound.stored
        let record = stored.record
        var members = Self.times(stored.believedTime.time, received: stored.receivedAt)
        members += RecordFields.members(of: outbound).map(Self.column)
        if !record.causes.isEmpty {
            members.append(.init("causes", .string(Self.text(RecordFields.causes(of: record)))))
        }
        if let metadata = outbound.metadata, !metadata.isNull {
            members.append(.init("metadata", .string(Self.text(metadata))))
        }
        return JSONValue.object(members).json
    }

    package func line(of summary: OutboundSummary) -> [UInt8] {
        let members = Self.times(summary.windowEnd, received: summary.windowEnd)
        return JSONValue.object(members + RecordFields.members(of: summary).map(Self.column)).json
    }

    /// Whole seconds for what sorts and selects, milliseconds beside them.
    private static func times(_ time: Timestamp, received: Timestamp) -> [JSONValue.Member] {
        // The type of the column ends where 32 bits do.
        let seconds = min(max(time.milliseconds / 1000, 0), Int64(UInt32.max))
        return [
            .init("time", .integer(seconds)), .init("time_ms", .integer(time.milliseconds)),
            .init("received_ms", .integer(received.milliseconds)),
        ]
    }

    /// A Boolean is a small number there, in any version.
    private static func column(_ member: JSONValue.Member) -> JSONValue.Member {
        guard let bool = member.value.asBool else { return member }
        return .init(member.key, .integer(bool ? 1 : 0))
    }

    private static func text(_ value: JSONValue) -> String { String(decoding: value.json, as: UTF8.self) }
}
