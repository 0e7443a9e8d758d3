package import IssueCore
import IssueProtocol

/// The lines for Logz.io.
///
/// The fields of jww-error-reporting keep their names and types, so that existing dashboards work. A line is compact
/// JSON without line feeds, and is identical each time the same record is formatted.
extension LogzFormat {
    /// Returns a line that was too large, trimmed as far as possible; nil if it cannot be trimmed any further.
    package func cut(_ line: [UInt8]) -> [UInt8]? {
        guard var draft = LineDraft(line: line) else { return nil }
        for step in TrimStep.allCases { draft.trim(step) }
        let bytes = draft.bytes
        return bytes.count < line.count ? bytes : nil
    }
}

extension LogzFormat {
    /// Returns the line of a record.
    package func line(of outbound: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        let stored = outbound.own
        let record = stored.record
        let (time, timeRepair) = stored.believedTime

        var line = LineWriter()
        var cached = outbound.memory?.cachedLine ?? CachedLine()
        var shared = SharedParts(cached.parts)
        let moment = time.description
        line.put("@timestamp", moment)
        line.put(&shared) { line in
            line.put("type", type)
            line.put("event_kind", "issue")
        }
        line.put("event_id", stored.id)
        line.put(&shared) { line in
            line.put("code", outbound.stored.record.code ?? 0)
            line.putDomain(outbound.stored.record.domain, app: outbound.app)
        }
        line.put("message", record.message)
        line.put(&shared) { line in line.putEnvironment(outbound.stored.record.app) }
        line.put("reported_at", moment)
        line.put(&shared) { line in line.putMobile(outbound.stored.record.app) }
        let metadata = putMetadata(of: outbound, into: &line, types: &types, &cached)
        line.put(&shared) { line in
            let record = outbound.stored.record
            line.put("severity", (record.severity ?? .error).name)
            line.put("app", outbound.app)
            line.put("file", ifPresent: record.source?.fileID)
            line.put("line", ifPresent: record.source?.line)
            line.put("function", ifPresent: record.source?.function)
            line.put("host", outbound.host)
        }
        line.put("unit", ifPresent: stored.sender.unit)
        line.put("uid", Int64(stored.sender.uid))
        for (field, id) in record.context.values { line.put(field.columnName, id) }
        line.put(&shared) { line in line.put("fingerprint", outbound.fingerprint) }
        // Cut fields are named at the end of the line. The next line would omit them if it copied these parts.
        if !shared.written.isEmpty, line.truncated.names.isEmpty { cached.parts = shared.written }
        outbound.memory?.cachedLine = cached
        line.put("occurrences", outbound.occurrences)
        line.put("suppressed_before", outbound.suppressedBefore)
        line.putCauses(record.causes)
        if !record.backtrace.isEmpty {
            line.put("backtrace", RecordColumns.backtrace(of: record))
        }
        if !metadata.context.isEmpty {
            line.put("context_json", String(decoding: JSONValue.object(metadata.context).json, as: UTF8.self))
        }
        line.putRepairs(stored.repairs + [timeRepair].compactMap(\.self) + metadata.repairs)
        return line.line()
    }

    private static func metadata(of outbound: OutboundRecord) -> (members: [JSONValue.Member], repairs: [String]) {
        guard let metadata = outbound.metadata, !metadata.isNull else { return ([], []) }
        // Anything but an object is rejected before it is stored.
        guard let members = metadata.asObject else { return ([.init("value", metadata)], []) }
        let (renamed, keys) = ReservedKeys.renamed(in: members)
        return (renamed, keys.map { "the metadata key \($0) is reserved and was renamed" })
    }

    /// Writes the metadata that fits, and returns the rest.
    private func putMetadata(
        of outbound: OutboundRecord, into line: inout LineWriter, types: inout FieldTypes, _ cached: inout CachedLine
    ) -> (context: [JSONValue.Member], repairs: [String]) {
        if cached.metadataName.isEmpty {
            cached.metadataName =
                metadataKey ?? "\(Self.fieldName(of: outbound.stored.record.app?.platform)).metadata"
        }
        let name = cached.metadataName
        if let text = outbound.storedMetadata {
            var plain = PlainMetadata(under: name, cached.fields)
            if let json = plain.json(of: text, types) {
                line.put(name, json: json)
                cached.fields = plain.fields
                return ([], [])
            }
        }
        let (members, repairs) = Self.metadata(of: outbound)
        guard !members.isEmpty else { return ([], repairs) }
        var fitting = MetadataFitting(types: types)
        if let object = fitting.fit(members, under: name) { line.put(name, object) }
        types = fitting.types
        if fitting.truncated.count > LineLimits.truncatedNames {
            line.noteTruncated(name)
        } else {
            for path in fitting.truncated { line.noteTruncated(path) }
        }
        return (fitting.context, repairs)
    }

    /// The platform is chosen by the sender, and not every name can be part of a field name.
    private static func fieldName(of platform: String?) -> String {
        guard let platform = platform?.lowercased(), (1...32).contains(platform.utf8.count),
            platform.utf8.allSatisfy(ReservedKeys.isLetterOrDigit)
        else { return "linux" }
        return platform
    }
}

extension LogzFormat {
    /// Returns the line of a summary of suppressed records.
    package func line(of summary: OutboundSummary) -> [UInt8] {
        var line = LineWriter()
        line.put("@timestamp", summary.windowEnd.description)
        line.put("type", type)
        line.put("event_kind", "suppression_summary")
        line.put("event_id", summary.eventID)
        line.put("code", summary.code ?? 0)
        line.putDomain(summary.domain, app: summary.app)
        line.put("message", Self.message(of: summary))
        line.putEnvironment(summary.application)
        line.put("reported_at", summary.windowEnd.description)
        line.putMobile(summary.application)
        line.put("severity", summary.severity.name)
        line.put("app", summary.app)
        line.put("host", summary.host)
        line.put("fingerprint", ifPresent: summary.fingerprint)
        line.put("suppression_reason", summary.reason.rawValue)
        line.put("window_start", summary.windowStart.description)
        line.put("window_end", summary.windowEnd.description)
        line.put("suppressed_count", summary.suppressedCount)
        line.put("forwarded_count", summary.forwardedCount)
        line.put("occurrences", summary.occurrences)
        line.put("summary_seq", summary.sequence)
        line.put("first_seen", summary.firstSeen.description)
        line.put("last_seen", summary.lastSeen.description)
        line.put("distinct_groups_suppressed", summary.distinctGroups)
        line.put("sample_event_ids", summary.sampleIDs.joined(separator: ","))
        line.put("still_suppressing", .bool(summary.stillSuppressing))
        return line.line()
    }

    private static func message(of summary: OutboundSummary) -> String {
        let count = grouped(summary.suppressedCount)
        if summary.fingerprint != nil { return "\(count) more of: \(summary.title)" }
        let groups = "\(count) more of \(grouped(summary.distinctGroups)) issues"
        return summary.title.isEmpty ? groups : "\(groups): \(summary.title)"
    }

    /// Returns the number with commas between thousands, in any locale.
    private static func grouped(_ number: Int64) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }
}

extension LogzFormat {
    /// Returns the line of a correction of the grouping.
    package func line(of correction: OutboundCorrection) -> [UInt8] {
        let time = correction.correction.timestamp.description
        var line = LineWriter()
        line.put("@timestamp", time)
        line.put("type", type)
        line.put("code", Int64(0))
        line.putDomain(nil, app: correction.correction.app)
        line.putEnvironment(nil)
        line.put("reported_at", time)
        line.putMobile(nil)
        line.put("occurrences", Int64(0))
        for member in RecordColumns.members(of: correction) + RecordColumns.details(of: correction) {
            if let text = member.value.asString {
                line.put(member.key, text)
            } else {
                line.put(member.key, member.value)
            }
        }
        return line.line()
    }
}

/// The parts of a line that other lines share, in order.
struct SharedParts {
    private let known: [[UInt8]]
    private var position = 0
    private(set) var written: [[UInt8]] = []

    /// - Parameter known: All parts from another line; empty if there are none.
    init(_ known: [[UInt8]]) {
        self.known = known
    }

    mutating func next() -> [UInt8]? {
        guard position < known.count else { return nil }
        defer { position += 1 }
        return known[position]
    }

    mutating func wrote(_ part: [UInt8]) { written.append(part) }
}

/// The names with a meaning outside the metadata, for dashboards or for Logz.io itself.
enum ReservedKeys {
    private static let names: Set<String> = [
        "@timestamp", "code", "domain", "environment", "event_id", "event_kind", "file", "function", "line", "message",
        "mobile", "reported_at", "token", "type",
    ]

    /// Other members of a line, whose names the metadata object cannot have.
    private static let others: Set<String> = [
        "app", "backtrace", "causes", "context_json", "fingerprint", "host", "occurrences", "repairs", "request_id",
        "severity", "span_id", "suppressed_before", "trace_id", "truncated_fields", "uid", "unit", "user_id",
    ]

    /// Returns `true` if the metadata object may have this name.
    static func isUsable(metadataKey: String) -> Bool {
        let steps = metadataKey.split(separator: ".", omittingEmptySubsequences: false)
        return metadataKey.utf8.count <= 64 && !names.contains(String(steps[0])) && !others.contains(String(steps[0]))
            && steps.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(isLetterOrDigit) }
    }

    /// Returns `true` if a byte is safe in a field name: a letter, a digit or an underscore.
    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || byte == UInt8(ascii: "_")
    }

    static func contains(_ key: String) -> Bool {
        names.contains(key) || key.hasSuffix(".metadata")
    }

    /// Returns the members with reserved keys renamed and duplicates removed, and the keys that were renamed.
    static func renamed(in members: [JSONValue.Member]) -> (members: [JSONValue.Member], keys: [String]) {
        let unique = unique(members)
        guard unique.contains(where: { contains($0.key) }) else { return (unique, []) }
        let taken = Set(unique.map(\.key))
        var keys: [String] = []
        let renamed = unique.map { member in
            guard contains(member.key) else { return member }
            keys.append(member.key)
            var key = "metadata_\(member.key)"
            while taken.contains(key) || contains(key) {
                // A name with the reserved suffix would stay reserved.
                key = contains(key) ? "\(key)_" : "metadata_\(key)"
            }
            return JSONValue.Member(key, member.value)
        }
        return (renamed, keys)
    }

    /// Returns the last of several members with the same key, since readers differ in which one they use.
    static func unique(_ members: [JSONValue.Member]) -> [JSONValue.Member] {
        // Objects with many members are rare, and a set would cost more than it saves for few.
        if members.count <= 8 {
            let isUnique = members.indices.allSatisfy { index in
                !members[..<index].contains { $0.key == members[index].key }
            }
            if isUnique { return members }
        }
        var seen: Set<String> = []
        return Array(members.reversed().filter { seen.insert($0.key).inserted }.reversed())
    }
}
