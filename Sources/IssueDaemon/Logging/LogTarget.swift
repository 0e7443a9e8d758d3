/// Where the log goes (`Target=`).
package enum LogTarget: String, CaseIterable, Hashable, Sendable {
    /// To the journal where standard error leads there, else as plain lines.
    case auto
    case journal, stderr
}
