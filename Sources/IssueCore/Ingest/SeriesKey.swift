import IssueProtocol

/// A series' description as bytes: equal descriptions have equal keys, so that finding a series is one look-up.
///
///     key     ::= flags severity integer*4 text*11
///     flags   ::= UInt16                  ; which integers and flags are there
///     integer ::= Int64                   ; code, build, line, column
///     text    ::= UInt32 byte*            ; 0xFFFFFFFF: absent
///
/// Numbers have their lowest byte first. The texts are: application, version,
/// environment, platform, network, domain, file, function, module, fingerprint,
/// template.
package enum SeriesKey {
    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let reportable = Flags(rawValue: 1)
        package static let code = Flags(rawValue: 2)
        package static let build = Flags(rawValue: 4)
        package static let line = Flags(rawValue: 8)
        package static let column = Flags(rawValue: 16)
        package static let development = Flags(rawValue: 32)
        package static let inDevelopment = Flags(rawValue: 64)

        static let all = Flags(rawValue: 127)
    }

    static let absent = UInt32.max

    @inline(__always)
    static func append(_ number: Int64, to output: inout [UInt8]) {
        let bits = UInt64(bitPattern: number)
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            output.append(UInt8(truncatingIfNeeded: bits >> shift))
        }
    }

    @inline(__always)
    static func append(length: UInt32, to output: inout [UInt8]) {
        output.append(UInt8(truncatingIfNeeded: length))
        output.append(UInt8(truncatingIfNeeded: length >> 8))
        output.append(UInt8(truncatingIfNeeded: length >> 16))
        output.append(UInt8(truncatingIfNeeded: length >> 24))
    }

    /// The key of a description.
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
        var output: [UInt8] = [
            UInt8(truncatingIfNeeded: flags.rawValue), UInt8(truncatingIfNeeded: flags.rawValue >> 8),
            series.severity.rawValue,
        ]
        for number in [series.code, series.app.build, series.source.line, series.source.column] {
            append(number ?? 0, to: &output)
        }
        for text in [
            series.app.name, series.app.version, series.app.environment, series.app.platform, series.app.network,
            series.domain, series.source.fileID, series.source.function, series.source.module, series.fingerprint,
        ] {
            append(length: text.map { UInt32($0.utf8.count) } ?? absent, to: &output)
            output.append(contentsOf: text.map { Array($0.utf8) } ?? [])
        }
        append(length: UInt32(series.template.count), to: &output)
        output.append(contentsOf: series.template)
        return output
    }

    /// The description that a key was made of, or nothing when the bytes are damaged.
    package static func decode(_ key: [UInt8]) -> SeriesDescription? {
        guard key.count >= 35, let severity = Severity(rawValue: key[2]) else { return nil }
        var index = 3
        let flags = Flags(rawValue: UInt16(key[0]) | UInt16(key[1]) << 8)
        guard flags.isSubset(of: .all) else { return nil }
        func integer() -> Int64 {
            var bits: UInt64 = 0
            for offset in (0..<8).reversed() { bits = bits << 8 | UInt64(key[index + offset]) }
            index += 8
            return Int64(bitPattern: bits)
        }
        let (code, build, line, column) = (integer(), integer(), integer(), integer())
        var texts: [[UInt8]?] = []
        while index < key.count {
            guard index + 4 <= key.count else { return nil }
            var length: UInt32 = 0
            for offset in (0..<4).reversed() { length = length << 8 | UInt32(key[index + offset]) }
            index += 4
            if length == absent {
                texts.append(nil)
            } else {
                guard Int(length) <= key.count - index else { return nil }
                texts.append(Array(key[index..<(index + Int(length))]))
                index += Int(length)
            }
        }
        guard texts.count == 11, let template = texts[10] else { return nil }
        func text(_ position: Int) -> String? { texts[position].map { String(decoding: $0, as: UTF8.self) } }
        var series = SeriesDescription()
        series.severity = severity
        series.isReportable = flags.contains(.reportable)
        series.app = Application(
            name: text(0), version: text(1), build: flags.contains(.build) ? build : nil, environment: text(2),
            platform: text(3), network: text(4),
            development: flags.contains(.development) ? flags.contains(.inDevelopment) : nil)
        series.domain = text(5)
        series.code = flags.contains(.code) ? code : nil
        series.source = SourceLocation(
            fileID: text(6), line: flags.contains(.line) ? line : nil, column: flags.contains(.column) ? column : nil,
            function: text(7), module: text(8))
        series.fingerprint = text(9)
        series.template = template
        return series
    }
}
