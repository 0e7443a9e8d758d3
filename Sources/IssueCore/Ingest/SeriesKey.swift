package import IssueProtocol

/// The properties that all records of a series have in common.
package struct SeriesDescription: Hashable, Sendable {
    package var severity = IssueLevel.error
    package var isReportable = true
    package var app = Application()
    package var domain: String?
    package var code: Int64?
    package var source = SourceLocation()
    /// The fingerprint chosen by the sender, or that of the group of an overflow series; nil if it is computed.
    package var fingerprint: String?
    package var template: [UInt8] = []

    package init() {}

    /// Returns the description of the overflow series of a group or an application.
    ///
    /// Of the record's attributes, the description has only the severity and `isReportable`, on which forwarding
    /// depends, and the application name if it is that of the account. These have few values, so a sender cannot create
    /// many overflow series by varying them.
    ///
    /// - Parameters:
    ///   - series: The description of the series that a record above a limit would have.
    ///   - app: The application name of the record's account.
    ///   - group: The fingerprint of the existing group that the record belongs to; nil if its group would be new.
    package static func overflow(
        of series: SeriesDescription, app: String, group: String? = nil
    ) -> SeriesDescription {
        var overflow = SeriesDescription()
        overflow.severity = series.severity
        overflow.isReportable = series.isReportable
        overflow.app.name = series.app.name == app ? app : nil
        overflow.fingerprint = group ?? "overflow"
        let title: StaticString =
            group == nil
            ? "too many issues of this application to store them separately"
            : "too many variants of this issue to store them separately"
        overflow.template = Array("\(title)".utf8)
        return overflow
    }
}

/// The description of a series as bytes. Equal descriptions have equal keys, so that a series can be found with one
/// lookup.
///
///     key     ::= head integer*4 lengths*5 byte*
///     head    ::= UInt64       ; flags in bits 0 to 15, severity in bits 16 to 23, zero in bits 24 to 31,
///                              ; length of the template in bits 32 to 63
///     integer ::= Int64        ; code, build, line, column
///     lengths ::= UInt32*2     ; of the texts in order; 0xFFFFFFFF: absent
///
/// Numbers are little-endian. The texts are, in this order: application, version, environment, platform, network,
/// domain, file, function, module, fingerprint. The template follows them.
package enum SeriesKey {
    /// The flags of a description: which optional integers are present, and its Booleans.
    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let reportable = Flags(rawValue: 1)
        package static let code = Flags(rawValue: 2)
        package static let build = Flags(rawValue: 4)
        package static let line = Flags(rawValue: 8)
        package static let column = Flags(rawValue: 16)
        /// The application states whether it is in development; `inDevelopment` is the value.
        package static let development = Flags(rawValue: 32)
        package static let inDevelopment = Flags(rawValue: 64)

        static let all = Flags(rawValue: 127)
    }

    /// The number stored as the length of an absent text.
    static let absent = UInt32.max
    static let textCount = 10
    /// The size of everything before the texts, in bytes.
    static let headerSize = 80

    @inline(__always)
    static func head(_ flags: Flags, _ severity: IssueLevel, template: Int) -> UInt64 {
        UInt64(flags.rawValue) | UInt64(severity.rank) << 16 | UInt64(template) << 32
    }

    /// Writes the header at `start`, where the buffer must already have room for it. The texts follow the header.
    @inline(__always)
    static func store(
        _ flags: Flags, _ severity: IssueLevel, code: Int64, build: Int64, line: Int64, column: Int64,
        lengths: InlineArray<10, UInt32>, template: Int, in output: inout ByteBuffer, at start: Int
    ) {
        var words = InlineArray<10, UInt64>(repeating: head(flags, severity, template: template))
        words[1] = UInt64(bitPattern: code)
        words[2] = UInt64(bitPattern: build)
        words[3] = UInt64(bitPattern: line)
        words[4] = UInt64(bitPattern: column)
        for pair in 0..<5 { words[5 + pair] = UInt64(lengths[2 * pair]) | UInt64(lengths[2 * pair + 1]) << 32 }
        output.store(words: words.span, at: start)
    }

    /// Returns the key of a description.
    package static func encode(_ series: SeriesDescription) -> [UInt8] {
        var flags: Flags = []
        if series.isReportable { flags.insert(.reportable) }
        if series.code != nil { flags.insert(.code) }
        if series.app.build != nil { flags.insert(.build) }
        if series.source.line != nil { flags.insert(.line) }
        if series.source.column != nil { flags.insert(.column) }
        if let development = series.app.development {
            flags.insert(.development)
            if development { flags.insert(.inDevelopment) }
        }
        let texts = [
            series.app.name, series.app.version, series.app.environment, series.app.platform, series.app.network,
            series.domain, series.source.fileID, series.source.function, series.source.module, series.fingerprint,
        ]
        var output = ByteBuffer()
        output.appendRoom(headerSize)
        var lengths = InlineArray<10, UInt32>(repeating: absent)
        for (index, text) in texts.enumerated() {
            guard let text else { continue }
            lengths[index] = UInt32(text.utf8.count)
            output.append(contentsOf: text.utf8)
        }
        output.append(contentsOf: series.template)
        store(
            flags, series.severity, code: series.code ?? 0, build: series.app.build ?? 0,
            line: series.source.line ?? 0, column: series.source.column ?? 0, lengths: lengths,
            template: series.template.count, in: &output, at: 0)
        return output[0..<output.count]
    }

    /// Returns the description from which a key was made; nil if the bytes are malformed.
    package static func decode(_ key: [UInt8]) -> SeriesDescription? {
        guard key.count >= headerSize else { return nil }
        let bytes = key.span
        let head = bytes.word(at: 0)
        let flags = Flags(rawValue: UInt16(truncatingIfNeeded: head))
        guard head >> 24 & 0xFF == 0, flags.isSubset(of: .all),
            let severity = IssueLevel(rank: UInt8(truncatingIfNeeded: head >> 16))
        else { return nil }
        let (code, build) = (Int64(bitPattern: bytes.word(at: 8)), Int64(bitPattern: bytes.word(at: 16)))
        let (line, column) = (Int64(bitPattern: bytes.word(at: 24)), Int64(bitPattern: bytes.word(at: 32)))
        var texts = InlineArray<10, String?>(repeating: nil)
        var index = headerSize
        for position in 0..<textCount {
            let word = bytes.word(at: 40 + 8 * (position / 2))
            let length = UInt32(truncatingIfNeeded: position % 2 == 0 ? word : word >> 32)
            guard length != absent else { continue }
            guard Int(length) <= key.count - index else { return nil }
            texts[position] = String(decoding: key[index..<(index + Int(length))], as: UTF8.self)
            index += Int(length)
        }
        guard key.count - index == Int(head >> 32) else { return nil }
        let template = Array(key[index...])
        var series = SeriesDescription()
        series.severity = severity
        series.isReportable = flags.contains(.reportable)
        series.app = Application(
            name: texts[0], version: texts[1], build: flags.contains(.build) ? build : nil, environment: texts[2],
            platform: texts[3], network: texts[4],
            development: flags.contains(.development) ? flags.contains(.inDevelopment) : nil)
        series.domain = texts[5]
        series.code = flags.contains(.code) ? code : nil
        series.source = SourceLocation(
            fileID: texts[6], line: flags.contains(.line) ? line : nil, column: flags.contains(.column) ? column : nil,
            function: texts[7], module: texts[8])
        series.fingerprint = texts[9]
        series.template = template
        return series
    }
}
