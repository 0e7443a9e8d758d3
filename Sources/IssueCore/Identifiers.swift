/// The id of a row in one of the store's tables.
///
/// Each table has a type of its own, so that the compiler rejects the id of one table where that of another is
/// expected. An id takes as much memory as the integer that it wraps, and can be written as an integer literal. 0 is
/// not the id of any row.
package protocol Identifier: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// The integer in the database.
    var rawValue: Int64 { get }

    init(rawValue: Int64)
}

extension Identifier {
    @inlinable
    package init(integerLiteral value: Int64) { self.init(rawValue: value) }

    /// Creates an id from an integer of any type.
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

/// The position of a record in the record log. Row ids ascend in the order in which records were committed, and no row
/// id is assigned twice.
///
/// Valid row ids are between 0 and 2^60. Others may come from clients and from damaged files, so arithmetic is clamped
/// to the range of `Int64` and never traps.
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
        let (sum, overflow) = rawValue.addingReportingOverflow(Int64(count))
        guard overflow else { return RowID(rawValue: sum) }
        return RowID(rawValue: count < 0 ? Int64.min : Int64.max)
    }

    @inlinable
    package func distance(to other: RowID) -> Int {
        let (difference, overflow) = other.rawValue.subtractingReportingOverflow(rawValue)
        guard overflow else { return Int(difference) }
        return other.rawValue < rawValue ? Int.min : Int.max
    }

    @inlinable
    package static func + (row: RowID, count: Int) -> RowID { row.advanced(by: count) }

    @inlinable
    package static func - (row: RowID, count: Int) -> RowID {
        let (difference, overflow) = row.rawValue.subtractingReportingOverflow(Int64(count))
        guard overflow else { return RowID(rawValue: difference) }
        return RowID(rawValue: count < 0 ? Int64.max : Int64.min)
    }

    /// Returns the number of row ids from one row up to, but not including, another.
    @inlinable
    package static func - (row: RowID, other: RowID) -> Int { other.distance(to: row) }
}

/// The id of a series: the records of one sender that differ only in the variable parts of their message, in their
/// count and in their details.
package struct SeriesID: Identifier {
    package var rawValue: Int64

    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of an account: one application of one user. An application of the same name of another user has its own
/// account.
package struct AccountID: Identifier {
    package var rawValue: Int64

    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of a group: the records of an account that have the same fingerprint.
///
/// Clients see the key of a group instead of its id, because an id is assigned by one store only.
package struct GroupID: Identifier {
    package var rawValue: Int64

    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of a stored batch of records that are sent to a destination.
package struct BatchID: Identifier {
    package var rawValue: Int64

    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of the row that describes a reporting process. A process id of the kernel is an `Int32`, and may be assigned
/// again.
package struct ProcessRowID: Identifier {
    package var rawValue: Int64

    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }
}
