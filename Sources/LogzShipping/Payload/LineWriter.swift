import IssueProtocol

/// Writes a line, member by member, each text within the limit; what had to be cut for that is named at its end.
struct LineWriter {
    private var writer = JSONWriter(reserving: 1024)
    private(set) var truncated = TruncatedNames()

    init() {
        writer.openObject()
    }

    mutating func put(_ key: String, _ text: String) {
        writer.member(key, fitted(text, as: key))
    }

    mutating func put(_ key: String, _ value: JSONValue) {
        writer.member(key, value)
    }

    mutating func put(_ key: String, ifPresent text: String?) {
        if let text { put(key, text) }
    }

    mutating func put(_ key: String, _ number: Int64) {
        writer.member(key, number)
    }

    mutating func put(_ key: String, ifPresent number: Int64?) {
        if let number { put(key, number) }
    }

    /// An object, written by itself.
    mutating func put(_ key: String, _ members: (inout JSONWriter) -> Void) {
        writer.key(key)
        writer.object(members)
    }

    /// Members that lines of one series share: as they stand in the one before, or else written now.
    mutating func put(_ shared: inout SharedParts, _ members: (inout LineWriter) -> Void) {
        if let part = shared.next() { return writer.raw(part) }
        // Something stands before them, and so a comma.
        let start = writer.bytes.count + 1
        members(&self)
        shared.wrote(Array(writer.bytes[start...]))
    }

    /// A value that is JSON already.
    mutating func put(_ key: String, json: [UInt8]) {
        writer.key(key)
        writer.raw(json)
    }

    /// A text that stands in a member, cut if need be.
    mutating func fitted(_ text: String, as name: String) -> String {
        guard text.utf8.count > LineLimits.textBytes else { return text }
        truncated.note(name)
        return text.cut(toBytes: LineLimits.cutTextBytes)
    }

    mutating func noteTruncated(_ name: String) {
        truncated.note(name)
    }

    /// The line, trimmed until it is within the limit.
    consuming func line() -> [UInt8] {
        if !truncated.names.isEmpty {
            writer.member(TruncatedNames.key, .array(truncated.names.map { .string($0) }))
        }
        writer.closeObject()
        let bytes = writer.bytes
        guard bytes.count > LineLimits.lineBytes, let draft = LineDraft(line: bytes) else { return bytes }
        return draft.trimmedBytes()
    }
}
