/// A compiled statement that is kept, and whether somebody uses it just now.
final class CachedStatement {
    let statement: Statement
    private var isLent = false

    init(_ statement: consuming Statement) {
        self.statement = statement
    }

    /// Marks it as used, unless it already is.
    func lend() -> Bool {
        if isLent { return false }
        isLent = true
        return true
    }

    /// Readies it for the next user, and ends the read that it may have held open.
    func giveBack() {
        statement.reset()
        statement.clearBindings()
        isLent = false
    }
}
