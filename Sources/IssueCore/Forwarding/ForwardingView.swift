package import IssueProtocol

/// What a destination is doing, for `status`.
package struct ForwardingView: Equatable, Sendable {
    package var state: DestinationState
    package var reason: String?
    package var advice: String?
    package var nextAttempt: MonotonicInstant?
    package var lastAnswer: String?
    /// Requests made since the start.
    package var requests: Int64
    /// Lines sent more than once since the start.
    package var resent: Int64

    package init(
        state: DestinationState, reason: String? = nil, advice: String? = nil, nextAttempt: MonotonicInstant? = nil,
        lastAnswer: String? = nil, requests: Int64 = 0, resent: Int64 = 0
    ) {
        self.state = state
        self.reason = reason
        self.advice = advice
        self.nextAttempt = nextAttempt
        self.lastAnswer = lastAnswer
        self.requests = requests
        self.resent = resent
    }
}
