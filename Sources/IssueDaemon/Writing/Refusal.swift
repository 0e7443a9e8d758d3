import IssueProtocol

/// A call that was not stored, and what to answer it.
struct Refusal: Sendable {
    var connection: UInt64
    var token: UInt64
    /// The number of its first record, if it has one: what follows it must be refused, too.
    var sequence: Int64?
    var error: CollectorError
}
