package import IssueCore
package import IssueProtocol

/// The fields of a record for a store of the team's own, by the names that its columns have.
package enum RecordFields {
    /// The fields that every row has, the time apart, whose form is the store's own.
    package static func members(of outbound: OutboundRecord) -> [JSONValue.Member] {
        let stored = outbound.stored
        let record = stored.record
        var members: [JSONValue.Member] = [
            .init("event_kind", "issue"), .init("event_id", .string(stored.id)), .init("app", .string(outbound.app)),
            .init("uid", .integer(Int64(stored.sender.uid))), .init("host", .string(outbound.host)),
            .init("severity", .string((record.severity ?? .error).name)), .init("message", .string(record.message)),
            .init("fingerprint", .string(outbound.fingerprint)), .init("group_id", .string(stored.group)),
            .init("count", .integer(record.count ?? 1)), .init("occurrences", .integer(outbound.occurrences)),
            .init("suppressed_before", .integer(outbound.suppressedBefore)),
        ]
        func put(_ key: String, _ text: String?) {
            if let text { members.append(.init(key, .string(text))) }
        }
        put("domain", record.domain)
        if let code = record.code { members.append(.init("code", .integer(code))) }
        members += application(record.app)
        put("file", record.source?.fileID)
        if let line = record.source?.line { members.append(.init("line", .integer(line))) }
        put("function", record.source?.function)
        put("unit", stored.sender.unit)
        put("command", stored.sender.command)
        if !record.backtrace.isEmpty { put("backtrace", record.backtrace.map(\.text).joined(separator: "\n")) }
        return members
    }

    /// A record's causes, each an object.
    package static func causes(of record: IssueRecord) -> JSONValue {
        .array(
            record.causes.map { cause in
                var members: [JSONValue.Member] = []
                if let domain = cause.domain { members.append(.init("domain", .string(domain))) }
                if let code = cause.code { members.append(.init("code", .integer(code))) }
                if let message = cause.message { members.append(.init("message", .string(message))) }
                return .object(members)
            })
    }

    /// The fields of what stands for records that were held back.
    package static func members(of summary: OutboundSummary) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("event_kind", "suppression_summary"), .init("event_id", .string(summary.eventID)),
            .init("app", .string(summary.app)), .init("host", .string(summary.host)),
            .init("severity", .string(summary.severity.name)), .init("message", .string(summary.title)),
            .init("suppression_reason", .string(summary.reason.rawValue)),
            .init("suppressed_count", .integer(summary.suppressedCount)),
            .init("forwarded_count", .integer(summary.forwardedCount)),
            .init("occurrences", .integer(summary.occurrences)), .init("summary_seq", .integer(summary.sequence)),
            .init("distinct_groups_suppressed", .integer(summary.distinctGroups)),
            .init("still_suppressing", .bool(summary.stillSuppressing)),
            .init("sample_event_ids", .string(summary.sampleIDs.joined(separator: ","))),
        ]
        if let fingerprint = summary.fingerprint { members.append(.init("fingerprint", .string(fingerprint))) }
        if let domain = summary.domain { members.append(.init("domain", .string(domain))) }
        if let code = summary.code { members.append(.init("code", .integer(code))) }
        return members + application(summary.application)
    }

    private static func application(_ application: Application?) -> [JSONValue.Member] {
        guard let application else { return [] }
        var members: [JSONValue.Member] = []
        for (key, text) in [
            ("version", application.version), ("environment", application.environment),
            ("platform", application.platform), ("network", application.network),
        ] {
            if let text { members.append(.init(key, .string(text))) }
        }
        if let build = application.build { members.append(.init("build", .integer(build))) }
        if let development = application.development { members.append(.init("development", .bool(development))) }
        return members
    }
}
