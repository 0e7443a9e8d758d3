/// One step of a schema, taken once in the life of a file.
package struct Migration: Sendable {
    let script: StaticString
    let body: (@Sendable (Connection) throws(SQLiteError) -> Void)?

    /// A step that is a script, and code that runs after it in the same transaction.
    ///
    /// A step that a released version has taken is never changed again.
    package init(
        _ script: StaticString, then body: (@Sendable (Connection) throws(SQLiteError) -> Void)? = nil
    ) {
        self.script = script
        self.body = body
    }
}
