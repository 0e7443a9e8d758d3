import IssueProtocol

/// The fields of the record that is being read: numbers, and where its texts stand.
///
/// Of a key that comes twice the last value holds, and `null` is the value of
/// what is absent.
struct RecordFields: Sendable {
    private(set) var texts = InlineArray<11, JSONText>(repeating: Self.noText)
    private var integers = InlineArray<5, Int64>(repeating: 0)
    var severity = Severity.error
    var occurredAt = DecodedRecord.absent
    var firstOccurredAt = DecodedRecord.absent
    var metadata: Range<Int>?
    var causes: Range<Int>?
    var backtrace: Range<Int>?
    private(set) var flags: SeriesKey.Flags = .reportable

    /// Whether one of the texts is written with escapes, or was.
    private(set) var hasEscapes = false

    /// A text stands behind its quotation mark, so none begins at 0.
    private static let noText = JSONText(start: 0, end: 0, hasEscapes: false)

    init() {
        integers[RecordMember.count.integerPlace] = 1
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
        hasEscapes = hasEscapes || text.hasEscapes
    }

    /// The integer of a member, or 0; the flags say whether it was there.
    @inline(__always)
    func integer(_ member: RecordMember) -> Int64 { integers[member.integerPlace] }

    @inline(__always)
    mutating func set(_ member: RecordMember, _ value: Int64) {
        integers[member.integerPlace] = value
        if let flag = Self.flag(of: member) { flags.insert(flag) }
    }

    mutating func setReportable(_ isReportable: Bool) {
        if isReportable { flags.insert(.reportable) } else { flags.remove(.reportable) }
    }

    mutating func setDevelopment(_ inDevelopment: Bool) {
        flags.insert(.development)
        if inDevelopment { flags.insert(.inDevelopment) } else { flags.remove(.inDevelopment) }
    }

    mutating func forget(_ member: RecordMember) {
        switch member {
        case .name, .version, .environment, .platform, .network, .domain, .fileID, .function, .module, .fingerprint,
            .message:
            texts[member.textPlace] = Self.noText
        case .code, .build, .line, .column:
            integers[member.integerPlace] = 0
            if let flag = Self.flag(of: member) { flags.remove(flag) }
        case .count: integers[member.integerPlace] = 1
        case .severity: severity = .error
        case .occurredAt: occurredAt = DecodedRecord.absent
        case .firstOccurredAt: firstOccurredAt = DecodedRecord.absent
        case .reportable: flags.insert(.reportable)
        case .development: flags.subtract([.development, .inDevelopment])
        case .source: for member in [.fileID, .line, .column, .function, .module] as [RecordMember] { forget(member) }
        case .app:
            let members: [RecordMember] = [.name, .version, .build, .environment, .platform, .network, .development]
            for member in members { forget(member) }
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
