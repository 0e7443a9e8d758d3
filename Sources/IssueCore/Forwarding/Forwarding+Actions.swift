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
        /// It may not take longer than this, as nobody may be there.
        package var timeLimit: Duration?

        package init(
            batch: Int64, range: Range<Int>, isCut: Bool = false, rereadsCredential: Bool = false,
            timeLimit: Duration? = nil
        ) {
            self.batch = batch
            self.range = range
            self.isCut = isCut
            self.rereadsCredential = rereadsCredential
            self.timeLimit = timeLimit
        }
    }

    /// What follows from all that is no answer.
    package enum NextAction: Equatable, Sendable {
        /// Walk the log, judge, store a batch no larger than this; then `batchStored` or `nothingToSend`.
        case build(BatchLimit)
        /// The same with what is express alone; the batch that is under way is laid aside.
        case overtake(BatchLimit)
        case send(Shipment)
        case wait(until: MonotonicInstant)
        case rest
    }

    /// What follows from an answer.
    package enum AnswerAction: Equatable, Sendable {
        /// The batch has come to its end, or some of its lines have: store this, then `settled`.
        case settle(batch: Int64, BatchOutcome)
        /// What is express goes before the rest of the batch, as in `NextAction`.
        case overtake(BatchLimit)
        /// Another part of the same batch goes.
        case send(Shipment)
        /// This line is too large: it goes once more after being cut to the destination's limits.
        case cut(line: Int, thenSend: Shipment)
        /// Store the progress and wait.
        case wait(until: MonotonicInstant, RetryProgress)
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
