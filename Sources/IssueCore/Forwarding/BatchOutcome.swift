/// What became of the lines of one batch, counted from nothing in the order in which they were stored.
package struct BatchOutcome: Equatable, Sendable {
    package struct Dead: Equatable, Sendable {
        package var line: Int
        package var reason: DeadLetterReason

        package init(line: Int, reason: DeadLetterReason) {
            self.line = line
            self.reason = reason
        }
    }

    package var delivered: [Range<Int>]
    package var dead: [Dead]
    /// Lines that nothing has become of as yet; they go on as a batch of their own.
    package var left: LineSet
    /// Some of the lines may be at the destination twice.
    package var maybeDuplicate: Bool
    /// How many of the lines that were delivered those are.
    package var twofold: Int
    /// The destination gives answers, so what is called delivered has arrived.
    package var isConfirmed: Bool
    /// Requests made for it since it was stored or found again.
    package var requests: Int

    package init(
        delivered: [Range<Int>], dead: [Dead], left: LineSet = LineSet(), maybeDuplicate: Bool, twofold: Int = 0,
        isConfirmed: Bool = true, requests: Int
    ) {
        self.delivered = delivered
        self.dead = dead
        self.left = left
        self.maybeDuplicate = maybeDuplicate
        self.twofold = twofold
        self.isConfirmed = isConfirmed
        self.requests = requests
    }
}
