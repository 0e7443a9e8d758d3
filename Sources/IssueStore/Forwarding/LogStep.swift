package import IssueProtocol

/// A record as the cursor meets it, before anything is looked up.
package struct LogStep: Equatable, Sendable {
    package var row: Int64
    package var receivedAt: Timestamp
    package var count: Int64
    package var series: Int64
}
