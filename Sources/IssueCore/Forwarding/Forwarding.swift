package import IssueProtocol

/// The life of one destination's forwarder, without its network, its store and its clock.
///
/// There is one batch at a time. It is stored before its first request, its
/// outcome after its last one, and whatever happens between, the store still
/// holds it: a stop or a crash at any point means that it is sent again. One
/// that can't come to its end may be laid aside, for one of what is critical or
/// new.
package struct Forwarding: Sendable {
    enum State: Equatable {
        case idle
        /// Something waits, but not long enough, or the send rate says later.
        case batching(until: MonotonicInstant, isPaced: Bool)
        /// The shell builds and stores a batch.
        case preparing
        case sending
        case waiting(until: MonotonicInstant, Wait)
        case paused(PauseReason, until: MonotonicInstant)
        /// A probe of a paused destination is under way.
        case probing(PauseReason)
        /// The shell stores an outcome, or what is known of it so far.
        case settling(NextStep)
        case stopped
    }

    enum Wait: Equatable {
        /// A batch of the time before the start waits for its first request.
        case resuming
        /// - Parameter isAsked: The destination itself asked for the wait.
        case failure(FailureClass, isAsked: Bool)
    }

    /// What follows once an outcome is stored.
    enum NextStep: Equatable {
        case plan
        case goOn
        case wait(until: MonotonicInstant, Wait)
        case pause(PauseReason, until: MonotonicInstant)
        case stop
    }

    package static let firstProbe: Duration = .seconds(60)
    package static let lastProbe: Duration = .seconds(900)
    /// Who refuses most lines for so long, one request after the other, is at fault itself.
    package static let longestBisection: Duration = .seconds(300)
    /// How many requests may be made for parts of a batch before what came of them is stored.
    package static let unstoredRequests = 64
    /// What has waited longer than this is backlog.
    package static let freshness: Duration = .seconds(60)
    /// In an outage one try in so long may take all the time that a request may take, or a destination that is only
    /// slow would be cut off for ever.
    package static let fullProbe: Duration = .seconds(600)

    let settings: ForwardSettings
    let planner: BatchPlanner
    var state: State = .idle
    var pending: PendingCounts = .nothing
    /// Beside the state and not in it, as its arrays would be copied at each change.
    var course: BatchProgress?
    /// The batch that another one has overtaken.
    var aside: BatchProgress?
    /// Why the destination was paused when the batch was laid aside, and until when.
    var pauseOfPreempted: (reason: PauseReason, until: MonotonicInstant)?
    /// What is being built is old, and takes its share of the send rate.
    var buildsBacklog = false
    /// What was counted before the last request, for where nothing of it left.
    var sentBefore: (resent: Int64, upTo: Int) = (0, 0)
    /// The lines of the last request.
    var lastRange = 0..<0
    /// When the last request was begun, and the last one that might take all its time.
    var begun: MonotonicInstant
    var begunInFull: MonotonicInstant

    var schedule = RetrySchedule()
    var breaker = CircuitBreaker()
    var pacer: SendPacer
    var size: AdaptiveBodyLimit
    var probeDelay = Self.firstProbe
    var isFlushing = false
    var isStopping = false
    var lastAnswer: ResponseSummary?
    /// Why the last request came to nothing, while none has been taken since.
    var failing: FailureClass?
    /// Whether the last answer that says so was that something is taken.
    package var isTaking = false
    var requests: Int64 = 0
    var resent: Int64 = 0

    /// - Parameter pacer: Where the last run left it, so that a restart gives nobody a fresh burst.
    package init(settings: ForwardSettings, pacer: SendPacer? = nil, at now: MonotonicInstant) {
        self.settings = settings
        planner = BatchPlanner(settings: settings)
        self.pacer = pacer ?? SendPacer(settings: settings, at: now)
        size = AdaptiveBodyLimit(most: settings.batchBytes)
        begun = now
        begunInFull = now
    }

    package var isStopped: Bool { state == .stopped }

    /// The daemon came up, and the store holds a batch that has not come to its end.
    ///
    /// - Parameter later: One that had overtaken it.
    /// - Parameter unit: A number drawn from 0 up to 1.
    package mutating func started(
        resuming batch: ForwardingBatch, overtakenBy later: ForwardingBatch? = nil, _ progress: RetryProgress,
        unit: Double, at now: MonotonicInstant
    ) -> NextAction {
        precondition(state == .idle, "A batch was resumed by a forwarder that is at work already")
        course = BatchProgress(batch, spent: progress.spent)
        if let later {
            aside = course
            course = BatchProgress(later)
        }
        schedule = RetrySchedule(attempts: progress.attempts)
        breaker = CircuitBreaker(failures: progress.attempts)
        let until = now.advanced(by: settings.resumeDelay * min(max(unit, 0), 1))
        state = .waiting(until: until, .resuming)
        return .wait(until: until)
    }

    /// Records were stored, or more became known of what waits.
    package mutating func recordsArrived(_ pending: PendingCounts, at now: MonotonicInstant) -> NextAction {
        self.pending = pending
        switch state {
        case .idle, .batching: return plan(at: now)
        case .paused(.manyLinesRefused, _) where canOvertake: return overtake(at: now)
        case .preparing, .sending, .waiting, .paused, .probing, .settling, .stopped: return .rest
        }
    }

    /// More became known of what waits while a batch goes in parts.
    package mutating func learned(_ pending: PendingCounts) { self.pending = pending }

    /// Parts of the batch have been sent, and others have not.
    package var isInParts: Bool { course.map { $0.requests > 0 && lastRange.count < $0.batch.count } ?? false }

    /// A batch was stored, and nothing else is to be stored before it is sent.
    package mutating func batchStored(_ batch: ForwardingBatch, at now: MonotonicInstant) -> NextAction {
        switch state {
        case .preparing:
            course = BatchProgress(batch, isBacklog: buildsBacklog)
            guard !isStopping else {
                state = .stopped
                return .rest
            }
            return .send(pauseOfPreempted.map { probe($0.reason, at: now) } ?? nextShipment(at: now))
        case .stopped:
            // It was stored while the daemon lost patience. The next start finds it.
            return .rest
        case .idle, .batching, .sending, .waiting, .paused, .probing, .settling:
            preconditionFailure("A batch was stored that this machine never asked for")
        }
    }

    /// All that the cursor met was held back, so there is no batch.
    package mutating func nothingToSend(_ pending: PendingCounts, at now: MonotonicInstant) -> NextAction {
        self.pending = pending
        switch state {
        case .preparing: return aside == nil ? plan(at: now) : resumePreempted(isAnswered: false, at: now)
        case .stopped: return .rest
        case .idle, .batching, .sending, .waiting, .paused, .probing, .settling:
            preconditionFailure("The log was walked though this machine never asked for it")
        }
    }

    /// The outcome of the batch was stored.
    ///
    /// - Parameter rest: What is left of it, stored as a batch of its own.
    package mutating func settled(
        _ pending: PendingCounts, rest: ForwardingBatch? = nil, at now: MonotonicInstant
    ) -> NextAction {
        self.pending = pending
        switch state {
        case .settling(let sequel):
            course = rest.flatMap { rest in course.map { BatchProgress(rest, of: $0) } }
            guard course != nil else {
                return aside == nil ? plan(at: now) : resumePreempted(isAnswered: true, at: now)
            }
            return follow(sequel, at: now)
        case .stopped:
            return .rest
        case .idle, .batching, .preparing, .sending, .waiting, .paused, .probing:
            preconditionFailure("An outcome was stored that this machine never asked for")
        }
    }

    /// The time that this machine asked to wait for has come.
    package mutating func waited(at now: MonotonicInstant) -> NextAction {
        switch state {
        case .batching(let until, _):
            return until <= now ? plan(at: now) : .wait(until: until)
        case .waiting(let until, _):
            return until <= now ? tryAgain(at: now) : .wait(until: until)
        case .paused(let reason, let until):
            return until <= now ? probeAgain(reason, at: now) : .wait(until: until)
        case .idle, .preparing, .sending, .probing, .settling, .stopped:
            // The timer was set before something else came to pass.
            return .rest
        }
    }

    /// Somebody asks that what waits goes now.
    package mutating func flushRequested(at now: MonotonicInstant) -> NextAction {
        switch state {
        case .idle, .batching:
            isFlushing = true
            return plan(at: now)
        case .preparing, .sending, .settling:
            isFlushing = true
            return .rest
        case .waiting(let until, .failure(_, isAsked: true)):
            // The destination asked for this wait, and whoever is impatient is not the destination.
            return .wait(until: until)
        case .waiting(_, .failure(_, isAsked: false)), .waiting(_, .resuming):
            isFlushing = true
            return tryAgain(at: now)
        case .paused(let reason, _):
            isFlushing = true
            return probeAgain(reason, at: now)
        case .probing, .stopped:
            return .rest
        }
    }

    /// The credential was read again.
    package mutating func credentialReread(changed: Bool, at now: MonotonicInstant) -> NextAction {
        switch state {
        case .paused(let reason, let until):
            return changed ? .send(probe(reason, at: now)) : .wait(until: until)
        case .idle, .batching, .preparing, .sending, .waiting, .probing, .settling, .stopped:
            return .rest
        }
    }

    /// The daemon is to end.
    package mutating func stopRequested() -> StopAction {
        isStopping = true
        switch state {
        case .idle, .batching, .waiting, .paused, .stopped:
            state = .stopped
            return .stop
        case .sending, .probing:
            return .awaitAnswer
        case .preparing, .settling:
            return .awaitStore
        }
    }

    /// The end can't wait any longer; what is under way is left to the next start.
    package mutating func abandoned() {
        isStopping = true
        state = .stopped
    }
}

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

extension Forwarding {
    /// What `status` says.
    package var view: ForwardingView {
        var view = ForwardingView(state: .idle, lastAnswer: lastAnswer?.text, requests: requests, resent: resent)
        // Until something is taken, a try that is under way changes nothing.
        if let pauseOfPreempted {
            view.pause(pauseOfPreempted.reason, until: nil)
            return view
        }
        switch state {
        case .idle, .stopped, .batching(_, isPaced: false):
            view.reason = failing?.rawValue
        case .batching(let until, isPaced: true):
            view.wait("send_rate", until: until)
        case .preparing, .sending, .settling(.plan), .settling(.goOn), .settling(.stop):
            view.state = .sending
            if let failing { view.wait(failing.rawValue, until: nil) }
        case .waiting(let until, let wait), .settling(.wait(let until, let wait)):
            switch wait {
            case .resuming: view.wait("resuming", until: until)
            case .failure(let failure, _): view.wait(failure.rawValue, until: until)
            }
        case .paused(let reason, let until), .settling(.pause(let reason, let until)):
            view.pause(reason, until: until)
        case .probing(let reason):
            view.pause(reason, until: nil)
        }
        return view
    }
}

extension ForwardingView {
    fileprivate mutating func wait(_ reason: String, until: MonotonicInstant?) {
        state = .waiting
        self.reason = reason
        nextAttempt = until
    }

    fileprivate mutating func pause(_ reason: PauseReason, until: MonotonicInstant?) {
        state = .paused
        self.reason = reason.rawValue
        advice = reason.advice
        nextAttempt = until
    }
}

/// What a destination is doing, for `status`.
package struct ForwardingView: Equatable, Sendable {
    package var state: DestinationState
    package var reason: String?
    package var advice: String?
    package var nextAttempt: MonotonicInstant?
    package var lastAnswer: String?
    /// Requests made since the start.
    package var requests: Int64
    /// Lines put into a request again since the start.
    package var resent: Int64

    package init(
        state: DestinationState, reason: String? = nil, advice: String? = nil, nextAttempt: MonotonicInstant? = nil,
        lastAnswer: String? = nil, requests: Int64 = 0, resent: Int64 = 0
    ) {
        self.state = state
        self.reason = reason
        self.advice = advice
        self.nextAttempt = nextAttempt
        self.lastAnswer = lastAnswer
        self.requests = requests
        self.resent = resent
    }
}

/// What waits to be sent, as far as it matters for when it goes.
package struct PendingCounts: Equatable, Sendable {
    package var records: Int
    /// Of their lines, as far as known; an estimate does.
    package var bytes: Int
    /// Since when the oldest of them waits; nothing where nothing does.
    package var oldest: MonotonicInstant?
    /// How many of them are critical or new.
    package var priorityRecords: Int
    /// Since when the oldest of those waits that are critical or new.
    package var oldestPriority: MonotonicInstant?

    package init(
        records: Int = 0, bytes: Int = 0, oldest: MonotonicInstant? = nil, priorityRecords: Int = 0,
        oldestPriority: MonotonicInstant? = nil
    ) {
        self.records = records
        self.bytes = bytes
        self.oldest = oldest
        self.priorityRecords = priorityRecords
        self.oldestPriority = oldestPriority
    }

    package static let nothing = PendingCounts()
}
