/// A stretch of the log over which its clock stays the same.
package struct LogStretch: Equatable, Sendable {
    package var steps: [LogStep]
    /// What wall time lacks to be log time, in milliseconds.
    package var offset: Int64
}
