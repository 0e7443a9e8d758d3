/// One value of a row in memory, as `csqlite_batch_column` reads it: the members must stay what they are there.
public struct BatchCell: Sendable {
    @usableFromInline var value: Int64
    @usableFromInline var length: UInt32
    @usableFromInline var kind: UInt32

    @inlinable @inline(__always)
    init(value: Int64, length: UInt32, kind: UInt32) {
        self.value = value
        self.length = length
        self.kind = kind
    }

    /// No value.
    @inlinable @inline(__always)
    public static var null: BatchCell { BatchCell(value: 0, length: 0, kind: 0) }

    /// A number.
    @inlinable @inline(__always)
    public static func int64(_ value: Int64) -> BatchCell { BatchCell(value: value, length: 0, kind: 1) }

    /// A text that stands in a range of the bytes that are lent with the rows.
    @inlinable @inline(__always)
    public static func text(_ range: Range<Int>) -> BatchCell { part(range, kind: 2) }

    /// A blob that stands in a range of the bytes that are lent with the rows.
    @inlinable @inline(__always)
    public static func blob(_ range: Range<Int>) -> BatchCell { part(range, kind: 3) }

    @inlinable @inline(__always)
    static func part(_ range: Range<Int>, kind: UInt32) -> BatchCell {
        BatchCell(value: Int64(range.lowerBound), length: UInt32(range.count), kind: kind)
    }
}
