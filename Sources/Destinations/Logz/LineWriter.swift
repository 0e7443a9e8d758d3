import IssueProtocol

/// Writes a line member by member, and cuts texts that are too long. The names of the cut fields are listed at the end
/// of the line.
struct LineWriter {
    private var writer = JSONWriter(reserving: 1024)
    /// The names of the fields that were cut.
    var truncated = TruncatedNames()

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

    /// Writes an object.
    mutating func put(_ key: String, _ members: (inout JSONWriter) -> Void) {
        writer.key(key)
        writer.object(members)
    }

    /// Writes members that lines of the same series share. Copies them from an earlier line or, if its parts were not
    /// kept, calls `members`.
    mutating func put(_ shared: inout SharedParts, _ members: (inout LineWriter) -> Void) {
        if let part = shared.next() { return writer.raw(part) }
        // Other members precede these members, so a comma is written first. It is not part of the copy.
        let start = writer.bytes.count + 1
        members(&self)
        shared.append(Array(writer.bytes[start...]))
    }

    /// Writes a value that is JSON already.
    mutating func put(_ key: String, json: [UInt8]) {
        writer.key(key)
        writer.raw(json)
    }

    /// Returns a text for a member, cut to the limit.
    mutating func fitted(_ text: String, as name: String) -> String {
        guard text.utf8.count > LineLimits.textBytes else { return text }
        truncated.note(name)
        return text.cut(toBytes: LineLimits.cutTextBytes)
    }

    /// Completes the line and returns it, trimmed to the limit.
    consuming func line() -> [UInt8] {
        if !truncated.names.isEmpty {
            writer.member(TruncatedNames.key, truncated.names)
        }
        writer.closeObject()
        let bytes = writer.bytes
        guard bytes.count > LineLimits.lineBytes, let draft = LineDraft(line: bytes) else { return bytes }
        return draft.trimmedBytes()
    }
}

extension LineWriter {
    /// Writes the object from which dashboards identify the application.
    mutating func putMobile(_ application: Application?) {
        let version = text(application?.version, or: "MISSING", as: "mobile.version")
        let platform = text(application?.platform, or: "linux", as: "mobile.platform")
        let network = text(application?.network, or: "unknown", as: "mobile.network")
        put("mobile") { mobile in
            mobile.member("version", version)
            // The README of jww-error-reporting documents the first name, but its code sends the second one.
            mobile.member("build_number", application?.build ?? -1)
            mobile.member("build", application?.build ?? -1)
            mobile.member("platform", platform)
            mobile.member("network", network)
            mobile.member("development", application?.development ?? false)
        }
    }

    mutating func putEnvironment(_ application: Application?) {
        put("environment", application?.environment.flatMap { $0.isEmpty ? nil : $0 } ?? "MISSING")
    }

    mutating func putDomain(_ domain: String?, app: String) {
        put("domain", domain.flatMap { $0.isEmpty ? nil : $0 } ?? "\(app).issue")
    }

    private mutating func text(_ value: String?, or default: String, as name: String) -> String {
        fitted(value.flatMap { $0.isEmpty ? nil : $0 } ?? `default`, as: name)
    }
}

extension LineWriter {
    mutating func putCauses(_ causes: [IssueCause]) {
        let values = causes.prefix(LineLimits.causes).map { cause in
            RecordColumns.object(of: cause) { fitted($0, as: "causes") }
        }
        if causes.count > values.count { truncated.note("causes") }
        putList("causes", values)
    }

    mutating func putRepairs(_ repairs: [String]) {
        putList("repairs", repairs.map { .string(fitted($0, as: "repairs")) })
    }

    /// Writes an array of the first values that fit into a field together, but at least one. Writes nothing if there
    /// are no values.
    private mutating func putList(_ key: String, _ values: [JSONValue]) {
        guard let first = values.first else { return }
        var included = [first]
        var bytes = first.json.count
        for value in values.dropFirst() {
            bytes += value.json.count + 1
            guard bytes <= LineLimits.cutTextBytes else {
                truncated.note(key)
                break
            }
            included.append(value)
        }
        put(key, .array(included))
    }
}

/// The parts of a line that the other lines of its series share, in order.
struct SharedParts {
    private let known: [[UInt8]]
    private var position = 0
    private(set) var written: [[UInt8]] = []

    /// - Parameter known: All parts of an earlier line; empty if none were kept.
    init(_ known: [[UInt8]]) {
        self.known = known
    }

    /// Returns the next part of the earlier line; nil if there is none.
    mutating func next() -> [UInt8]? {
        guard position < known.count else { return nil }
        defer { position += 1 }
        return known[position]
    }

    /// Adds a part that was written to this line.
    mutating func append(_ part: [UInt8]) { written.append(part) }
}

/// A line that is too long, parsed so that it can be trimmed.
struct LineDraft {
    var members: [JSONValue.Member]
    private var truncated: TruncatedNames

    init?(line: [UInt8]) {
        guard let value = try? JSONValue(json: line), let members = value.asObject else { return nil }
        self.members = members.filter { $0.key != TruncatedNames.key }
        truncated = TruncatedNames(value[TruncatedNames.key]?.asArray?.compactMap(\.asString) ?? [])
    }

    /// The line in its current form.
    var bytes: [UInt8] {
        var members = members
        if !truncated.names.isEmpty {
            members.append(.init(TruncatedNames.key, .array(truncated.names.map { .string($0) })))
        }
        return JSONValue.object(members).json
    }

    /// Returns the line, trimmed to the limit.
    consuming func trimmedBytes() -> [UInt8] {
        var bytes = bytes
        for step in TrimStep.allCases where bytes.count > LineLimits.lineBytes {
            trim(step)
            bytes = self.bytes
        }
        return bytes
    }
}

extension LineDraft {
    // The maximum sizes of texts, in bytes, and the maximum numbers of frames and causes.
    private static let shortText = 1_000
    private static let messageText = 8_000
    private static let backtraceText = 4_000
    private static let frames = 20
    private static let causes = 10
    private static let otherText = 500

    /// Performs a trimming step.
    mutating func trim(_ step: TrimStep) {
        switch step {
        case .metadataTexts:
            guard let index = metadataIndex else { return }
            replace(index, by: Self.shortened(members[index].value, to: Self.shortText))
        case .context:
            cutText("context_json", to: Self.shortText)
        case .metadata:
            moveMetadata()
        case .causes:
            guard let index = index(of: "causes"), let causes = members[index].value.asArray else { return }
            replace(index, by: .array(causes.prefix(Self.causes).map { Self.shortened($0, to: Self.shortText) }))
        case .backtrace:
            guard let index = index(of: "backtrace"), let text = members[index].value.asString else { return }
            let frames = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(Self.frames)
            replace(index, by: .string(frames.joined(separator: "\n").cut(toBytes: Self.backtraceText)))
        case .message:
            cutText("message", to: Self.messageText)
        case .everyOtherText:
            for index in members.indices where !Self.trimmedBefore.contains(members[index].key) {
                replace(index, by: Self.shortened(members[index].value, to: Self.otherText))
            }
        }
    }

    /// The members that earlier steps have trimmed.
    private static let trimmedBefore: Set<String> = ["message", "backtrace", "causes", "context_json"]

    /// The index of the metadata; nil if there is none. The name of the metadata varies, but apart from it, only
    /// `mobile` is an object.
    private var metadataIndex: Int? {
        members.firstIndex { $0.value.asObject != nil && $0.key != "mobile" }
    }

    private func index(of key: String) -> Int? {
        members.firstIndex { $0.key == key }
    }

    private mutating func replace(_ index: Int, by value: JSONValue) {
        guard value != members[index].value else { return }
        members[index].value = value
        truncated.note(allOf: members[index].key)
    }

    private mutating func cutText(_ key: String, to limit: Int) {
        guard let index = index(of: key), let text = members[index].value.asString else { return }
        replace(index, by: .string(text.cut(toBytes: limit)))
    }

    /// Moves the beginning of the metadata, as JSON text, to `context_json`.
    private mutating func moveMetadata() {
        guard let index = metadataIndex else { return }
        let metadata = members.remove(at: index)
        truncated.note(allOf: metadata.key)
        let text = String(decoding: metadata.value.json, as: UTF8.self)
        if let context = self.index(of: "context_json"), let other = members[context].value.asString {
            let half = Self.shortText / 2
            members[context].value = .string("\(other.cut(toBytes: half)) \(text.cut(toBytes: half - 1))")
            truncated.note("context_json")
        } else {
            members.append(.init("context_json", .string(text.cut(toBytes: Self.shortText))))
        }
    }

    /// Returns the value with each of its texts cut to a number of bytes.
    private static func shortened(_ value: JSONValue, to limit: Int) -> JSONValue {
        switch value {
        case .null, .bool, .integer, .number: value
        case .string(let text): .string(text.cut(toBytes: limit))
        case .array(let elements): .array(elements.map { shortened($0, to: limit) })
        case .object(let members): .object(members.map { .init($0.key, shortened($0.value, to: limit)) })
        }
    }
}

/// The limits of a line. Where Logz.io documents a limit, these leave a margin.
enum LineLimits {
    /// The maximum size of a line. The limit of Logz.io is 500,000 bytes. With the margin, it does not matter how
    /// Logz.io counts the bytes.
    static let lineBytes = 450_000
    /// The maximum size of a text. Logz.io would not index a longer one, because its index limits the bytes of a term.
    static let textBytes = 32_700
    /// The size to which longer texts are cut.
    static let cutTextBytes = 32_000
    /// The maximum nesting of objects and arrays. The line is the first level. Each dot in a key adds a level.
    static let depth = 10
    /// The maximum number of the sender's own fields in the metadata; a line may have 1,000 in total.
    static let metadataFields = 600
    static let causes = 100
    /// The maximum number of cut metadata fields that are listed. If there are more, the metadata object is listed
    /// instead.
    static let truncatedNames = 50
    static let keyBytes = 256
}

/// The steps that trim a line that is too long. They are in order, beginning with the least important content.
enum TrimStep: CaseIterable {
    case metadataTexts
    case context
    case metadata
    case causes
    case backtrace
    case message
    case everyOtherText
}

/// The names of the fields that were cut in a line.
struct TruncatedNames: Equatable {
    static let key = "truncated_fields"

    private(set) var names: [String] = []

    init(_ names: [String] = []) {
        self.names = names
    }

    /// Adds the name of a field unless it is listed already.
    mutating func note(_ name: String) {
        guard !names.contains(name) else { return }
        names.append(name)
    }

    /// Adds the name of a member, and removes the names of fields in it.
    mutating func note(allOf object: String) {
        names.removeAll { $0 == object || $0.hasPrefix("\(object).") }
        names.append(object)
    }
}

extension String {
    /// Returns the longest prefix that fits into `limit` bytes of UTF-8 and ends between characters. Only a character
    /// with very many combining marks may be cut.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit))
        while utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        let prefix = self[..<end]
        guard !prefix.isEmpty else { return "" }
        let tail = prefix[prefix.index(before: prefix.endIndex)...].utf8.count
        // An index of the prefix would cache the length of its character, which may be longer in the whole text.
        let last = utf8.index(end, offsetBy: -tail)
        let isWhole = self[last...].first?.utf8.count == tail
        // A character may have thousands of combining marks. It is cut instead of being omitted.
        return String(isWhole || tail > 64 ? prefix : prefix[..<last])
    }
}
