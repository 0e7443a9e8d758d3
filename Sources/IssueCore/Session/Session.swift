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
