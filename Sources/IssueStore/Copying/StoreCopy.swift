import SQLiteKit

/// A copy of the whole store, made step by step while it is in use.
///
/// It is marked as a copy when it is whole: a daemon that opens it gives what
/// comes then ids of another store, so that none is given out twice.
package final class StoreCopy {
    private let path: String
    private let backup: OnlineBackup
    private let pageSize: Int64
    /// In bytes.
    package private(set) var done: Int64 = 0
    package private(set) var total: Int64

    /// How many pages a step copies: 2 MiB.
    private static let pagesAtATime = 256

    /// Begins a copy at a path where nothing is yet.
    package init(of source: String, to path: String) throws(StoreFailure) {
        self.path = path
        do throws(SQLiteError) {
            let reader = try Connection(path: source, mode: .readOnly, busyTimeout: .seconds(5))
            let writer = try Connection(path: path, busyTimeout: .seconds(5))
            // A copy that is not whole is thrown away, and a whole one is synced by whoever has asked for it.
            try writer.setPragma("synchronous", to: "OFF")
            try writer.setPragma("journal_mode", to: "MEMORY")
            backup = try OnlineBackup(from: reader, to: writer)
            pageSize = try reader.pragma("page_size")
            total = try reader.pragma("page_count") * pageSize
        } catch {
            throw StoreFailure(error)
        }
    }

    /// Copies a few pages more, and answers whether the copy is whole then.
    package func step() throws(StoreFailure) -> Bool {
        do throws(SQLiteError) {
            let isDone = try backup.step(pages: Self.pagesAtATime)
            let pages = backup.pages
            if pages.total > 0 { total = Int64(pages.total) * pageSize }
            done = isDone ? total : total - Int64(pages.left) * pageSize
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
