/// How large a record may be.
package struct RecordLimits: Equatable, Sendable {
    package var recordBytes = 256 * 1024
    package var depth = 32
    package var keys = 256
    package var recordsPerCall = 1000
    /// How much of a message its template looks at; the rest is not part of the fingerprint.
    package var templateBytes = 1024

    package init() {}
}
