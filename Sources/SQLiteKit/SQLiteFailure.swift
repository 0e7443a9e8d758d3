/// An error that a scope may throw beside SQLite's own, made from one of those.
///
/// A scope such as a transaction can fail by itself. A body that throws an error of
/// its own type says through this how such a failure reads there.
package protocol SQLiteFailure: Error {
    init(_ error: SQLiteError)
}
