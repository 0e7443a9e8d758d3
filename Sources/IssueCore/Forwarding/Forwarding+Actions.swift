extension Forwarding {
    /// What to put into one request.
    package struct Shipment: Equatable, Sendable {
        package var batch: Int64
        /// The lines, counted from nothing.
        package var range: Range<Int>
        /// The one line goes in its cut form.
        package var isCut: Bool
        /// The destination is paused: the credential is read again before this goes.
        package var rereadsCredential: Bool

        package init(batch: Int64, range: Range<Int>, isCut: Bool = false, rereadsCredential: Bool = false) {
            self.batch = batch
            self.range = range
            self.isCut = isCut
            self.rereadsCredential = rereadsCredential
        }
    }

    /// What follows from what waits.
    package enum PlanAction: Equatable, Sendable {
        /// Walk the log, judge, store a batch no larger than this; then `batchStored` or `nothingToSend`.
        case build(BatchLimit)
        case wait(until: MonotonicInstant)
        case rest
    }

    /// What follows where there is a batch.
    package enum SendAction: Equatable, Sendable {
        case send(Shipment)
        case wait(until: MonotonicInstant)
        case rest
    }

    /// What follows when a time has come, or someone asks not to wait for it.
    package enum NextAction: Equatable, Sendable {
        case build(BatchLimit)
        case send(Shipment)
        case wait(until: MonotonicInstant)
        case rest
    }

    /// What follows from an answer.
    package enum AnswerAction: Equatable, Sendable {
        /// The batch has come to its end: store this, then `settled`.
        case settle(batch: Int64, BatchOutcome)
        /// Another part of the same batch goes.
        case send(Shipment)
        /// This line is too large: it goes once more after being cut to the destination's limits.
        case cut(line: Int, thenSend: Shipment)
        /// Store the progress and wait. While nobody is there, a bare connection now and then tells that it is back
        /// (`reachedAgain`).
        case wait(until: MonotonicInstant, watching: Bool, RetryProgress)
        /// Store the progress, read the credential again, say so, and probe at this time.
        case pause(PauseReason, until: MonotonicInstant, RetryProgress)
        /// Stopping: the batch stays as it is stored, and the next start sends it again.
        case stop
        /// The answer came after the end and changes nothing.
        case rest
    }

    package enum StopAction: Equatable, Sendable {
        case stop
        /// A request is under way; its answer ends it.
        case awaitAnswer
        /// Something is being stored; `batchStored`, `nothingToSend` or `settled` ends it.
        case awaitStore
    }
}
