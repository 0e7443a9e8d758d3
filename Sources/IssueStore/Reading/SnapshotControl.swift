package import SQLiteKit

/// Ends the queries of a reader from another thread.
package struct QueryInterruption: Sendable {
    private let handle: InterruptHandle

    package init(_ connection: Connection) {
        handle = connection.interruptHandle
    }

    /// Interrupts what runs now, and has all that follows fail until `clear` is called.
    ///
    /// Repeat this until the query has ended: SQLite drops an interruption that comes between two statements.
    package func cancel() { handle.cancel() }

    /// Lets queries run again.
    package func clear() { handle.clearCancellation() }
}

/// Decides when a reader may take a snapshot of the database, and ends one that must go.
///
/// A snapshot keeps SQLite from restarting its write-ahead log, so every reader
/// must ask for one.
package protocol SnapshotControl: Sendable {
    /// Registers a snapshot that is about to be taken. May wait.
    ///
    /// - Parameter interruption: Ends the queries of the connection that takes it.
    /// - Returns: The number to call `end` with.
    /// - Throws: `StoreFailure.walTooLarge` if none may be taken for now.
    func begin(_ interruption: QueryInterruption) throws(StoreFailure) -> UInt64

    /// Returns whether the snapshot must end because the write-ahead log is too large.
    func isInterrupted(_ snapshot: UInt64) -> Bool

    /// Unregisters the snapshot, and returns whether it was interrupted.
    func end(_ snapshot: UInt64) -> Bool
}
