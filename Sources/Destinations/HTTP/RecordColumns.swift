package import IssueCore
package import IssueProtocol

/// Fields of lines, named like the columns in ClickHouse, Elasticsearch and OpenSearch.
package enum RecordColumns {
    /// Returns the fields of a record that the kinds of destination have in common. The caller adds the time, the ids
    /// of the trace, span, request and user, the causes, and the metadata.
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
        members.put("domain", record.domain)
        members.put("code", record.code)
        members += application(record.app)
        members.put("file", record.source?.fileID)
        members.put("line", record.source?.line)
        members.put("function", record.source?.function)
        members.put("unit", stored.sender.unit)
        members.put("command", stored.sender.command)
        if !record.backtrace.isEmpty { members.put("backtrace", backtrace(of: record)) }
        return members
    }

    /// Returns the backtrace as text, one frame a line.
    package static func backtrace(of record: IssueRecord) -> String {
        record.backtrace.lazy.map(\.text).joined(separator: "\n")
    }

    /// Returns the ids of a record's trace, span, request and user.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - name: Returns the name of an id's field.
    package static func context(
        of record: IssueRecord, named name: (IssueContext.Field) -> String
    ) -> [JSONValue.Member] {
        record.context.values.map { .init(name($0.field), .string($0.value)) }
    }

    /// Returns the causes of a record as an array of objects.
    package static func causes(of record: IssueRecord) -> JSONValue {
        .array(record.causes.map { object(of: $0) })
    }

    /// Returns a cause as an object.
    ///
    /// - Parameter fit: Returns a text, shortened if necessary.
    static func object(of cause: IssueCause, fitting fit: (String) -> String = { $0 }) -> JSONValue {
        var members: [JSONValue.Member] = []
        members.put("domain", cause.domain.map(fit))
        members.put("code", cause.code.map { Int64($0) })
        if !cause.message.isEmpty { members.put("message", fit(cause.message)) }
        return .object(members)
    }

    /// Returns the fields of a summary that the kinds of destination have in common, except the times.
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
        members.put("uid", summary.uid.map { Int64($0) })
        members.put("group_id", summary.group)
        members.put("fingerprint", summary.fingerprint)
        members.put("domain", summary.domain)
        members.put("code", summary.code)
        return members + application(summary.application)
    }

    /// Returns the text of a summary, with its count.
    static func message(of summary: OutboundSummary) -> String {
        let count = Quantity.text(summary.suppressedCount)
        if summary.fingerprint != nil { return "\(count) more of: \(summary.title)" }
        return "\(count) more of \(Quantity.text(summary.distinctGroups, "issue")) of \(summary.app)"
    }

    /// Returns the times of a summary as text, except the end of its window, which is the time of the line.
    package static func times(of summary: OutboundSummary) -> [JSONValue.Member] {
        [
            .init("window_start", .string(summary.windowStart.description)),
            .init("first_seen", .string(summary.firstSeen.description)),
            .init("last_seen", .string(summary.lastSeen.description)),
        ]
    }

    /// Returns the fields that a correction shares with records, except the time.
    package static func members(of outbound: OutboundCorrection) -> [JSONValue.Member] {
        let correction = outbound.correction
        return [
            .init("event_kind", "correction"), .init("event_id", .string(outbound.eventID)),
            .init("app", .string(correction.app)), .init("uid", .integer(Int64(correction.user))),
            .init("host", .string(outbound.host)), .init("severity", .string(IssueLevel.info.name)),
            .init("message", .string(outbound.message)), .init("fingerprint", .string(outbound.fingerprint)),
            .init("group_id", .string(correction.group)),
        ]
    }

    /// Returns the fields that only corrections have.
    package static func details(of outbound: OutboundCorrection) -> [JSONValue.Member] {
        let correction = outbound.correction
        var members: [JSONValue.Member] = [
            .init("correction", .integer(correction.id)),
            .init("correction_action", .string(outbound.action)),
        ]
        members.put("correction_undone", outbound.isUndone ? correction.kind.rawValue : nil)
        members.put("other_group_id", correction.other)
        members.put("other_fingerprint", outbound.otherFingerprint)
        members.put("correction_template", correction.template)
        members.put("correction_field", correction.field?.rawValue)
        members.put("correction_author", Int64(correction.author))
        members.put("correction_reason", correction.reason)
        return members
    }

    private static func application(_ application: Application?) -> [JSONValue.Member] {
        guard let application else { return [] }
        var members: [JSONValue.Member] = []
        members.put("version", application.version)
        members.put("environment", application.environment)
        members.put("platform", application.platform)
        members.put("network", application.network)
        members.put("build", application.build)
        if let development = application.development { members.append(.init("development", .bool(development))) }
        return members
    }
}

/// Values that every receiver can read.
extension RecordColumns {
    /// The maximum size of a number, in bytes. Receivers limit its length: Python allows 4,300 digits, and Jackson
    /// 1,000.
    private static let maxNumberBytes = 64

    /// Returns `true` if every receiver can read a number of JSON as a double. Any other number must be sent as text,
    /// because some receivers would change it or refuse the whole request. The other numbers are:
    ///
    /// - numbers of more than 64 bytes,
    /// - integers that do not fit into 64 bits, because they would lose their last digits,
    /// - numbers that are infinite as a double, because the mapping of Protocol Buffers to JSON forbids them,
    /// - numbers that are too small to be normal, and zeros with an exponent other than zero, because some receivers
    ///   can't read the exponent.
    ///
    /// - Parameter spelling: The value of a `JSONValue.number`.
    static func isReadableDouble(_ spelling: String) -> Bool {
        let bytes = spelling.utf8
        guard bytes.count <= maxNumberBytes, let number = Double(spelling),
            bytes.contains(where: { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") })
        else { return false }
        return number.isNormal || !bytes.contains { (0x31...0x39).contains($0) }
    }

    /// Returns a value that every receiver can read. Texts replace the numbers that some receivers can't read. Of
    /// several members with the same key, only the last one is kept.
    static func portable(_ value: JSONValue) -> JSONValue {
        switch value {
        case .null, .bool, .integer, .string: value
        case .number(let spelling): isReadableDouble(spelling) ? value : .string(spelling)
        case .array(let elements): .array(elements.map { portable($0) })
        case .object(let members): .object(ReservedKeys.unique(members).map { .init($0.key, portable($0.value)) })
        }
    }
}

extension [JSONValue.Member] {
    /// Appends a text, unless it is nil.
    mutating func put(_ key: String, _ text: String?) {
        if let text { append(.init(key, .string(text))) }
    }

    /// Appends a number, unless it is nil.
    mutating func put(_ key: String, _ number: Int64?) {
        if let number { append(.init(key, .integer(number))) }
    }
}

extension BacktraceFrame {
    /// The frame as a line of text. If the frame has no symbol, the line includes the build id, if known, which is
    /// needed to find the symbol.
    package var text: String {
        var parts: [String] = []
        if let symbol { parts.append(symbol) }
        if let file { parts.append("at \(file)\(line.map { ":\($0)" } ?? "")") }
        let address = [image, offset.map { "0x\(String($0, radix: 16))" }].compactMap(\.self)
        if !address.isEmpty {
            parts.append(symbol == nil ? address.joined(separator: "+") : "in \(address.joined(separator: "+"))")
        }
        if symbol == nil, let buildID { parts.append("(build \(buildID))") }
        let text = parts.isEmpty ? "?" : parts.joined(separator: " ")
        return String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == "\n" || $0 == "\r" ? " " : $0 }))
    }
}

extension StoredRecord {
    /// The time that the sender claims or, if it is missing or more than 7 days off, the time of receipt. `repair`
    /// describes the replacement of a claimed time; nil if none was replaced.
    package var plausibleTime: (time: IssueTimestamp, repair: String?) {
        guard let claimed = record.occurredAt else { return (receivedAt, nil) }
        let (distance, overflow) = claimed.millisecondsSince1970.subtractingReportingOverflow(
            receivedAt.millisecondsSince1970)
        if !overflow, distance.magnitude <= Self.maxClockDeviation { return (claimed, nil) }
        return (
            receivedAt,
            "occurred_at is more than 7 days off (\(claimed.description)) and was replaced by the time of receipt"
        )
    }

    /// Seven days in milliseconds.
    private static let maxClockDeviation: UInt64 = 7 * 86_400_000
}
