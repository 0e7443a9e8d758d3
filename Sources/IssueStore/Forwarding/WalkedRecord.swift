package import IssueCore
package import IssueProtocol

/// A record as the cursor meets it: what admission has to know, and no more.
package struct WalkedRecord: Equatable, Sendable {
    package var candidate: Candidate
    package var at: LogInstant
    package var receivedAt: Timestamp
}
