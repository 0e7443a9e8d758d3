import IssueCore
import IssueProtocol
import SQLiteKit

/// Finds the records of a block that may meet a filter's conditions on the content of records.
///
/// The text of a block is searched as a whole, once per term; fields with JSON escapes are searched again. The text
/// does not contain the parts of messages that are in the template of their series, so each series is examined once,
/// too. The caller must test each candidate exactly (`RecordMatcher`).
struct ContentScan {
    /// A set of conditions, one bit each.
    private typealias Conditions = UInt32

    /// A condition: at least one of its terms must occur.
    private struct Condition {
        /// Its bit in a set.
        var bit: Conditions
        var terms: [TextTerm]
        var place: Place
    }

    /// The part of a record that is searched.
    private enum Place {
        case anywhere, metadata, details
    }

    private let conditions: [Condition]
    /// The set of all conditions.
    private let all: Conditions
    /// For each series id, the conditions that its template and domain may meet, with `knownBit`; or `leftOutBit`. 0 if
    /// the series has not been examined yet.
    private var series: [Conditions] = []
    /// The same without `knownBit`, for ids of `maxTable` or higher. Has no entry for a series that has not been
    /// examined yet.
    private var moreSeries: [SeriesID: Conditions] = [:]
    /// A buffer for text whose JSON escapes have been resolved.
    private var resolved: [UInt8] = []

    /// Set for a series that was examined and is not left out.
    private static let knownBit: Conditions = 1 << 31
    /// The value for a series whose records are left out.
    private static let leftOutBit: Conditions = 1 << 30
    /// The series whose records are searched; nil for all.
    private let wanted: Set<SeriesID>?

    /// The lowest series id for which `moreSeries` is used instead of `series`.
    private static let maxTable: Int64 = 1 << 18
    /// The maximum number of conditions on metadata that are examined here. The caller checks the others.
    private static let maxKeys = 8

    /// Creates a scan.
    ///
    /// - Parameters:
    ///   - content: The conditions.
    ///   - wanted: The series whose records are searched; nil for all.
    init(_ content: RecordMatcher, wanted: Set<SeriesID>?) {
        self.wanted = wanted
        var conditions: [Condition] = []
        for term in content.text?.terms ?? [] {
            conditions.append(Condition(bit: 1 << conditions.count, terms: [term], place: .anywhere))
        }
        for condition in content.metadata?.prefix(Self.maxKeys) ?? [] where !condition.values.contains("") {
            let terms = condition.values.map { TextTerm($0.unicodeScalars) }
            conditions.append(Condition(bit: 1 << conditions.count, terms: terms, place: .metadata))
        }
        for condition in content.context {
            let terms = condition.values.map { TextTerm($0.unicodeScalars) }
            conditions.append(Condition(bit: 1 << conditions.count, terms: terms, place: .details))
        }
        self.conditions = conditions
        all = (1 << conditions.count) - 1
    }

    /// Leaves out the records of these series from now on.
    mutating func leaveOut(_ series: [SeriesID]) {
        for id in series { set(Self.leftOutBit, for: id) }
    }

    /// Returns the indices of those records of a block that may match.
    mutating func candidates(in block: RecordBlock, on reader: StoreReader) throws -> [Int] {
        var met = [Conditions](repeating: 0, count: block.rows.count)
        var open: Conditions = 0
        for index in block.rows.indices {
            met[index] = try conditions(metBy: block.rows[index].series, on: reader)
            if met[index] != Self.leftOutBit { open |= all & ~met[index] }
        }
        if open != 0 {
            guard let text = try reader.blocks.text(of: block) else { return [] }
            search(text, of: block, open, &met)
        }
        return met.indices.filter { met[$0] == all }
    }

    /// Adds to `met` the conditions that the text of each record may meet.
    ///
    /// - Parameters:
    ///   - text: The text of the block.
    ///   - block: The block.
    ///   - open: The conditions to search for.
    ///   - met: The conditions that each record may meet, by index in the block.
    private mutating func search(
        _ text: [UInt8], of block: RecordBlock, _ open: Conditions, _ met: inout [Conditions]
    ) {
        var fields = BlockFields(block, text.count)
        for condition in conditions where open & condition.bit != 0 {
            let (start, end) =
                switch condition.place {
                case .anywhere: (0, text.count)
                case .metadata: (fields.metadata.lowerBound, fields.metadata.upperBound)
                case .details: (fields.metadata.upperBound, text.count)
                }
            for term in condition.terms {
                var index = start
                while index < end, let place = term.nextCandidate(in: text.span, from: index, to: end) {
                    let field = fields.field(at: place)
                    met[field.row] |= condition.bit
                    index = max(field.end, place + 1)
                }
            }
        }
        // In JSON, any character can be escaped, so fields with a backslash are searched again with escapes resolved.
        var index = fields.metadata.lowerBound
        while let place = Self.backslash(in: text, from: index) {
            let field = fields.field(at: place)
            index = max(field.end, place + 1)
            guard all & ~met[field.row] != 0, met[field.row] & Self.leftOutBit == 0 else { continue }
            resolved.removeAll(keepingCapacity: true)
            JSONEscapes.resolve(text.span, from: field.start, to: field.end, into: &resolved)
            for condition in conditions where met[field.row] & condition.bit == 0 {
                let span = resolved.span
                if condition.terms.contains(where: { $0.occurs(in: span, from: 0, to: span.count) }) {
                    met[field.row] |= condition.bit
                }
            }
        }
    }

    /// Returns the index of the next backslash; nil if there is none.
    private static func backslash(in text: [UInt8], from start: Int) -> Int? {
        let span = text.span
        var index = span.scan(from: start, to: span.count) { $0 .== ByteMask.of("\\") }
        while index < span.count, span[index] != UInt8(ascii: "\\") { index += 1 }
        return index < span.count ? index : nil
    }

    // MARK: Series

    /// Returns the conditions that the template or the domain of a series may meet; or `leftOutBit` if its records are
    /// left out.
    private mutating func conditions(metBy id: SeriesID, on reader: StoreReader) throws -> Conditions {
        if id.rawValue >= 0, id.rawValue < series.count {
            let known = series[Int(id.rawValue)]
            if known != 0 { return known & ~Self.knownBit }
        } else if let known = moreSeries[id] {
            return known
        }
        if wanted?.contains(id) == false {
            set(Self.leftOutBit, for: id)
            return Self.leftOutBit
        }
        let found =
            try reader.connection.first("SELECT template, domain FROM series WHERE id = ?1", id) { row in
                conditions(metBy: row.bytes(0), domain: row.bytes(1))
            } ?? 0
        set(found | Self.knownBit, for: id)
        return found
    }

    /// Stores the value of a series.
    private mutating func set(_ value: Conditions, for id: SeriesID) {
        guard id.rawValue >= 0, id.rawValue < Self.maxTable else {
            moreSeries[id] = value & ~Self.knownBit
            return
        }
        if id.rawValue >= series.count {
            let count = min(Int(Self.maxTable), max(1024, 2 * Int(id.rawValue)))
            series += repeatElement(0, count: count - series.count)
        }
        series[Int(id.rawValue)] = value
    }

    private func conditions(metBy template: [UInt8], domain: [UInt8]) -> Conditions {
        var met: Conditions = 0
        for condition in conditions where condition.place == .anywhere {
            for term in condition.terms
            where term.mayOccur(inTemplate: template) || term.occurs(in: domain.span, from: 0, to: domain.count) {
                met |= condition.bit
            }
        }
        return met
    }
}

/// The ranges of a block's text that belong to its records.
private struct BlockFields {
    /// The message, the metadata or the details of a record.
    struct Field {
        /// The index of the record in the block.
        var row: Int
        var start: Int
        var end: Int
    }

    /// The range of all metadata.
    let metadata: Range<Int>
    private let block: RecordBlock
    /// All fields in ascending order; computed on first use.
    private var fields: [Field] = []

    init(_ block: RecordBlock, _ count: Int) {
        self.block = block
        var (messages, metadata) = (0, 0)
        for row in block.rows {
            messages += Int(row.message.count)
            metadata += Int(row.metadata.count)
        }
        self.metadata = min(messages, count)..<min(messages + metadata, count)
    }

    /// Returns the field that contains the byte at an index of the text.
    mutating func field(at place: Int) -> Field {
        if fields.isEmpty {
            for column: KeyPath<BlockRow, ByteRange> in [\.message, \.metadata, \.details] {
                for index in block.rows.indices {
                    let range = block.rows[index][keyPath: column]
                    if !range.isEmpty { fields.append(Field(row: index, start: range.lower, end: range.upper)) }
                }
            }
        }
        var (low, high) = (0, fields.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if fields[middle].end > place { high = middle } else { low = middle + 1 }
        }
        return fields[low]
    }
}

/// The escapes of JSON strings.
enum JSONEscapes {
    /// Appends bytes with all escapes resolved.
    ///
    /// - Parameters:
    ///   - bytes: Validated JSON. For other bytes, the result of malformed escapes is not specified.
    ///   - start: The index of the first byte.
    ///   - end: The index after the last byte.
    ///   - output: The buffer to which the bytes are appended.
    static func resolve(_ bytes: Span<UInt8>, from start: Int, to end: Int, into output: inout [UInt8]) {
        var index = start
        while index < end {
            guard bytes[index] == UInt8(ascii: "\\"), index + 1 < end else {
                output.append(bytes[index])
                index += 1
                continue
            }
            let byte = bytes[index + 1]
            index += 2
            switch byte {
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "u"):
                var scalar = unit(bytes, at: &index, end) ?? 0xFFFD
                if 0xD800..<0xDC00 ~= scalar, index + 1 < end, bytes[index] == UInt8(ascii: "\\") {
                    index += 2
                    let low = unit(bytes, at: &index, end) ?? 0xDC00
                    scalar = 0x10000 + ((scalar - 0xD800) << 10 | (low & 0x3FF))
                }
                LetterCase.append(scalar, to: &output)
            default: output.append(byte)
            }
        }
    }

    /// Reads four hexadecimal digits and moves the index past them. Returns nil if there are fewer.
    private static func unit(_ bytes: Span<UInt8>, at index: inout Int, _ end: Int) -> UInt32? {
        guard index + 4 <= end else { return nil }
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(bytes[index])).hexDigitValue else { return nil }
            unit = unit << 4 | UInt32(digit)
            index += 1
        }
        return unit
    }
}
