/// One connection, as far as the order of its calls and answers goes.
///
/// Reports may follow each other before the first is answered. Anything else is
/// one answer at a time: it begins when all reports before it are answered, so
/// that who asks sees what he has reported, and what comes after it waits.
package struct Session: Equatable, Sendable {
    private var reportsUnderWay = 0
    private var isAsking = false
    private var isClosing = false
    /// Lets no numbered report through that would leave a hole behind a refused one.
    package var numbers = NumberGate()

    package init() {}

    package enum CallAction: Equatable, Sendable {
        case begin
        /// The call waits, and with it the reading of what follows.
        case hold
        /// Nobody is there any more to be answered.
        case drop
    }

    /// A report stands next in what the client sent.
    package mutating func reportArrived() -> CallAction {
        guard !isClosing else { return .drop }
        guard !isAsking else { return .hold }
        reportsUnderWay += 1
        return .begin
    }

    /// Another call stands next in what the client sent.
    package mutating func questionArrived() -> CallAction {
        guard !isClosing else { return .drop }
        guard !isAsking, reportsUnderWay == 0 else { return .hold }
        isAsking = true
        return .begin
    }

    /// Whether a report that comes next would begin.
    package var mayReport: Bool { !isClosing && !isAsking }

    package enum AnswerAction: Equatable, Sendable {
        /// What was held back may go on.
        case resume
        case none
    }

    /// A report was answered, or needs no answer.
    package mutating func reportAnswered() -> AnswerAction {
        precondition(reportsUnderWay > 0, "A report was answered that had not begun")
        reportsUnderWay -= 1
        return reportsUnderWay == 0 ? .resume : .none
    }

    /// The last reply of another call was given.
    package mutating func questionAnswered() -> AnswerAction {
        precondition(isAsking, "A question was answered that had not begun")
        isAsking = false
        return .resume
    }

    /// The client is gone, or has sent what is no call.
    package mutating func closed() {
        isClosing = true
    }

    /// How many reports have begun and are not answered.
    package var openReports: Int { reportsUnderWay }

    /// Whether everything that began has been answered.
    package var isIdle: Bool { reportsUnderWay == 0 && !isAsking }
}
