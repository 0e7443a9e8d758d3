import IssueProtocol

/// The fields of the record that is being read: numbers, and where its texts stand.
///
/// Of a key that comes twice the last value holds, and `null` is the value of
/// what is absent.
struct RecordFields: Sendable {
    private(set) var texts = InlineArray<11, JSONText>(repeating: ObjectFields.noText)
    private var integers = InlineArray<5, Int64>(repeating: 0)
    var severity = Severity.error
    var occurredAt = DecodedRecord.absent
    var firstOccurredAt = DecodedRecord.absent
    var metadata: Range<Int>?
    var causes: Range<Int>?
    var backtrace: Range<Int>?
    private(set) var flags: SeriesKey.Flags = .reportable
    var source = ObjectReading.absent
    var app = ObjectReading.absent

    init() {
        forgetAll()
    }

    /// Begins another record, in place.
    mutating func forgetAll() {
        for place in texts.indices { texts[place] = ObjectFields.noText }
        for place in integers.indices { integers[place] = 0 }
        integers[RecordMember.count.integerPlace] = 1
        severity = .error
        occurredAt = DecodedRecord.absent
        firstOccurredAt = DecodedRecord.absent
        metadata = nil
        causes = nil
        backtrace = nil
        flags = .reportable
        source = .absent
        app = .absent
    }

    /// The text of a member, or nothing.
    @inline(__always)
    func text(_ member: RecordMember) -> JSONText? { text(at: member.textPlace) }

    @inline(__always)
    func text(at place: Int) -> JSONText? {
        let text = texts[place]
        return text.start == 0 ? nil : text
    }

    @inline(__always)
    mutating func set(_ member: RecordMember, _ text: JSONText) {
        texts[member.textPlace] = text
    }

    /// The integer of a member, or 0; the flags say whether it was there.
    @inline(__always)
    func integer(_ member: RecordMember) -> Int64 { integers[member.integerPlace] }

    @inline(__always)
    mutating func set(_ member: RecordMember, _ value: Int64) {
        integers[member.integerPlace] = value
        if let flag = Self.flag(of: member) { flags.insert(flag) }
    }

    /// How a source or an application was read.
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

    /// What a source or an application that begins at an index has said; nothing where that is to be read each time.
    func object(_ container: RecordContainer, from start: Int) -> ObjectFields? {
        var object = ObjectFields()
        let places = container.texts
        for place in places {
            guard let text = text(at: place) else { continue }
            guard !text.hasEscapes else { return nil }
            object.texts[place - places.lowerBound] = JSONText(
                start: text.start - start, end: text.end - start, hasEscapes: false)
        }
        for (index, member) in container.integers.enumerated() { object.integers[index] = integer(member) }
        object.flags = flags.intersection(container.flags)
        return object
    }

    /// Takes over what such an object says that begins at an index.
    @inline(__always)
    mutating func take(_ object: borrowing ObjectFields, _ container: RecordContainer, from start: Int) {
        let first = container.texts.lowerBound
        for place in container.texts {
            let text = object.texts[place &- first]
            texts[place] =
                text.start == 0
                ? text : JSONText(start: text.start &+ start, end: text.end &+ start, hasEscapes: false)
        }
        if container == .source {
            integers[RecordMember.line.integerPlace] = object.integers[0]
            integers[RecordMember.column.integerPlace] = object.integers[1]
        } else {
            integers[RecordMember.build.integerPlace] = object.integers[0]
        }
        flags = flags.subtracting(container.flags).union(object.flags)
    }

    mutating func forget(_ member: RecordMember) {
        switch member {
        case .name, .version, .environment, .platform, .network, .domain, .fileID, .function, .module, .fingerprint,
            .message:
            texts[member.textPlace] = ObjectFields.noText
        case .code, .build, .line, .column:
            integers[member.integerPlace] = 0
            if let flag = Self.flag(of: member) { flags.remove(flag) }
        case .count: integers[member.integerPlace] = 1
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
            .message, .count, .severity, .occurredAt, .firstOccurredAt, .reportable, .development, .source, .app,
            .metadata, .causes, .backtrace:
            nil
        }
    }
}

/// A member that a record, its source or its application may have on the wire.
enum RecordMember: UInt8, CaseIterable, Sendable {
    // The texts of a series, in the order of `SeriesKey`.
    case name, version, environment, platform, network, domain, fileID, function, module, fingerprint
    case message

    // The integers of a series, in the order of `SeriesKey`.
    case code, build, line, column
    case count

    case severity, occurredAt, firstOccurredAt, reportable, development
    case source, app, metadata, causes, backtrace

    static let textCount = 11
    static let integerCount = 5

    /// Where a text is kept among the record's.
    @inline(__always)
    var textPlace: Int { Int(rawValue) }

    /// Where an integer is kept among the record's.
    @inline(__always)
    var integerPlace: Int { Int(rawValue) - Self.textCount }

    /// The object that it stands in.
    var container: RecordContainer {
        switch self {
        case .fileID, .line, .column, .function, .module: .source
        case .name, .version, .build, .environment, .platform, .network, .development: .app
        case .message, .severity, .domain, .code, .occurredAt, .firstOccurredAt, .count, .source, .app, .fingerprint,
            .backtrace, .causes, .metadata, .reportable:
            .record
        }
    }

    /// What it is called on the wire.
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

    /// How a receipt names it.
    var path: String {
        switch container {
        case .record: "\(key)"
        case .source: "source.\(key)"
        case .app: "app.\(key)"
        }
    }
}

/// Finds a record's member by its key, in one look mostly.
///
/// A program writes the members of its records in the same order always, so
/// that the one that is expected next is looked for first.
struct RecordMemberTable: Sendable {
    private struct Slot {
        var key: JSONKey
        var member: RecordMember
        var container: RecordContainer
    }

    /// What followed a member when it was met last.
    private struct Follower {
        var member = RecordMember.message
        var container = RecordContainer.record
        var literal: JSONKeyLiteral?
    }

    private static let bits = 7
    /// The member that was met last, or none at the beginning of a record.
    private var last = Self.beginning
    private static let beginning = RecordMember.allCases.count
    private var followers = InlineArray<27, Follower>(repeating: Follower())
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

    /// A record begins.
    mutating func begin() {
        last = Self.beginning
    }

    /// Passes the key of the member that followed the last one before, if it does so again.
    @inline(__always)
    mutating func passExpected(_ scanner: inout JSONScanner, in container: RecordContainer) -> RecordMember? {
        guard let literal = followers[last].literal, followers[last].container == container,
            scanner.passKey(literal)
        else { return nil }
        let member = followers[last].member
        last = Int(member.rawValue)
        return member
    }

    /// The member that a key names in an object, or nothing for one that nobody knows.
    mutating func member(_ key: JSONKey, in container: RecordContainer) -> RecordMember? {
        var index = key.hash(bits: Self.bits)
        while let slot = slots[index] {
            if slot.key == key {
                guard slot.container == container else { return nil }
                let place = Int(slot.member.rawValue)
                followers[last] = Follower(member: slot.member, container: container, literal: literals[place])
                last = place
                return slot.member
            }
            index = Self.next(index)
        }
        return nil
    }

    @inline(__always)
    private static func next(_ index: Int) -> Int { (index &+ 1) & (1 << bits - 1) }
}

/// One of the objects whose members the decoder reads.
enum RecordContainer: Sendable {
    case record
    case source
    case app

    /// The record's member that it is.
    var member: RecordMember? {
        switch self {
        case .record: nil
        case .source: .source
        case .app: .app
        }
    }

    /// Where the texts of a source or an application are kept among the record's.
    @inline(__always)
    var texts: Range<Int> {
        switch self {
        case .record: 0..<0
        case .source: RecordMember.fileID.textPlace..<(RecordMember.module.textPlace + 1)
        case .app: RecordMember.name.textPlace..<(RecordMember.network.textPlace + 1)
        }
    }

    /// Its integers.
    var integers: [RecordMember] {
        switch self {
        case .record: []
        case .source: [.line, .column]
        case .app: [.build]
        }
    }

    /// What the flags of a record say of it.
    @inline(__always)
    var flags: SeriesKey.Flags {
        switch self {
        case .record: []
        case .source: [.line, .column]
        case .app: [.build, .development, .inDevelopment]
        }
    }
}

/// How large a record may be.
package struct RecordLimits: Equatable, Sendable {
    package var recordBytes = 256 * 1024
    package var depth = 32
    package var keys = 256
    package var recordsPerCall = 1000
    /// How much of a message its template looks at; the rest is not part of the fingerprint.
    package var templateBytes = 1024

    package init() {}
}

/// Why a record was not taken, while its neighbours were.
package struct RecordRejection: Error, Equatable, Sendable {
    package var field: String?
    package var reason: String

    package init(field: String?, reason: String) {
        self.field = field
        self.reason = reason
    }
}

/// The keys in a record's causes and backtrace whose values must have their type.
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

/// The words for severities on the wire, ready to be compared; the most frequent first.
struct SeverityKeys: Sendable {
    private let words = [Severity.error, .warning, .critical, .info, .debug].map {
        (key: JSONKey(text: $0.name), severity: $0)
    }

    @inline(__always)
    func severity(_ key: JSONKey) -> Severity? {
        for word in words where word.key == key { return word.severity }
        return nil
    }
}

/// Reads the times of records, of which most lie in the same minute as the one before.
struct TimeReader: Sendable {
    /// The minute that was read last, as it was written: `2026-11-21T10:00`.
    private var writtenMinute: (UInt64, UInt64) = (0, 0)
    private var minute: Int64 = 0

    /// The milliseconds since 1970 that an RFC 3339 text in a range of bytes names, or nothing.
    mutating func milliseconds(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Int64? {
        // The form that senders mostly use: 2026-11-21T10:00:00.123Z.
        guard end - start == 24, let offset = Self.withinMinute(bytes.word(at: start + 16)) else {
            return Timestamp(bytes, from: start, to: end)?.milliseconds
        }
        let written = (bytes.word(at: start), bytes.word(at: start + 8))
        if written != writtenMinute {
            guard let time = Timestamp(bytes, from: start, to: end) else { return nil }
            writtenMinute = written
            minute = time.milliseconds - offset
        }
        return minute + offset
    }

    /// The milliseconds of `:00.123Z`, given as a word; nothing where it has another form.
    @inline(__always)
    private static func withinMinute(_ word: UInt64) -> Int64? {
        guard word & 0xFF00_0000_FF00_00FF == 0x5A00_0000_2E00_003A else { return nil }
        // What is above 9 in any of the digits shows in its high bits, or when six is added.
        let digits = (word ^ 0x5A30_3030_2E30_303A)
        guard digits & 0xF0F0_F0F0_F0F0_F0F0 == 0, (digits &+ 0x0006_0606_0006_0600) & 0xF0F0_F0F0_F0F0_F0F0 == 0 else {
            return nil
        }
        func digit(_ place: UInt64) -> Int64 { Int64(truncatingIfNeeded: digits >> (8 * place) & 0xF) }
        let second = digit(1) * 10 + digit(2)
        guard second < 60 else { return nil }
        return second * 1000 + digit(4) * 100 + digit(5) * 10 + digit(6)
    }
}
