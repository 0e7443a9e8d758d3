import IssueProtocol

/// A call that was not acknowledged, and what to answer it.
struct Refusal: Sendable {
    var connection: UInt64
    var token: UInt64
    /// The number of its first record, if it has one: what follows it must be refused, too.
    var sequence: Int64?
    /// Nothing where nobody knows whether it is stored: then there is no answer.
    var error: CollectorError?
}
