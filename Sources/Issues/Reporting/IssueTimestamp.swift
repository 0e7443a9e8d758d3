package import IssueWire
internal import UnixIO

/// A moment of the wall clock, to the millisecond.
public struct IssueTimestamp: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var wire: Timestamp

    /// A moment by its milliseconds since 1970-01-01T00:00:00Z.
    public init(millisecondsSince1970: Int64) {
        wire = Timestamp(milliseconds: millisecondsSince1970)
    }

    package init(_ wire: Timestamp) {
        self.wire = wire
    }

    /// This moment.
    public static var now: IssueTimestamp {
        IssueTimestamp(millisecondsSince1970: WallClock.nowMilliseconds)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    public var millisecondsSince1970: Int64 { wire.milliseconds }

    /// RFC 3339 in UTC, such as `2026-11-21T10:00:00.123Z`.
    public var description: String { wire.text }

    /// Orders moments from the earliest to the latest.
    public static func < (left: Self, right: Self) -> Bool {
        left.wire < right.wire
    }
}
