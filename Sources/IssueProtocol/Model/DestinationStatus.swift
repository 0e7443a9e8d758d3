package import IssueWire

/// What the daemon says of one destination (`Destination` on the wire).
package struct DestinationStatus: Equatable, Sendable {
    package var name: String
    package var kind: String
    package var state: DestinationState
    package var reason: String?
    package var advice: String?
    package var ledger: Ledger
    package var oldestPending: Timestamp?
    package var nextAttempt: Timestamp?
    package var lastAnswer: String?
    package var lastSuccess: Timestamp?
    package var requests: Int64
    package var resent: Int64
    package var maybeDuplicate: Int64
    package var bytesToday: Int64

    package init(
        name: String, kind: String, state: DestinationState = .idle, reason: String? = nil, advice: String? = nil,
        ledger: Ledger = Ledger(), oldestPending: Timestamp? = nil, nextAttempt: Timestamp? = nil,
        lastAnswer: String? = nil, lastSuccess: Timestamp? = nil, requests: Int64 = 0, resent: Int64 = 0,
        maybeDuplicate: Int64 = 0, bytesToday: Int64 = 0
    ) {
        self.name = name
        self.kind = kind
        self.state = state
        self.reason = reason
        self.advice = advice
        self.ledger = ledger
        self.oldestPending = oldestPending
        self.nextAttempt = nextAttempt
        self.lastAnswer = lastAnswer
        self.lastSuccess = lastSuccess
        self.requests = requests
        self.resent = resent
        self.maybeDuplicate = maybeDuplicate
        self.bytesToday = bytesToday
    }
}
