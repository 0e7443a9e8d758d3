package import IssueProtocol

/// The id of a row in one of the store's tables.
///
/// Each type stands for one table, so that the compiler rejects the id of one table where that of another is expected.
/// An id takes as much memory as the integer that it wraps, and can be written as an integer literal. 0 is not the id
/// of any row.
package protocol Identifier: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// The integer in the database.
    var rawValue: Int64 { get }

    init(rawValue: Int64)
}

extension Identifier {
    @inlinable
    package init(integerLiteral value: Int64) { self.init(rawValue: value) }

    /// Creates an id from an integer, which must be in the range of `Int64`.
    @inlinable
    package init(_ value: some BinaryInteger) { self.init(rawValue: Int64(value)) }

    package var description: String { "\(rawValue)" }

    @inlinable
    package static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }

    @inlinable
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    @inlinable
    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

/// The position of a record in the record log. Row ids ascend in the order in which records were committed. None is
/// assigned twice with the same store code; after a loss of commits, the lost ids are assigned again with a new code.
///
/// Valid row ids are greater than 0 and less than 2^60. Others may come from clients and from damaged files, so
/// arithmetic is clamped to the range of `Int64` and never traps.
package struct RowID: Identifier, Strideable {
    package var rawValue: Int64

    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let min = RowID(rawValue: .min)
    package static let max = RowID(rawValue: .max)

    @inlinable
    package static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }

    @inlinable
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    @inlinable
    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    @inlinable
    package func advanced(by count: Int) -> RowID {
        RowID(rawValue: rawValue.clampedSum(Int64(count)))
    }

    @inlinable
    package func distance(to other: RowID) -> Int {
        Int(other.rawValue.clampedDifference(rawValue))
    }

    @inlinable
    package static func + (row: RowID, count: Int) -> RowID { row.advanced(by: count) }

    @inlinable
    package static func - (row: RowID, count: Int) -> RowID {
        RowID(rawValue: row.rawValue.clampedDifference(Int64(count)))
    }

    /// Returns the number of row ids from `other` up to, but not including, `row`; negative if `row` is lower.
    @inlinable
    package static func - (row: RowID, other: RowID) -> Int { other.distance(to: row) }
}

/// The id of a series: the records of one sender with the same `SeriesDescription`. They differ only in their process,
/// their times and counts, the variable parts of their message, their metadata and their details.
package struct SeriesID: Identifier {
    package var rawValue: Int64

    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of an account: one application of one user. If two users run an application, each has an account for it.
package struct AccountID: Identifier {
    package var rawValue: Int64

    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of a group: the records of an account that have the same fingerprint, apart from those moved by corrections.
///
/// Clients see the group's key (`Fingerprint.groupKey`) as text instead, because this id is valid only in the store
/// that assigned it.
package struct GroupID: Identifier {
    package var rawValue: Int64

    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of a stored batch, whose lines are sent to one destination.
package struct BatchID: Identifier {
    package var rawValue: Int64

    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of the row that describes a reporting process. It is not the kernel's process id, which is an `Int32` and may
/// be reused.
package struct ProcessRowID: Identifier {
    package var rawValue: Int64

    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of a stored record: the store code in effect when the record was committed, and the record's row id.
///
/// As text it is twelve characters for the store code, a hyphen and the row id, in Crockford's base 32 (without i, l, o
/// and u). Clients treat it as opaque.
package struct RecordID: Hashable, Sendable {
    /// The store code, in 60 bits. It is drawn at random and keeps ids unique across databases.
    package var store: UInt64
    /// The record's row id.
    package var row: RowID

    /// The mask of the 60 bits of a store code.
    package static let storeBits: UInt64 = (1 << 60) - 1

    package init(store: UInt64, row: RowID) {
        self.store = store & Self.storeBits
        self.row = row
    }

    /// The id as text.
    package var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The store code as text: the part of `text` before the hyphen.
    package var storeText: String { String(text.prefix(12)) }

    /// Appends the id as text.
    package func append(to output: inout [UInt8]) {
        appendStore(to: &output)
        var row = ByteBuffer()
        Self.append(digitsOf: self.row.rawValue, to: &row)
        output.append(contentsOf: row[0..<row.count])
    }

    /// Appends the common prefix of all ids with this store code: the store code as text, and the hyphen.
    package func appendStore(to output: inout [UInt8]) {
        for position in (0..<12).reversed() {
            output.append(Self.digit(store >> UInt64(5 * position) & 31))
        }
        output.append(UInt8(ascii: "-"))
    }

    /// The number of consecutive rows whose ids differ only in the last digit, starting at a multiple of this number.
    package static let rowsPerPrefix: Int64 = 32

    /// Appends a number as text, in the same form as the row id in a record's id.
    package static func append(digitsOf number: Int64, to output: inout ByteBuffer) {
        let number = UInt64(bitPattern: number)
        var words = InlineArray<2, UInt64>(repeating: 0)
        let count = max(0, (63 - number.leadingZeroBitCount) / 5) + 1
        let start = output.count
        output.appendRoom(16)
        // The digits are collected in two words, the first digit in the lowest byte, and stored at once.
        for index in 0..<count {
            let digit = UInt64(digit(number >> UInt64(5 * (count - 1 - index)) & 31))
            words[index >> 3] |= digit << UInt64(8 * (index & 7))
        }
        output.store(words: words.span, at: start)
        output.truncate(to: start + count)
    }

    /// Parses an id; nil if the text is not a valid id.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count > 13, bytes.count <= 13 + 13, bytes[12] == UInt8(ascii: "-"),
            let store = Self.number(bytes[..<12]), let row = Self.number(bytes[13...]), row <= UInt64(Int64.max),
            row > 0
        else { return nil }
        self.init(store: store, row: RowID(rawValue: Int64(row)))
    }

    private static func number(_ digits: some Sequence<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for digit in digits {
            guard value >> 59 == 0, let number = alphabet.firstIndex(of: digit | (digit > 0x40 ? 0x20 : 0)) else {
                return nil
            }
            value = value << 5 | UInt64(number)
        }
        return value
    }

    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    @inline(__always)
    private static func digit(_ value: UInt64) -> UInt8 {
        let number = UInt8(truncatingIfNeeded: value)
        switch number {
        case 0...9: return UInt8(ascii: "0") + number
        case 10...17: return UInt8(ascii: "a") + number - 10
        case 18, 19: return UInt8(ascii: "j") + number - 18
        case 20, 21: return UInt8(ascii: "m") + number - 20
        case 22...26: return UInt8(ascii: "p") + number - 22
        default: return UInt8(ascii: "v") + number - 27
        }
    }
}
