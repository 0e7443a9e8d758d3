import SQLiteKit

/// Reads a file through, to find out whether it is damaged.
package enum StoreCheck {
    /// Whether all of its pages are as they should be; false also where that can't be said in time.
    package static func isWhole(_ path: String, within time: Duration) -> Bool {
        do {
            let connection = try Connection(path: path, mode: .readOnly, busyTimeout: time)
            connection.setDeadline(.after(time))
            let statement = try Statement("PRAGMA quick_check(1)", on: connection)
            return try statement.first { $0.text(0) } == "ok"
        } catch {
            return false
        }
    }
}
