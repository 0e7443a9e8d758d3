/// What retention has to know of the store and of the disk.
package struct RetentionFacts: Equatable, Sendable {
    /// A range that is closed.
    package struct ClosedRange: Equatable, Sendable {
        package var id: Int64
        package var firstID: Int64
        package var lastID: Int64
        /// When its last record came, by the log's clock.
        package var newest: LogInstant
        /// Whether a batch refers to it whose answer is not known.
        package var isUnderWay: Bool

        package init(id: Int64, firstID: Int64, lastID: Int64, newest: LogInstant, isUnderWay: Bool) {
            self.id = id
            self.firstID = firstID
            self.lastID = lastID
            self.newest = newest
            self.isUnderWay = isUnderWay
        }
    }

    /// The oldest closed range of which something is left.
    package var oldest: ClosedRange?
    /// Who has what in which closed range; only where there is too little room.
    package var holdings: [Holding] = []
    /// When the first record of the open range came, by the log's clock.
    package var openSince: LogInstant?
    /// What the database holds, without the pages in it that are free.
    package var usedBytes: Int64
    /// The pages in the database that are free: the disk can have them back.
    package var spareBytes: Int64
    /// What is free on the file system; nothing where that is not known.
    package var freeBytes: Int64?
    /// The bytes that the write-ahead log takes beyond its usual size. A checkpoint frees them; removing records does
    /// not.
    package var excessWALBytes: Int64 = 0
    package var now: LogInstant

    package init(
        oldest: ClosedRange?, openSince: LogInstant?, usedBytes: Int64, spareBytes: Int64, freeBytes: Int64?,
        now: LogInstant
    ) {
        self.oldest = oldest
        self.openSince = openSince
        self.usedBytes = usedBytes
        self.spareBytes = spareBytes
        self.freeBytes = freeBytes
        self.now = now
    }
}
