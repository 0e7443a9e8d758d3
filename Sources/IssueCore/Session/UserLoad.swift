/// The memory that one user's calls and replies occupy, and the user's connections that wait until it is less.
///
/// Above a limit, no further calls of the user are begun or read, so the kernel makes the sender wait. From half the
/// limit, each connection has an equal share. Otherwise those that are always read in time would take all of it.
///
/// There are two exceptions. One connection with an incomplete message may always be read, or none of several might
/// ever complete its message. A connection with very little in flight may be read too, or one busy connection would
/// delay the user's others.
///
/// The same applies to replies: from half the limit, only connections with very little unread may begin further calls.
/// Otherwise one connection that reads nothing would hold up the others.
package struct UserLoad: Sendable {
    /// The limits for one user, in bytes.
    package struct Limits: Equatable, Sendable {
        /// The limit for calls: unanswered reports, and data that was received but not begun.
        package var calls: Int
        /// The limit for replies: unread replies, and running queries at their typical size.
        package var replies: Int
        /// The bytes that are read from one user before other users have their turn.
        package var quantum: Int
        /// The size below which a connection has very little in flight.
        package var little: Int

        package init(calls: Int, replies: Int, quantum: Int, little: Int) {
            self.calls = calls
            self.replies = replies
            self.quantum = quantum
            self.little = little
        }
    }

    /// The bytes that one user may have in flight now: the limits, or less if memory is short.
    package struct Allowance: Equatable, Sendable {
        package var calls: Int
        package var replies: Int
    }

    package let limits: Limits
    package private(set) var connections = 0
    /// The size of unanswered reports, in bytes.
    package private(set) var unanswered = 0
    /// The bytes that were received but not begun.
    package private(set) var received = 0
    /// The size of unread replies and running queries, in bytes.
    package private(set) var replies = 0
    /// The number of connections with calls in flight.
    private var active = 0

    private var waiting: [UInt64] = []
    private var isWaiting: Set<UInt64> = []
    /// The connection that may be read above the limit until its message is complete.
    private var foremost: UInt64?
    private var round: UInt64 = 0
    private var readInRound = 0

    package init(limits: Limits) {
        self.limits = limits
    }

    package mutating func connected() { connections += 1 }

    /// Handles the end of a connection. Its bytes must have been subtracted before.
    package mutating func disconnected(_ connection: UInt64) {
        connections -= 1
        if foremost == connection { foremost = nil }
        if isWaiting.remove(connection) != nil { waiting.removeAll { $0 == connection } }
    }

    // MARK: Bytes in flight

    /// Adds to the size of unanswered reports, in bytes. Negative when reports are answered.
    package mutating func changed(unanswered difference: Int) { unanswered += difference }

    /// Adds to the bytes received but not begun. Negative when they are begun.
    package mutating func changed(received difference: Int) { received += difference }

    /// Handles the first bytes in flight on a connection that had none.
    package mutating func began() { active += 1 }

    /// Handles the end of the last bytes in flight on a connection.
    package mutating func ended() { active -= 1 }

    /// Adds to the size of unread replies and running queries, in bytes. Negative when they are read.
    package mutating func changed(replies difference: Int) { replies += difference }

    /// Handles the end of a message. Another connection may be read above the limit then.
    package mutating func completed(_ connection: UInt64) {
        if foremost == connection { foremost = nil }
    }

    // MARK: Admission

    /// Returns `true` if a connection may begin a call.
    ///
    /// - Parameters:
    ///   - own: The bytes of its unanswered calls.
    ///   - unread: The bytes of its unread replies.
    ///   - allowance: The current allowance.
    package func mayBegin(unanswered own: Int, unread: Int, within allowance: Allowance) -> Bool {
        mayQuery(unread: unread, within: allowance) && (unanswered <= allowance.calls || own < limits.little)
    }

    private func mayQuery(unread: Int, within allowance: Allowance) -> Bool {
        replies <= (unread < limits.little ? allowance.replies : allowance.replies / 2)
    }

    /// Returns how many bytes of a connection's calls may begin before the last of them exceeds the limit.
    ///
    /// - Parameters:
    ///   - own: The bytes of its unanswered calls.
    ///   - allowance: The current allowance.
    package func room(unanswered own: Int, within allowance: Allowance) -> Int {
        max(allowance.calls - unanswered, limits.little - 1 - own)
    }

    /// Returns how many bytes may be read from a connection.
    ///
    /// - Parameters:
    ///   - connection: The connection's id.
    ///   - maxBytes: The maximum to return.
    ///   - own: The bytes that the connection has in flight.
    ///   - isInMessage: `true` if it has sent part of a message.
    ///   - allowance: The current allowance.
    package mutating func mayRead(
        _ connection: UInt64, maxBytes: Int, underWay own: Int, isInMessage: Bool, within allowance: Allowance
    ) -> Int {
        let calls = allowance.calls
        let underWay = unanswered + received
        if underWay <= calls / 2 || underWay <= calls && own < share(of: calls) { return maxBytes }
        if own < limits.little { return min(maxBytes, limits.little) }
        guard isInMessage, foremost == nil || foremost == connection else { return 0 }
        foremost = connection
        return maxBytes
    }

    /// The bytes that each connection may have in flight above half of the limit.
    private func share(of calls: Int) -> Int { calls / max(1, active) }

    /// Returns `true` if a connection may be read in a round in which other users are waiting too.
    ///
    /// - Parameters:
    ///   - round: The number of the round.
    ///   - lastRead: The bytes read from the connection the last time.
    package mutating func hasTurn(inRound round: UInt64, lastRead: Int) -> Bool {
        if self.round != round {
            self.round = round
            readInRound = 0
        }
        return readInRound < limits.quantum || lastRead < limits.little
    }

    /// Counts bytes read in the current round.
    package mutating func read(_ count: Int) { readInRound += count }

    /// Adds a connection to those that wait until they may continue.
    package mutating func wait(_ connection: UInt64) {
        if isWaiting.insert(connection).inserted { waiting.append(connection) }
    }

    /// Removes and returns the connections that may continue, in the order in which they began to wait.
    ///
    /// - Parameters:
    ///   - allowance: The current allowance.
    ///   - own: Returns the bytes that a connection has in flight.
    ///   - unread: Returns the bytes of a connection's unread replies.
    package mutating func takeResumable(
        within allowance: Allowance, underWay own: (UInt64) -> Int, unread: (UInt64) -> Int
    ) -> [UInt64] {
        guard !waiting.isEmpty, unanswered <= allowance.calls, replies <= allowance.replies else { return [] }
        // Above half of the limit, only connections with at most half of their own share continue, however much the
        // others have in flight.
        let maxOwn = unanswered > allowance.calls / 2 ? share(of: allowance.calls) / 2 : .max
        let woken = waiting.filter { own($0) <= maxOwn && mayQuery(unread: unread($0), within: allowance) }
        guard !woken.isEmpty else { return [] }
        isWaiting.subtract(woken)
        waiting.removeAll { !isWaiting.contains($0) }
        return woken
    }
}
