/// The order of calls and replies on one connection.
///
/// Reports may be pipelined. Any other call is processed alone: it begins when all earlier reports
/// are answered, so that a client sees the records it has reported, and later calls wait.
package struct Session: Equatable, Sendable {
    private var reportsUnderWay = 0
    private var isQueryRunning = false
    private var isClosing = false
    /// Rejects numbered reports that would leave a gap after a refused one.
    package var numbers = NumberGate()

    package init() {}

    package enum CallAction: Equatable, Sendable {
        case begin
        /// The call waits, and nothing more is read from the connection.
        case hold
        /// The connection is closing, so there is no one to reply to.
        case drop
    }

    /// Handles a report received from the client.
    package mutating func reportArrived() -> CallAction {
        guard !isClosing else { return .drop }
        guard !isQueryRunning else { return .hold }
        reportsUnderWay += 1
        return .begin
    }

    /// Handles another call received from the client.
    package mutating func queryArrived() -> CallAction {
        guard !isClosing else { return .drop }
        guard !isQueryRunning, reportsUnderWay == 0 else { return .hold }
        isQueryRunning = true
        return .begin
    }

    /// `true` if a report received now would begin at once.
    package var mayReport: Bool { !isClosing && !isQueryRunning }

    package enum AnswerAction: Equatable, Sendable {
        /// Calls that were held back may continue.
        case resume
        case none
    }

    /// Handles the end of a report that was answered or needs no answer.
    package mutating func reportAnswered() -> AnswerAction {
        precondition(reportsUnderWay > 0, "A report was answered that had not begun")
        reportsUnderWay -= 1
        return reportsUnderWay == 0 ? .resume : .none
    }

    /// Handles the last reply to another call.
    package mutating func queryAnswered() -> AnswerAction {
        precondition(isQueryRunning, "A question was answered that had not begun")
        isQueryRunning = false
        return .resume
    }

    /// Handles the end of the connection or an invalid message.
    package mutating func closed() {
        isClosing = true
    }

    /// The number of reports that have begun and are not answered.
    package var openReports: Int { reportsUnderWay }

    /// `true` if all calls that have begun are answered.
    package var isIdle: Bool { reportsUnderWay == 0 && !isQueryRunning }
}

/// Prevents pipelined reports from leaving a gap after a producer's mark.
///
/// After a numbered report was refused, the following reports on the same connection are refused
/// too, until one starts at or below the refused number.
package struct NumberGate: Equatable, Sendable {
    private var refusedFrom: Int64?

    package init() {}

    package enum Action: Equatable, Sendable {
        case take
        case refuse
    }

    /// Decides whether a numbered report is accepted.
    ///
    /// - Parameter sequence: The sequence number of its first record.
    package mutating func arrived(_ sequence: Int64) -> Action {
        guard let refusedFrom else { return .take }
        guard sequence <= refusedFrom else { return .refuse }
        self.refusedFrom = nil
        return .take
    }

    /// Handles an error reply to a numbered report.
    ///
    /// - Parameter sequence: The sequence number of its first record.
    package mutating func refused(_ sequence: Int64) {
        refusedFrom = min(refusedFrom ?? sequence, sequence)
    }

    /// `true` if no report is refused now.
    package var isOpen: Bool { refusedFrom == nil }
}

/// Decides when a subscriber's query is repeated: once for all changes since the last query began,
/// never twice at the same time, and not at all while nothing changes.
package struct ChangePollGate: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        case look
        case none
    }

    /// `true` while a query is running.
    package private(set) var isPolling = true
    /// `true` if there may be results that the last query could not see.
    private var hasChanges = false

    /// Creates the state of a subscription whose first query has begun.
    package init() {}

    /// Handles a change that may affect the results.
    package mutating func happened() { hasChanges = true }

    /// Handles the end of a query.
    ///
    /// - Parameter mayBeMore: `true` if it returned the maximum number of results, so that the next
    ///   query may find more.
    package mutating func looked(mayBeMore: Bool) {
        isPolling = false
        if mayBeMore { hasChanges = true }
    }

    /// Returns whether to start a query, given that its results can be sent.
    package mutating func shouldPoll() -> Action {
        guard hasChanges, !isPolling else { return .none }
        hasChanges = false
        isPolling = true
        return .look
    }
}
