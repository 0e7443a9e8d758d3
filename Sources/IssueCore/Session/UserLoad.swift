/// What one user has under way, and which of his connections wait until it is less.
///
/// Above a limit nothing more of him is begun or read, so that the kernel holds
/// back the sender: back-pressure instead of memory. From half of it on each of
/// his connections has its share, or those that are always read in time would
/// take all of it and the others wait without end. One connection with half a
/// message may be read all the same, or of several none might come to its end;
/// and so may one that has next to nothing under way, or the flood of one
/// connection would hold up the user's others. Replies go by the same rule: from
/// half of the limit on only who leaves next to nothing unread may ask for more,
/// or one connection that reads nothing would hold up the others.
package struct UserLoad: Sendable {
    /// How much of each kind a user may have under way.
    package struct Limits: Equatable, Sendable {
        /// Of calls: reports that are not answered, and what has been received and not begun.
        package var calls: Int
        /// Of replies that nobody has read, and of questions at their usual size.
        package var replies: Int
        /// What is read of one user before others have their turn.
        package var quantum: Int
        /// What is next to nothing.
        package var little: Int

        package init(calls: Int, replies: Int, quantum: Int, little: Int) {
            self.calls = calls
            self.replies = replies
            self.quantum = quantum
            self.little = little
        }
    }

    /// What one user may have under way now: the limits, or less where memory is short.
    package struct Allowance: Equatable, Sendable {
        package var calls: Int
        package var replies: Int

        package init(calls: Int, replies: Int) {
            self.calls = calls
            self.replies = replies
        }
    }

    package let limits: Limits
    package private(set) var connections = 0
    /// Bytes of reports that are not answered.
    package private(set) var unanswered = 0
    /// Bytes that were received and not begun.
    package private(set) var received = 0
    /// Bytes of replies, and of questions that are being answered.
    package private(set) var replies = 0
    /// How many connections have something of calls under way.
    private var active = 0

    private var waiting: [UInt64] = []
    private var isWaiting: Set<UInt64> = []
    /// The connection that is read above the limit, until its message has come to its end.
    private var foremost: UInt64?
    private var round: UInt64 = 0
    private var readInRound = 0

    package init(limits: Limits) {
        self.limits = limits
    }

    /// The limits as an allowance, where memory is not short.
    package var fullAllowance: Allowance { Allowance(calls: limits.calls, replies: limits.replies) }

    package mutating func connected() { connections += 1 }

    /// A connection is gone; what it had under way was taken off before.
    package mutating func disconnected(_ connection: UInt64) {
        connections -= 1
        if foremost == connection { foremost = nil }
        if isWaiting.remove(connection) != nil { waiting.removeAll { $0 == connection } }
    }

    // MARK: What is under way

    package mutating func changed(unanswered difference: Int) { unanswered += difference }

    package mutating func changed(received difference: Int) { received += difference }

    /// A connection of which nothing was under way has something under way now.
    package mutating func began() { active += 1 }

    /// Nothing of a connection is under way any more.
    package mutating func ended() { active -= 1 }

    package mutating func changed(replies difference: Int) { replies += difference }

    /// A message has come to its end: another connection may be read above the limit.
    package mutating func completed(_ connection: UInt64) {
        if foremost == connection { foremost = nil }
    }

    // MARK: Who may go on

    /// Whether a connection may begin a call that has so many bytes of calls unanswered, and of replies unread.
    package func mayBegin(unanswered own: Int, unread: Int, within allowance: Allowance? = nil) -> Bool {
        let allowance = allowance ?? fullAllowance
        return mayAsk(unread: unread, within: allowance) && (unanswered <= allowance.calls || own < limits.little)
    }

    private func mayAsk(unread: Int, within allowance: Allowance) -> Bool {
        replies <= (unread < limits.little ? allowance.replies : allowance.replies / 2)
    }

    /// How many bytes of a connection's calls may begin before the last of them takes it above the limit.
    package func room(unanswered own: Int, within allowance: Allowance? = nil) -> Int {
        max((allowance ?? fullAllowance).calls - unanswered, limits.little - 1 - own)
    }

    /// How many bytes of a connection may be read that has so many under way itself.
    package mutating func mayRead(
        _ connection: UInt64, most: Int, underWay own: Int, isInMessage: Bool, within allowance: Allowance? = nil
    ) -> Int {
        let calls = (allowance ?? fullAllowance).calls
        let underWay = unanswered + received
        if underWay <= calls / 2 || underWay <= calls && own < share(of: calls) { return most }
        if own < limits.little { return min(most, limits.little) }
        guard isInMessage, foremost == nil || foremost == connection else { return 0 }
        foremost = connection
        return most
    }

    /// What a connection may have under way where there is less than half of the limit left.
    private func share(of calls: Int) -> Int { calls / max(1, active) }

    /// Whether there is a turn left in a round, in which others are to be read, too, for a connection of which so much
    /// was read the last time.
    package mutating func hasTurn(inRound round: UInt64, lastRead: Int) -> Bool {
        if self.round != round {
            self.round = round
            readInRound = 0
        }
        return readInRound < limits.quantum || lastRead < limits.little
    }

    /// So much was read in the present round.
    package mutating func read(_ count: Int) { readInRound += count }

    /// A connection may not go on now, and is told when it may try again.
    package mutating func wait(_ connection: UInt64) {
        if isWaiting.insert(connection).inserted { waiting.append(connection) }
    }

    /// The connections that may try again, in the order in which they have come to wait.
    ///
    /// - Parameters:
    ///   - own: what a connection has under way of what it waits to be less.
    ///   - unread: what it has not read of its replies.
    package mutating func takeWoken(
        within allowance: Allowance? = nil, underWay own: (UInt64) -> Int, unread: (UInt64) -> Int
    ) -> [UInt64] {
        let allowance = allowance ?? fullAllowance
        guard !waiting.isEmpty, unanswered <= allowance.calls, replies <= allowance.replies else { return [] }
        // From half on those whose own share is half answered, however much the others keep under way.
        let most = unanswered > allowance.calls / 2 ? share(of: allowance.calls) / 2 : .max
        let woken = waiting.filter { own($0) <= most && mayAsk(unread: unread($0), within: allowance) }
        guard !woken.isEmpty else { return [] }
        isWaiting.subtract(woken)
        waiting.removeAll { !isWaiting.contains($0) }
        return woken
    }
}
