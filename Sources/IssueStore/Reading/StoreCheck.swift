import SQLiteKit

/// Reads a file through, to find out whether it is damaged.
package enum StoreCheck {
    package enum Finding: Equatable, Sendable {
        /// All of its pages are as they should be.
        case whole
        /// Some are not, or can't be read.
        case damaged
        /// It could not be told: the look was ended, or the machine lacks what a look needs.
        case untold
    }

    /// Looks at all pages of a file.
    ///
    /// - Parameters:
    ///   - time: how long it may take, but for a single step of SQLite, which may read the whole file.
    ///   - begun: given what ends such a step, for another thread; it does nothing to what has not begun, or has ended.
    package static func look(
        at path: String, within time: Duration, begun: (_ end: @escaping @Sendable () -> Void) -> Void
    ) -> Finding {
        do {
            let connection = try Connection(path: path, mode: .readOnly, busyTimeout: time)
            connection.setDeadline(.after(time))
            let handle = connection.interruptHandle
            begun { handle.interrupt() }
            let statement = try Statement("PRAGMA quick_check(1)", on: connection)
            return try statement.first { $0.text(0) } == "ok" ? .whole : .damaged
        } catch {
            return error.isBusy || error.isOfTheMachine ? .untold : .damaged
        }
    }
}
