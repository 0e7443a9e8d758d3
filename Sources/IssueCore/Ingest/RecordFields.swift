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
