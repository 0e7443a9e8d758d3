import SQLiteKit

/// A copy of the whole store, made in steps while the store is in use.
///
/// A complete copy must be marked as a copy (`mark`). The daemon that opens it draws a new store code for the ids of
/// new records, so that no id is assigned twice.
package final class StoreCopy {
    private var backup: OnlineBackup?
    private let pageSize: Int64
    private let control: (any SnapshotControl)?
    private var ticket: UInt64?
    /// The number of bytes copied so far.
    package private(set) var done: Int64 = 0
    /// The size of the copied snapshot, in bytes. It doesn't change, because the copy holds the snapshot.
    package private(set) var total: Int64

    /// The number of pages that a step copies. With pages of 8 KiB, this is 2 MiB.
    private static let pagesPerStep = 256

    /// Starts a copy.
    ///
    /// - Parameters:
    ///   - source: The path of the database.
    ///   - path: The path of the copy. No file may exist there.
    ///   - control: Grants the snapshot and can end it; nil if the snapshot needs no permission.
    /// - Throws: `StoreFailure.walTooLarge` if no snapshot may be taken now, or the error of opening the source or
    ///   creating the copy.
    package init(
        of source: String, to path: String, control: (any SnapshotControl)? = nil
    ) throws(StoreFailure) {
        self.control = control
        let reader = try StoreWriter.convertingErrors { () throws(SQLiteError) in
            try DatabaseConnection(path: source, mode: .readOnly, busyTimeout: .seconds(5))
        }
        ticket = try control?.begin(QueryInterruption(reader))
        do throws(SQLiteError) {
            let writer = try DatabaseConnection(path: path, busyTimeout: .seconds(5))
            // An incomplete copy is discarded, and the caller syncs a complete one.
            try writer.setPragma("synchronous", to: "OFF")
            try writer.setPragma("journal_mode", to: "MEMORY")
            backup = try OnlineBackup(from: reader, to: writer)
            pageSize = try reader.pragma("page_size")
            total = try reader.pragma("page_count") * pageSize
        } catch {
            if let ticket { _ = control?.end(ticket) }
            throw StoreFailure(error)
        }
    }

    deinit { finish() }

    /// Stops copying and releases the snapshot.
    private func finish() {
        backup = nil
        if let ticket { _ = control?.end(ticket) }
        ticket = nil
    }

    /// Copies the next pages.
    ///
    /// - Returns: `true` if the copy is complete.
    /// - Throws: `StoreFailure.walTooLarge` if the copy was abandoned because the WAL has grown too much, or the error
    ///   of the copy. Do not call this again after an error.
    package func step() throws(StoreFailure) -> Bool {
        guard let backup else { return true }
        if let ticket, control?.isInterrupted(ticket) == true {
            finish()
            throw .walTooLarge
        }
        do throws(SQLiteError) {
            let isDone = try backup.step(pages: Self.pagesPerStep)
            let pages = backup.pages
            if pages.total > 0 { total = Int64(pages.total) * pageSize }
            done = isDone ? total : total - Int64(pages.left) * pageSize
            if isDone { finish() }
            return isDone
        } catch {
            throw StoreFailure(error)
        }
    }

    /// Marks a complete copy as a copy. Ends WAL mode, so that the copy is a single file.
    ///
    /// - Throws: `StoreFailure` if the copy cannot be opened or written.
    package static func mark(_ path: String) throws(StoreFailure) {
        try StoreWriter.convertingErrors { () throws(SQLiteError) in
            let copy = try DatabaseConnection(path: path, checkpointsOnClose: true)
            try copy.setPragma("journal_mode", to: "DELETE")
            try copy.execute("INSERT OR REPLACE INTO copies (at) VALUES (strftime('%s', 'now') * 1000)")
        }
    }
}

@available(*, unavailable)
extension StoreCopy: Sendable {}
