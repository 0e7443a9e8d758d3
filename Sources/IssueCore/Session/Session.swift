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

/// Keeps pipelined reports from leaving a hole behind a producer's mark.
///
/// After a numbered report was refused, those that follow it on the same
/// connection are refused as well, until one begins at or below the refused
/// number.
package struct NumberGate: Equatable, Sendable {
    private var refusedFrom: Int64?

    package init() {}

    package enum Action: Equatable, Sendable {
        case take
        case refuse
    }

    /// A report comes that is numbered from a sequence on.
    package mutating func arrived(_ sequence: Int64) -> Action {
        guard let refusedFrom else { return .take }
        guard sequence <= refusedFrom else { return .refuse }
        self.refusedFrom = nil
        return .take
    }

    /// A report that was numbered from a sequence on has been answered with an error.
    package mutating func refused(_ sequence: Int64) {
        refusedFrom = min(refusedFrom ?? sequence, sequence)
    }

    /// Whether nothing is held up.
    package var isOpen: Bool { refusedFrom == nil }
}

/// When somebody who waits for news is looked after again: as often as something has happened since the last look
/// began, never twice at a time, and not at all while nothing happens.
package struct ChangePollGate: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        case look
        case none
    }

    /// Whether a look is under way.
    package private(set) var isLooking = true
    /// Whether there may be more than what the last look could see.
    private var hasNews = false

    /// The first look has begun.
    package init() {}

    /// Something has happened that may be what is waited for.
    package mutating func happened() { hasNews = true }

    /// A look has come to its end.
    ///
    /// - Parameter mayBeMore: whether it has found as much as it may, so that the next one may find more.
    package mutating func looked(mayBeMore: Bool) {
        isLooking = false
        if mayBeMore { hasNews = true }
    }

    /// There is room for what a look would find.
    package mutating func mayLook() -> Action {
        guard hasNews, !isLooking else { return .none }
        hasNews = false
        isLooking = true
        return .look
    }
}
