/// How a line of the log is written.
package enum LogForm: Hashable, Sendable {
    /// With the priority before it, as the journal takes it from standard error.
    case journal
    /// For people.
    case plain
    /// Without anything before or behind it, for an entry that says the rest in fields.
    case bare
}
