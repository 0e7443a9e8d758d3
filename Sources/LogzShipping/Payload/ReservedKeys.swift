import IssueProtocol

/// The names that mean something outside the metadata, for a dashboard or for Logz.io itself.
enum ReservedKeys {
    private static let names: Set<String> = [
        "@timestamp", "code", "domain", "environment", "event_id", "event_kind", "file", "function", "line", "message",
        "mobile", "reported_at", "token", "type",
    ]

    /// What else a line has, which the metadata object can't be called.
    private static let others: Set<String> = [
        "app", "backtrace", "causes", "context_json", "fingerprint", "host", "occurrences", "repairs", "severity",
        "suppressed_before", "truncated_fields", "uid", "unit",
    ]

    /// Whether the metadata object can have this name.
    static func isUsable(metadataKey: String) -> Bool {
        let steps = metadataKey.split(separator: ".", omittingEmptySubsequences: false)
        return metadataKey.utf8.count <= 64 && !names.contains(String(steps[0])) && !others.contains(String(steps[0]))
            && steps.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(isLetterOrDigit) }
    }

    /// Whether a byte may stand in a field's name without harm; an underscore may.
    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    static func contains(_ key: String) -> Bool {
        names.contains(key) || key.hasSuffix(".metadata")
    }

    /// The members with no reserved key, the last of several with one key alone, and the keys that had to change.
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
                // What ends in the reserved suffix would stay reserved.
                key = contains(key) ? "\(key)_" : "metadata_\(key)"
            }
            return JSONValue.Member(key, member.value)
        }
        return (renamed, keys)
    }

    /// The last of several members with one key, where readers differ in which they take.
    static func unique(_ members: [JSONValue.Member]) -> [JSONValue.Member] {
        // Few have many, and a table of them would cost more than it finds.
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
