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

extension LineWriter {
    /// The object that dashboards know the application by.
    mutating func putMobile(_ application: Application?) {
        let version = text(application?.version, or: "MISSING", as: "mobile.version")
        let platform = text(application?.platform, or: "linux", as: "mobile.platform")
        let network = text(application?.network, or: "unknown", as: "mobile.network")
        put("mobile") { mobile in
            mobile.member("version", version)
            // The one is what the README of jww-error-reporting says, the
            // other what its code sends.
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

    private mutating func text(_ said: String?, or default: String, as name: String) -> String {
        fitted(said.flatMap { $0.isEmpty ? nil : $0 } ?? `default`, as: name)
    }
}

extension LineWriter {
    mutating func putCauses(_ causes: [Cause]) {
        let values = causes.prefix(LineLimits.causes).map { cause in
            var members: [JSONValue.Member] = []
            if let domain = cause.domain { members.append(.init("domain", .string(fitted(domain, as: "causes")))) }
            if let code = cause.code { members.append(.init("code", .integer(code))) }
            if let message = cause.message { members.append(.init("message", .string(fitted(message, as: "causes")))) }
            return JSONValue.object(members)
        }
        if causes.count > values.count { noteTruncated("causes") }
        putList("causes", values)
    }

    mutating func putRepairs(_ repairs: [String]) {
        putList("repairs", repairs.map { .string(fitted($0, as: "repairs")) })
    }

    /// As many values as together are within the limit of a field, and the first in any case.
    private mutating func putList(_ key: String, _ values: [JSONValue]) {
        guard let first = values.first else { return }
        var kept = [first]
        var bytes = first.json.count
        for value in values.dropFirst() {
            bytes += value.json.count + 1
            guard bytes <= LineLimits.cutTextBytes else {
                noteTruncated(key)
                break
            }
            kept.append(value)
        }
        put(key, .array(kept))
    }
}

/// A line that is too long, taken apart to be trimmed.
struct LineDraft {
    var members: [JSONValue.Member]
    private var truncated: TruncatedNames

    init?(line: [UInt8]) {
        guard let value = try? JSONValue(json: line), let members = value.asObject else { return nil }
        self.members = members.filter { $0.key != TruncatedNames.key }
        truncated = TruncatedNames(value[TruncatedNames.key]?.asArray?.compactMap(\.asString) ?? [])
    }

    mutating func noteTruncated(_ name: String) {
        truncated.note(name)
    }

    mutating func noteTruncated(allOf object: String) {
        truncated.note(allOf: object)
    }

    /// The line as it stands.
    var bytes: [UInt8] {
        var members = members
        if !truncated.names.isEmpty {
            members.append(.init(TruncatedNames.key, .array(truncated.names.map { .string($0) })))
        }
        return JSONValue.object(members).json
    }

    /// The line, trimmed until it is within the limit.
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
    private static let shortText = 1_000
    private static let messageText = 8_000
    private static let backtraceText = 4_000
    private static let frames = 20
    private static let causes = 10
    private static let otherText = 500

    /// Takes away what a step says.
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

    private static let trimmedBefore: Set<String> = ["message", "backtrace", "causes", "context_json"]

    /// `mobile` and the metadata are the only objects of a line, whatever the metadata's name is.
    private var metadataIndex: Int? {
        members.firstIndex { $0.value.asObject != nil && $0.key != "mobile" }
    }

    private func index(of key: String) -> Int? {
        members.firstIndex { $0.key == key }
    }

    private mutating func replace(_ index: Int, by value: JSONValue) {
        guard value != members[index].value else { return }
        members[index].value = value
        noteTruncated(allOf: members[index].key)
    }

    private mutating func cutText(_ key: String, to limit: Int) {
        guard let index = index(of: key), let text = members[index].value.asString else { return }
        replace(index, by: .string(text.cut(toBytes: limit)))
    }

    /// Leaves of the metadata the start of its text.
    private mutating func moveMetadata() {
        guard let index = metadataIndex else { return }
        let metadata = members.remove(at: index)
        noteTruncated(allOf: metadata.key)
        let text = String(decoding: metadata.value.json, as: UTF8.self)
        if let context = self.index(of: "context_json"), let other = members[context].value.asString {
            let half = Self.shortText / 2
            members[context].value = .string("\(other.cut(toBytes: half)) \(text.cut(toBytes: half - 1))")
            noteTruncated("context_json")
        } else {
            members.append(.init("context_json", .string(text.cut(toBytes: Self.shortText))))
        }
    }

    /// The value with every text in it cut.
    private static func shortened(_ value: JSONValue, to limit: Int) -> JSONValue {
        switch value {
        case .null, .bool, .integer, .number: value
        case .string(let text): .string(text.cut(toBytes: limit))
        case .array(let elements): .array(elements.map { shortened($0, to: limit) })
        case .object(let members): .object(members.map { .init($0.key, shortened($0.value, to: limit)) })
        }
    }
}

/// What a line may be, with room left below what Logz.io documents.
enum LineLimits {
    /// 500,000 bytes are refused, and a line is not to depend on how they are counted.
    static let lineBytes = 450_000
    /// What is longer than this is not indexed; bytes, as a term of the index is measured in them.
    static let textBytes = 32_700
    /// How much is left of a text that is longer.
    static let cutTextBytes = 32_000
    /// Objects and arrays within each other, the line itself being the first.
    static let depth = 10
    /// Members of the sender's own within the metadata; a line may have 1,000 in all.
    static let metadataFields = 600
    static let causes = 100
    /// Names of cut fields; beyond that, the object in which they stand is named.
    static let truncatedNames = 50
    static let keyBytes = 256
}

/// What a line that is too long loses, what is least needed first.
enum TrimStep: CaseIterable {
    case metadataTexts
    case context
    case metadata
    case causes
    case backtrace
    case message
    case everyOtherText
}

/// The names of what was cut in a line.
struct TruncatedNames: Equatable {
    static let key = "truncated_fields"

    private(set) var names: [String] = []

    init(_ names: [String] = []) {
        self.names = names
    }

    mutating func note(_ name: String) {
        guard !names.contains(name) else { return }
        names.append(name)
    }

    /// Names an object in place of what was cut within it.
    mutating func note(allOf object: String) {
        names.removeAll { $0 == object || $0.hasPrefix("\(object).") }
        names.append(object)
    }
}

extension String {
    /// As much of it as fits into some bytes, ending between characters.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit))
        while utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        let prefix = self[..<end]
        guard !prefix.isEmpty else { return "" }
        let tail = prefix[prefix.index(before: prefix.endIndex)...].utf8.count
        // An index made anew, as the other one remembers how long its
        // character is in the prefix.
        let last = utf8.index(end, offsetBy: -tail)
        let isWhole = self[last...].first?.utf8.count == tail
        // A character may be made of thousands of marks, and one that is cut is
        // better than none.
        return String(isWhole || tail > 64 ? prefix : prefix[..<last])
    }
}
