/// Decides when the write-ahead log (WAL) is checkpointed: after it has grown by a number of pages, and after the disk
/// was full.
package struct CheckpointPolicy: Equatable, Sendable {
    package enum Step: Equatable, Sendable {
        case none
        /// Commit the waiting reports first, because all reports wait during a checkpoint.
        case commitFirst
        /// Copy the frames up to the oldest snapshot that a reader holds. Does not wait.
        case copy
        /// Wait briefly for readers and, if none is left, reset the WAL, so that it is overwritten from its start.
        case restart
    }

    /// The growth of the WAL, in pages, after which it is checkpointed.
    private let pages: Int
    /// The length of the WAL from which its growth is measured, in pages.
    private var copied = 0
    private var isDiskFull = false
    /// Whether the checkpoint that is due has been postponed until after a commit.
    private var isPostponed = false

    /// - Parameter pages: The growth of the WAL, in pages, after which it is checkpointed.
    package init(pages: Int) {
        self.pages = pages
    }

    /// Returns the checkpoint to run now.
    ///
    /// A checkpoint is postponed by at most one commit, so that a report sent during an expensive commit does not also
    /// wait for the checkpoint.
    ///
    /// - Parameters:
    ///   - walPages: The current length of the WAL, in pages.
    ///   - reportsWait: `true` if reports wait for the next commit.
    package mutating func next(walPages: Int, reportsWait: Bool) -> Step {
        guard walPages > 0, isDiskFull || added(walPages) >= pages else { return .none }
        // Readers that take one snapshot after another can prevent a reset forever, so at a length of `2 * pages` a
        // passive checkpoint is not enough.
        if isDiskFull || walPages >= 2 * pages { return .restart }
        guard reportsWait, !isPostponed else { return .copy }
        isPostponed = true
        return .commitFirst
    }

    /// Handles the end of a checkpoint.
    ///
    /// If a reader has prevented the checkpoint from copying everything, the next checkpoint follows after little
    /// growth: after the usual growth, it would have twice as much to copy, and reports would wait twice as long. The
    /// exception is a WAL that is so long that the next checkpoint resets it.
    ///
    /// - Parameters:
    ///   - walPages: The length of the WAL after the checkpoint, in pages.
    ///   - isComplete: `false` if a reader has prevented the checkpoint from copying everything; `true` otherwise, even
    ///     after an error.
    package mutating func copied(walPages: Int, isComplete: Bool = true) {
        copied = isComplete || walPages >= 2 * pages ? walPages : walPages - pages + pages / 8
        (isDiskFull, isPostponed) = (false, false)
    }

    /// Notes that the disk was full, so that the next checkpoint resets the WAL. The WAL is then overwritten from its
    /// start and needs no further disk space.
    package mutating func diskWasFull() { isDiskFull = true }

    private func added(_ walPages: Int) -> Int {
        // A WAL that has become shorter was reset.
        walPages < copied ? walPages : walPages - copied
    }
}

/// Limits on the WAL, on free pages and on free disk space, in bytes.
///
/// On a small file system, these are fixed parts of its size, so that most of it is left for records.
package struct DiskBudget: Equatable, Sendable {
    /// The growth of the write-ahead log (WAL) after which it is checkpointed. All reports wait during a checkpoint. At
    /// twice this length, the WAL is reset.
    package let checkpointBytes: Int64
    /// The size above which the WAL file is truncated when the WAL is reset.
    package let typicalWALBytes: Int64
    /// The size that the WAL must not reach.
    package let maxWALBytes: Int64
    /// The size that the WAL must not reach while a backup holds a snapshot.
    package let maxWALBytesDuringBackup: Int64
    /// The total size of the free pages at which the daemon begins to return them to the file system.
    package let spareBytes: Int64
    /// The free space with which a commit of the usual size is not refused. If retention kept less free, reports could
    /// be refused although records could be removed.
    package let sufficientBytes: Int64
    package let reserve: GrowthReserve

    /// - Parameter fileSystemBytes: The size of the file system; nil if unknown.
    package init(fileSystemBytes: Int64? = nil) {
        let whole = fileSystemBytes ?? .max
        checkpointBytes = min(4 << 20, whole / 16)
        typicalWALBytes = min(WALLimits.typicalBytes, whole / 4)
        maxWALBytes = min(WALLimits.maxBytes, whole / 2)
        maxWALBytesDuringBackup = min(WALLimits.maxBytesDuringBackup, whole / 2)
        spareBytes = min(2 << 20, whole / 32)
        sufficientBytes = min(GrowthReserve.sufficientBytes, whole / 4)
        reserve = GrowthReserve(maxWALBytes: min(12 << 20, whole / 16 * 3), minFreeBytes: min(1 << 20, whole / 32))
    }
}

/// The limits on the size of the write-ahead log (WAL), and the measures taken before they are reached.
///
/// SQLite can reset the WAL only while no reader holds a snapshot of it. While a reader holds one, the WAL grows with
/// every commit.
package struct WALLimits: Equatable, Sendable {
    package enum Pressure: Int, Comparable, Sendable {
        case none
        /// New snapshots must wait until the daemon has tried to reset the WAL.
        case closed
        /// In addition, queries that hold a snapshot are interrupted.
        case interrupting
        /// In addition, reports are refused until the WAL has been reset.
        case full

        package static func < (left: Pressure, right: Pressure) -> Bool { left.rawValue < right.rawValue }
    }

    /// The size that the WAL must not reach on a large file system, in bytes.
    package static let maxBytes: Int64 = 64 << 20
    /// The size that the WAL must not reach while a backup holds a snapshot, in bytes. Only operators can start a
    /// backup.
    package static let maxBytesDuringBackup: Int64 = 512 << 20
    /// The size, in bytes, above which the WAL file is truncated when the WAL is reset, on a large file system.
    ///
    /// Commits to a file that must grow are slower. While a search holds a snapshot, the WAL commonly reaches about 24
    /// MiB before it is reset. This must not cause the file to be truncated.
    package static let typicalBytes: Int64 = 32 << 20

    /// The size of a frame's header (sqlite.org/fileformat2.html, 4.1).
    private static let frameHeaderBytes: Int64 = 24

    private let frameBytes: Int64
    private let maxFrames: Int64

    /// - Parameters:
    ///   - pageBytes: The page size of the database.
    ///   - maxBytes: The size that the WAL must not reach, in bytes.
    package init(pageBytes: Int64, maxBytes: Int64 = Self.maxBytes) {
        precondition(pageBytes > 0, "The page size must be positive")
        frameBytes = pageBytes + Self.frameHeaderBytes
        maxFrames = maxBytes / frameBytes
    }

    /// Returns the measure to take while the WAL has this many frames: `closed` from three eighths of the maximum,
    /// `interrupting` from half of it, and `full` from three quarters.
    package func pressure(frames: Int) -> Pressure {
        let frames = Int64(frames)
        if frames >= maxFrames / 4 * 3 { return .full }
        if frames >= maxFrames / 2 { return .interrupting }
        return frames >= maxFrames / 8 * 3 ? .closed : .none
    }

    /// The number of frames at which no further transaction may begin.
    ///
    /// The last sixteenth is reserved for a transaction that begins just below this limit.
    package var frameLimit: Int { Int(maxFrames / 16 * 15) }
}

/// Decides whether a commit may grow the database: only if the WAL can still be checkpointed afterwards.
///
/// The pages that a commit adds are first written to the WAL, and a checkpoint copies them to the database file. If the
/// disk is full by then, every checkpoint fails, and the space of the WAL is never reused. If little space is left, the
/// database file is therefore extended before the commit. Some space is kept for the WAL, because removing records also
/// writes to the WAL.
package struct GrowthReserve: Equatable, Sendable {
    package enum Step: Equatable, Sendable {
        case commit
        /// Extend the database file to the size of the database, then commit.
        case extend
        /// There is no space for the commit.
        case refuse
    }

    /// `DiskBudget.sufficientBytes` on a large file system.
    package static let sufficientBytes: Int64 = 16 << 20

    /// The free space, in bytes, above which no check is needed, because it is not expected to be used up between two
    /// checkpoints.
    private let plenty: Int64
    /// The size that the WAL usually does not exceed before it is reset, in bytes.
    private let maxWALBytes: Int64
    /// The bytes that must stay free for other files that SQLite writes, unless a commit may use the reserve.
    private let minFreeBytes: Int64

    /// - Parameters:
    ///   - plenty: The free space above which no check is needed, in bytes.
    ///   - maxWALBytes: The size that the WAL usually does not exceed before it is reset, in bytes.
    ///   - minFreeBytes: The bytes that must stay free for other files, unless a commit may use the reserve.
    package init(plenty: Int64 = 256 << 20, maxWALBytes: Int64 = 12 << 20, minFreeBytes: Int64 = 1 << 20) {
        self.plenty = plenty
        self.maxWALBytes = maxWALBytes
        self.minFreeBytes = minFreeBytes
    }

    /// Returns what to do about a commit.
    ///
    /// - Parameters:
    ///   - databaseBytes: The size of the database after the commit, in bytes.
    ///   - fileBytes: The current size of the database file, in bytes.
    ///   - walBytes: The current size of the WAL file, in bytes.
    ///   - walGrows: `true` if the commit may enlarge the WAL file.
    ///   - freeBytes: The free space on the file system, in bytes; nil if unknown.
    ///   - mayUseReserve: `true` if the commit may use the space that is kept for the WAL, because the commit will
    ///     eventually free space.
    package func committing(
        databaseBytes: Int64, fileBytes: Int64, walBytes: Int64, walGrows: Bool = false, freeBytes: Int64?,
        mayUseReserve: Bool
    ) -> Step {
        let growth = max(0, databaseBytes - fileBytes)
        guard growth > 0 || walGrows, let freeBytes, freeBytes - growth < plenty else {
            return .commit
        }
        guard freeBytes - growth >= (mayUseReserve ? 0 : max(minFreeBytes, maxWALBytes - walBytes)) else {
            return .refuse
        }
        return growth > 0 ? .extend : .commit
    }
}
