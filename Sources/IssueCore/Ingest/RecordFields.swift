import IssueProtocol

/// The fields of the record that is being read. Texts are ranges of the JSON.
///
/// If a key occurs twice, the last value counts. The value `null` means that the member is absent.
struct RecordFields: Sendable {
    private(set) var texts = InlineArray<16, JSONText>(repeating: ObjectFields.noText)
    private var integers = InlineArray<5, Int64>(repeating: 0)
    var severity = IssueLevel.error
    var occurredAt = DecodedRecord.absent
    var firstOccurredAt = DecodedRecord.absent
    /// The ranges of metadata, causes and backtrace in the JSON; nil if absent.
    var metadata: Range<Int>?
    var causes: Range<Int>?
    var backtrace: Range<Int>?
    /// The range of the values that belong to the sender's template; nil if absent.
    var parts: Range<Int>?
    /// Whether the record may have ids of the context.
    var hasContext = false
    private(set) var flags: SeriesKey.Flags = .reportable
    var source = ObjectReading.absent
    var app = ObjectReading.absent

    init() {
        forgetAll()
    }

    /// Resets all fields for the next record, in place.
    mutating func forgetAll() {
        for index in texts.indices { texts[index] = ObjectFields.noText }
        for index in integers.indices { integers[index] = 0 }
        integers[RecordMember.count.integerIndex] = 1
        severity = .error
        occurredAt = DecodedRecord.absent
        firstOccurredAt = DecodedRecord.absent
        metadata = nil
        causes = nil
        backtrace = nil
        parts = nil
        hasContext = false
        flags = .reportable
        source = .absent
        app = .absent
    }

    /// Returns the text of a member, or nil if it is absent.
    @inline(__always)
    func text(_ member: RecordMember) -> JSONText? { text(at: member.textIndex) }

    @inline(__always)
    func text(at index: Int) -> JSONText? {
        let text = texts[index]
        return text.start == 0 ? nil : text
    }

    @inline(__always)
    mutating func set(_ member: RecordMember, _ text: JSONText) {
        texts[member.textIndex] = text
    }

    /// Returns the integer of a member. If the member is absent, returns 1 for `count` and 0 for the others. `flags`
    /// tells whether the others are present.
    @inline(__always)
    func integer(_ member: RecordMember) -> Int64 { integers[member.integerIndex] }

    @inline(__always)
    mutating func set(_ member: RecordMember, _ value: Int64) {
        integers[member.integerIndex] = value
        if let flag = Self.flag(of: member) { flags.insert(flag) }
    }

    /// Returns the text of an id of the context, which may be invalid; nil if it is absent.
    @inline(__always)
    func text(_ field: IssueContext.Field) -> JSONText? {
        text(at: RecordMember.traceID.textIndex + Int(field.rawValue))
    }

    /// Sets how a source or an application was read.
    @inline(__always)
    mutating func set(_ container: RecordContainer, _ reading: ObjectReading) {
        if container == .source { source = reading } else { app = reading }
    }

    mutating func setReportable(_ isReportable: Bool) {
        if isReportable { flags.insert(.reportable) } else { flags.remove(.reportable) }
    }

    mutating func setDevelopment(_ inDevelopment: Bool) {
        flags.insert(.development)
        if inDevelopment { flags.insert(.inDevelopment) } else { flags.remove(.inDevelopment) }
    }

    /// Returns the fields of a source or an application that starts at an index; nil if a text has escapes, because
    /// such an object is not cached.
    func object(_ container: RecordContainer, from start: Int) -> ObjectFields? {
        var object = ObjectFields()
        let indexes = container.texts
        for index in indexes {
            guard let text = text(at: index) else { continue }
            guard !text.hasEscapes else { return nil }
            object.texts[index - indexes.lowerBound] = JSONText(
                start: text.start - start, end: text.end - start, hasEscapes: false)
        }
        for (index, member) in container.integers.enumerated() { object.integers[index] = integer(member) }
        object.flags = flags.intersection(container.flags)
        return object
    }

    /// Copies the fields of a cached object. `start` is the index at which the object starts in this record's JSON.
    @inline(__always)
    mutating func take(_ object: borrowing ObjectFields, _ container: RecordContainer, from start: Int) {
        let first = container.texts.lowerBound
        for index in container.texts {
            let text = object.texts[index &- first]
            texts[index] =
                text.start == 0
                ? text : JSONText(start: text.start &+ start, end: text.end &+ start, hasEscapes: false)
        }
        if container == .source {
            integers[RecordMember.line.integerIndex] = object.integers[0]
            integers[RecordMember.column.integerIndex] = object.integers[1]
        } else {
            integers[RecordMember.build.integerIndex] = object.integers[0]
        }
        flags = flags.subtracting(container.flags).union(object.flags)
    }

    /// Resets a member, as if the record did not contain it.
    mutating func forget(_ member: RecordMember) {
        switch member {
        case .name, .version, .environment, .platform, .network, .domain, .fileID, .function, .module, .fingerprint,
            .message, .template, .traceID, .spanID, .requestID, .user:
            texts[member.textIndex] = ObjectFields.noText
        case .code, .build, .line, .column:
            integers[member.integerIndex] = 0
            if let flag = Self.flag(of: member) { flags.remove(flag) }
        case .count: integers[member.integerIndex] = 1
        case .severity: severity = .error
        case .occurredAt: occurredAt = DecodedRecord.absent
        case .firstOccurredAt: firstOccurredAt = DecodedRecord.absent
        case .reportable: flags.insert(.reportable)
        case .development: flags.subtract([.development, .inDevelopment])
        case .source:
            take(ObjectFields(), .source, from: 0)
            source = .absent
        case .app:
            take(ObjectFields(), .app, from: 0)
            app = .absent
        case .metadata: metadata = nil
        case .causes: causes = nil
        case .backtrace: backtrace = nil
        case .parts: parts = nil
        }
    }

    @inline(__always)
    private static func flag(of member: RecordMember) -> SeriesKey.Flags? {
        switch member {
        case .code: .code
        case .build: .build
        case .line: .line
        case .column: .column
        case .name, .version, .environment, .platform, .network, .domain, .fileID, .function, .module, .fingerprint,
            .message, .template, .traceID, .spanID, .requestID, .user, .count, .severity, .occurredAt, .firstOccurredAt,
            .reportable, .development, .source,
            .app, .metadata, .causes, .backtrace, .parts:
            nil
        }
    }
}

/// A member of a record, its source or its application in the wire format.
enum RecordMember: UInt8, CaseIterable, Sendable {
    // The texts of a series, in the order of `SeriesKey`.
    case name, version, environment, platform, network, domain, fileID, function, module, fingerprint
    case message, template
    // The ids of `IssueContext`, in the order of its fields.
    case traceID, spanID, requestID, user

    // The integers of a series, in the order of `SeriesKey`.
    case code, build, line, column
    case count

    case severity, occurredAt, firstOccurredAt, reportable, development
    case source, app, metadata, causes, backtrace, parts

    static let textCount = 16

    /// Returns `true` if the text with this index in `RecordFields.texts` is the name of a file, function or module.
    static func isCode(_ index: Int) -> Bool { (fileID.textIndex...module.textIndex).contains(index) }

    /// The index of the member's text in `RecordFields.texts`.
    @inline(__always)
    var textIndex: Int { Int(rawValue) }

    /// The index of the member's integer among the record's integers.
    @inline(__always)
    var integerIndex: Int { Int(rawValue) - Self.textCount }

    /// The object that contains the member.
    var container: RecordContainer {
        switch self {
        case .fileID, .line, .column, .function, .module: .source
        case .name, .version, .build, .environment, .platform, .network, .development: .app
        case .message, .severity, .domain, .code, .occurredAt, .firstOccurredAt, .count, .source, .app, .fingerprint,
            .backtrace, .causes, .metadata, .reportable, .template, .parts, .traceID, .spanID, .requestID, .user:
            .record
        }
    }

    /// The key in the wire format.
    var key: StaticString {
        switch self {
        case .message: "message"
        case .severity: "severity"
        case .domain: "domain"
        case .code: "code"
        case .occurredAt: "occurred_at"
        case .firstOccurredAt: "first_occurred_at"
        case .count: "count"
        case .source: "source"
        case .app: "app"
        case .fingerprint: "fingerprint"
        case .backtrace: "backtrace"
        case .causes: "causes"
        case .metadata: "metadata"
        case .reportable: "reportable"
        case .template: "template"
        case .parts: "parts"
        case .traceID: IssueContext.Field.traceID.key
        case .spanID: IssueContext.Field.spanID.key
        case .requestID: IssueContext.Field.requestID.key
        case .user: IssueContext.Field.user.key
        case .fileID: "file_id"
        case .line: "line"
        case .column: "column"
        case .function: "function"
        case .module: "module"
        case .name: "name"
        case .version: "version"
        case .build: "build"
        case .environment: "environment"
        case .platform: "platform"
        case .network: "network"
        case .development: "development"
        }
    }

    /// The path by which receipts name the member.
    var path: String {
        switch container {
        case .record: "\(key)"
        case .source: "source.\(key)"
        case .app: "app.\(key)"
        }
    }
}

/// Finds a record's member by its key, usually with one comparison.
///
/// A program usually writes the members of all records in the same order. The first guess is therefore the member that
/// followed the previous member in an earlier record.
struct RecordMemberTable: Sendable {
    private struct Slot {
        var key: JSONKey
        var member: RecordMember
        var container: RecordContainer
    }

    /// The member that last followed another one.
    private struct Follower {
        var member = RecordMember.message
        var container = RecordContainer.record
        var literal: JSONKeyLiteral?
    }

    /// The number of slots is two to the power of this.
    private static let bits = 7
    /// The raw value of the last member, or `beginning` at the start of a record.
    private var last = Self.beginning
    private static let beginning = RecordMember.allCases.count
    /// For each member, and for the beginning, the member that last followed it.
    private var followers = InlineArray<33, Follower>(repeating: Follower())
    private var literals: [JSONKeyLiteral?] = RecordMember.allCases.map { JSONKeyLiteral($0.key) }
    private var slots = [Slot?](repeating: nil, count: 1 << bits)

    init() {
        for member in RecordMember.allCases {
            let key = JSONKey(member.key)
            var index = key.hash(bits: Self.bits)
            while slots[index] != nil { index = Self.next(index) }
            slots[index] = Slot(key: key, member: member, container: member.container)
        }
    }

    /// Starts a record.
    mutating func begin() {
        last = Self.beginning
    }

    /// Skips the next key if it is the expected one, and returns its member; otherwise returns nil.
    @inline(__always)
    mutating func skipExpectedKey(_ scanner: inout JSONScanner, in container: RecordContainer) -> RecordMember? {
        guard let literal = followers[last].literal, followers[last].container == container,
            scanner.skipKey(literal)
        else { return nil }
        let member = followers[last].member
        last = Int(member.rawValue)
        return member
    }

    /// Returns the member with a key in an object; nil if objects of this kind have no such member.
    mutating func member(_ key: JSONKey, in container: RecordContainer) -> RecordMember? {
        var index = key.hash(bits: Self.bits)
        while let slot = slots[index] {
            if slot.key == key {
                guard slot.container == container else { return nil }
                let index = Int(slot.member.rawValue)
                followers[last] = Follower(member: slot.member, container: container, literal: literals[index])
                last = index
                return slot.member
            }
            index = Self.next(index)
        }
        return nil
    }

    @inline(__always)
    private static func next(_ index: Int) -> Int { (index &+ 1) & (1 << bits - 1) }
}

/// An object whose members the decoder reads.
enum RecordContainer: Sendable {
    case record
    case source
    case app

    /// The member of the record that holds this object; nil for the record itself.
    var member: RecordMember? {
        switch self {
        case .record: nil
        case .source: .source
        case .app: .app
        }
    }

    /// The indexes of the object's texts in `RecordFields.texts`.
    @inline(__always)
    var texts: Range<Int> {
        switch self {
        case .record: 0..<0
        case .source: RecordMember.fileID.textIndex..<(RecordMember.module.textIndex + 1)
        case .app: RecordMember.name.textIndex..<(RecordMember.network.textIndex + 1)
        }
    }

    /// The integer members of the object.
    var integers: [RecordMember] {
        switch self {
        case .record: []
        case .source: [.line, .column]
        case .app: [.build]
        }
    }

    /// The flags of a record that describe the object.
    @inline(__always)
    var flags: SeriesKey.Flags {
        switch self {
        case .record: []
        case .source: [.line, .column]
        case .app: [.build, .development, .inDevelopment]
        }
    }
}

/// The limits of records.
package struct RecordLimits: Equatable, Sendable {
    /// The maximum size of a record's JSON, in bytes.
    package var recordBytes = 256 * 1024
    /// The maximum nesting depth.
    package var depth = 32
    /// The maximum number of keys, including those of nested objects.
    package var keys = 256
    /// The maximum number of records in one call.
    package var recordsPerCall = 1000
    /// The maximum size of each text of a series except the template, in bytes of JSON. The rest is cut off, because
    /// caches hold the texts of thousands of series.
    package var attributeBytes = 2048
    /// The maximum number of bytes of a message that its template covers, not counting the values of a sender's
    /// template. The rest is not part of the fingerprint.
    package var templateBytes = 1024
    /// The maximum number of values that belong to a sender's template. A template with more values is ignored.
    package var parts = 64

    package init() {}
}

/// Why a single record of a call was rejected.
package struct RecordRejection: Error, Equatable, Sendable {
    /// The path of the invalid member; nil if the record as a whole is invalid.
    package var field: String?
    package var reason: String
}

/// The keys in a record's causes and backtrace whose values are type-checked.
struct NestedKeys: Sendable {
    let domain = JSONKey("domain")
    let code = JSONKey("code")
    let message = JSONKey("message")

    let image = JSONKey("image")
    let buildID = JSONKey("build_id")
    let offset = JSONKey("offset")
    let symbol = JSONKey("symbol")
    let file = JSONKey("file")
    let line = JSONKey("line")
}

/// The severity names of the wire format as keys, most frequent first.
struct SeverityKeys: Sendable {
    private let words = [IssueLevel.error, .warning, .critical, .info, .debug].map {
        (key: JSONKey(text: $0.name), severity: $0)
    }

    @inline(__always)
    func severity(_ key: JSONKey) -> IssueLevel? {
        for word in words where word.key == key { return word.severity }
        return nil
    }
}

/// Parses the times of records, with a fast path for times in the same minute as the last one.
struct TimeReader: Sendable {
    /// The minute that was parsed last, as text: `2026-11-21T10:00`.
    private var writtenMinute: (UInt64, UInt64) = (0, 0)
    /// The start of this minute, in milliseconds since 1970-01-01 UTC.
    private var minute: Int64 = 0

    /// Returns the milliseconds since 1970-01-01 UTC of an RFC 3339 text in a range of bytes; nil if it is not a valid
    /// time.
    mutating func milliseconds(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Int64? {
        // The most common form: 2026-11-21T10:00:00.123Z.
        guard end - start == 24, let offset = Self.withinMinute(bytes.word(at: start + 16)) else {
            return IssueTimestamp(bytes, from: start, to: end)?.millisecondsSince1970
        }
        let written = (bytes.word(at: start), bytes.word(at: start + 8))
        if written != writtenMinute {
            guard let time = IssueTimestamp(bytes, from: start, to: end) else { return nil }
            writtenMinute = written
            minute = time.millisecondsSince1970 - offset
        }
        return minute + offset
    }

    /// Returns the milliseconds within a minute for a text such as `:00.123Z`, given as a word; nil if the text has
    /// another form, or more than 59 seconds.
    @inline(__always)
    private static func withinMinute(_ word: UInt64) -> Int64? {
        guard word & 0xFF00_0000_FF00_00FF == 0x5A00_0000_2E00_003A else { return nil }
        let digits = (word ^ 0x5A30_3030_2E30_303A)
        // For a byte of the text that should be a digit but is not, one of the four high bits is set here, or after
        // adding six.
        guard digits & 0xF0F0_F0F0_F0F0_F0F0 == 0, (digits &+ 0x0006_0606_0006_0600) & 0xF0F0_F0F0_F0F0_F0F0 == 0 else {
            return nil
        }
        func digit(_ index: UInt64) -> Int64 { Int64(truncatingIfNeeded: digits >> (8 * index) & 0xF) }
        let second = digit(1) * 10 + digit(2)
        guard second < 60 else { return nil }
        return second * 1000 + digit(4) * 100 + digit(5) * 10 + digit(6)
    }
}
