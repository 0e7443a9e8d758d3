import SQLiteKit

/// A copy of the whole store, made step by step while it is in use.
///
/// It is marked as a copy when it is whole: a daemon that opens it gives what
/// comes then ids of another store, so that none is given out twice.
package final class StoreCopy {
    private let path: String
    private var backup: OnlineBackup?
    private let pageSize: Int64
    private let control: (any SnapshotControl)?
    private var ticket: UInt64?
    /// In bytes.
    package private(set) var done: Int64 = 0
    package private(set) var total: Int64

    /// How many pages a step copies: 2 MiB.
    private static let pagesAtATime = 256

    /// Begins a copy at a path where nothing is yet.
    ///
    /// - Parameter control: Grants the snapshot, and can end it; nil if no writer waits for the file.
    package init(
        of source: String, to path: String, control: (any SnapshotControl)? = nil
    ) throws(StoreFailure) {
        self.path = path
        self.control = control
        do {
            let reader = try Connection(path: source, mode: .readOnly, busyTimeout: .seconds(5))
            ticket = try control?.begin(QueryInterruption(reader))
            do {
                let writer = try Connection(path: path, busyTimeout: .seconds(5))
                // A copy that is not whole is thrown away, and a whole one is synced by the caller.
                try writer.setPragma("synchronous", to: "OFF")
                try writer.setPragma("journal_mode", to: "MEMORY")
                backup = try OnlineBackup(from: reader, to: writer)
                pageSize = try reader.pragma("page_size")
                total = try reader.pragma("page_count") * pageSize
            } catch {
                if let ticket { _ = control?.end(ticket) }
                throw error
            }
        } catch let failure as StoreFailure {
            throw failure
        } catch let error as SQLiteError {
            throw StoreFailure(error)
        } catch {
            preconditionFailure("A copy fails with an error of SQLite or of the store: \(error)")
        }
    }

    deinit { finish() }

    /// Stops copying and releases the snapshot.
    private func finish() {
        backup = nil
        if let ticket { _ = control?.end(ticket) }
        ticket = nil
    }

    /// Copies a few more pages, and returns whether the copy is complete.
    ///
    /// - Throws: `StoreFailure.walTooLarge` if too much was written meanwhile, so the copy is given up.
    package func step() throws(StoreFailure) -> Bool {
        guard let backup else { return true }
        if let ticket, control?.isInterrupted(ticket) == true {
            finish()
            throw .walTooLarge
        }
        do throws(SQLiteError) {
            let isDone = try backup.step(pages: Self.pagesAtATime)
            let pages = backup.pages
            if pages.total > 0 { total = Int64(pages.total) * pageSize }
            done = isDone ? total : total - Int64(pages.left) * pageSize
            if isDone { finish() }
            return isDone
        } catch {
            throw StoreFailure(error)
        }
    }

    /// Marks the copy that has become whole as one, and makes it a single file.
    package static func mark(_ path: String) throws(StoreFailure) {
        do throws(SQLiteError) {
            let copy = try Connection(path: path, checkpointsOnClose: true)
            try copy.setPragma("journal_mode", to: "DELETE")
            try copy.execute("INSERT OR REPLACE INTO copies (at) VALUES (strftime('%s', 'now') * 1000)")
        } catch {
            throw StoreFailure(error)
        }
    }
}

@available(*, unavailable)
extension StoreCopy: Sendable {}
