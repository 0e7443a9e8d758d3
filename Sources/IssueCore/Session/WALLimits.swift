/// How large the write-ahead log (WAL) may become, and what must happen on the way there.
///
/// SQLite can restart the WAL only while no reader holds a snapshot of it, so a
/// long-running reader makes it grow by everything that is reported meanwhile.
package struct WALLimits: Equatable, Sendable {
    package enum Pressure: Int, Comparable, Sendable {
        case none
        /// No new snapshot may be taken until the WAL has begun anew.
        case closed
        /// Questions that hold a snapshot are interrupted.
        case interrupting
        /// Nothing is committed until the WAL has begun anew.
        case full

        package static func < (left: Pressure, right: Pressure) -> Bool { left.rawValue < right.rawValue }
    }

    /// The size that the WAL does not reach.
    package static let maxBytes: Int64 = 64 << 20
    /// The same while a backup holds its snapshot, which only operators can start.
    package static let maxBytesDuringBackup: Int64 = 512 << 20
    /// The length to which the WAL's file is truncated when it restarts.
    package static let usualBytes: Int64 = 16 << 20

    /// A frame's header (sqlite.org/fileformat2.html, 4.1).
    private static let frameHeaderBytes: Int64 = 24

    private let frameBytes: Int64
    private let maxFrames: Int64

    package init(pageBytes: Int64, maxBytes: Int64 = Self.maxBytes) {
        precondition(pageBytes > 0, "A page has bytes")
        frameBytes = pageBytes + Self.frameHeaderBytes
        maxFrames = maxBytes / frameBytes
    }

    /// Returns what must happen while the WAL has this many frames.
    package func pressure(frames: Int) -> Pressure {
        let frames = Int64(frames)
        if frames >= maxFrames / 4 * 3 { return .full }
        if frames >= maxFrames / 2 { return .interrupting }
        return frames >= maxFrames / 8 * 3 ? .closed : .none
    }

    /// No transaction may begin while the WAL has as many frames.
    ///
    /// The last sixteenth is room for the transaction that begins just below.
    package var frameLimit: Int { Int(maxFrames / 16 * 15) }
}
