/// How much the outbox holds, and how it sends.
package struct OutboxLimits: Sendable {
    /// Issues in the buffer, sent or not, until they are answered.
    package var entries = 10_000
    /// Their size, about.
    package var bytes = 8 << 20
    /// Issues in one call.
    package var callEntries = 500
    /// The size of one call.
    package var callBytes = 512 << 10
    /// Calls on their way at one time.
    package var calls = 4
    /// How long an answer may take before the connection is given up.
    package var answerTimeout: Duration = .seconds(45)
    /// The first wait after a failure, doubled by each further one.
    package var firstDelay: Duration = .milliseconds(100)
    /// The longest wait after a failure.
    package var lastDelay: Duration = .seconds(30)

    package init() {}
}
