/// What one user has under way, and which of his connections wait until it is less.
///
/// Above a limit nothing more of him is begun or read, so that the kernel holds
/// back the sender: back-pressure instead of memory. One connection with half a
/// message may be read all the same, or of several none might come to its end.
package struct UserLoad: Sendable {
    /// How much of each kind a user may have under way.
    package struct Limits: Equatable, Sendable {
        /// Of calls: reports that are not answered, and what has been received and not begun.
        package var calls: Int
        /// Of replies that nobody has read, and of questions at their usual size.
        package var replies: Int
        /// What is read of one user before others have their turn.
        package var quantum: Int

        package init(calls: Int, replies: Int, quantum: Int) {
            self.calls = calls
            self.replies = replies
            self.quantum = quantum
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

    private var waiting: [UInt64] = []
    private var isWaiting: Set<UInt64> = []
    /// The connection that is read above the limit, until its message has come to its end.
    private var foremost: UInt64?
    private var round: UInt64 = 0
    private var readInRound = 0

    package init(limits: Limits) {
        self.limits = limits
    }

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

    package mutating func changed(replies difference: Int) { replies += difference }

    /// A message has come to its end: another connection may be read above the limit.
    package mutating func completed(_ connection: UInt64) {
        if foremost == connection { foremost = nil }
    }

    // MARK: Who may go on

    /// Whether a call may begin.
    package var mayBegin: Bool { unanswered <= limits.calls && replies <= limits.replies }

    /// How many bytes of calls may begin before the last of them takes it above the limit.
    package var room: Int { limits.calls - unanswered }

    /// Whether a connection may be read; above the limit one may that is in the midst of a message.
    package mutating func mayRead(_ connection: UInt64, isInMessage: Bool) -> Bool {
        if unanswered + received <= limits.calls { return true }
        guard isInMessage, foremost == nil || foremost == connection else { return false }
        foremost = connection
        return true
    }

    /// Whether there is a turn left for this user in a round, in which others are to be read, too.
    package mutating func hasTurn(inRound round: UInt64) -> Bool {
        if self.round != round {
            self.round = round
            readInRound = 0
        }
        return readInRound < limits.quantum
    }

    /// So much was read in the present round.
    package mutating func read(_ count: Int) { readInRound += count }

    /// A connection may not go on now, and is told when it may try again.
    package mutating func wait(_ connection: UInt64) {
        if isWaiting.insert(connection).inserted { waiting.append(connection) }
    }

    /// The connections that may try again, in the order in which they have come to wait.
    package mutating func takeWoken() -> [UInt64] {
        guard !waiting.isEmpty, unanswered <= limits.calls / 2, replies <= limits.replies else { return [] }
        defer {
            waiting = []
            isWaiting = []
        }
        return waiting
    }
}
