import HTTPShipping
package import IssueCore
import IssueProtocol

extension LogzPayload {
    /// The line of a record.
    package func line(of outbound: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        let stored = outbound.own
        let record = stored.record
        let (time, timeRepair) = stored.believedTime

        var line = LineWriter()
        var memo = outbound.memory?.memo ?? LineMemo()
        var shared = SharedParts(memo.parts)
        let moment = time.text
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
        let metadata = putMetadata(of: outbound, into: &line, types: &types, &memo)
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
        line.put(&shared) { line in line.put("fingerprint", outbound.fingerprint) }
        // What is cut is named at the end of the line, which the next one would not know of.
        if !shared.written.isEmpty, line.truncated.names.isEmpty { memo.parts = shared.written }
        outbound.memory?.memo = memo
        line.put("occurrences", outbound.occurrences)
        line.put("suppressed_before", outbound.suppressedBefore)
        line.putCauses(record.causes)
        if !record.backtrace.isEmpty {
            line.put("backtrace", record.backtrace.lazy.map(\.text).joined(separator: "\n"))
        }
        if !metadata.context.isEmpty {
            line.put("context_json", String(decoding: JSONValue.object(metadata.context).json, as: UTF8.self))
        }
        line.putRepairs(stored.repairs + [timeRepair].compactMap(\.self) + metadata.repairs)
        return line.line()
    }

    private static func metadata(of outbound: OutboundRecord) -> (members: [JSONValue.Member], repairs: [String]) {
        guard let metadata = outbound.metadata, !metadata.isNull else { return ([], []) }
        // Anything but an object was refused before it was stored.
        guard let members = metadata.asObject else { return ([.init("value", metadata)], []) }
        let (renamed, keys) = ReservedKeys.renamed(in: members)
        return (renamed, keys.map { "the metadata key \($0) is reserved and was renamed" })
    }

    /// Puts in what fits, and answers what does not.
    private func putMetadata(
        of outbound: OutboundRecord, into line: inout LineWriter, types: inout FieldTypes, _ memo: inout LineMemo
    ) -> (context: [JSONValue.Member], repairs: [String]) {
        if memo.metadataName.isEmpty {
            memo.metadataName =
                metadataKey ?? "\(Self.fieldName(of: outbound.stored.record.app?.platform)).metadata"
        }
        let name = memo.metadataName
        if let text = outbound.storedMetadata {
            var plain = PlainMetadata(under: name, memo.fields)
            if let json = plain.json(of: text, types) {
                line.put(name, json: json)
                memo.fields = plain.fields
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

    /// A platform is the sender's word, and not every word can be part of a field's name.
    private static func fieldName(of platform: String?) -> String {
        guard let platform = platform?.lowercased(), (1...32).contains(platform.utf8.count),
            platform.utf8.allSatisfy(ReservedKeys.isLetterOrDigit)
        else { return "linux" }
        return platform
    }
}
