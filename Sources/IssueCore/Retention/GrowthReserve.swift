/// Whether the database may grow in a commit: only as far as its log can always be copied.
///
/// The pages that a commit adds are in the log at first, and the file gets them
/// when the log is copied. Where something else has filled the disk by then
/// there would be no way back: the log can't be copied, and what is not copied
/// never gives its space free. So where little is left, the file has its pages
/// before the commit, and something stays for the log, in which records are also removed.
package struct GrowthReserve: Equatable, Sendable {
    package enum Step: Equatable, Sendable {
        case commit
        /// The file is to have all pages of the database first.
        case extend
        case refuse
    }

    /// What nobody is expected to fill between two copies of the log.
    private let plenty: Int64
    /// What the log takes until it begins anew.
    private let log: Int64
    /// Bytes that always stay free, for what SQLite writes in addition to the log.
    private let least: Int64

    package init(plenty: Int64 = 256 << 20, log: Int64 = 12 << 20, least: Int64 = 1 << 20) {
        self.plenty = plenty
        self.log = log
        self.least = least
    }

    /// A commit is to be made, after which the database has so many bytes.
    ///
    /// - Parameters:
    ///   - fileBytes: how long its file is now.
    ///   - logBytes: what the log has on the disk already.
    ///   - logGrows: whether the commit may need more of the disk than that.
    ///   - freeBytes: what is free there; nothing where that is not known.
    ///   - mayUseReserve: whether it is one that in the end makes room.
    package func committing(
        databaseBytes: Int64, fileBytes: Int64, logBytes: Int64, logGrows: Bool = false, freeBytes: Int64?,
        mayUseReserve: Bool
    ) -> Step {
        let owed = max(0, databaseBytes - fileBytes)
        guard owed > 0 || logGrows, let freeBytes, freeBytes - owed < plenty else { return .commit }
        guard freeBytes - owed >= (mayUseReserve ? 0 : max(least, log - logBytes)) else { return .refuse }
        return owed > 0 ? .extend : .commit
    }
}
