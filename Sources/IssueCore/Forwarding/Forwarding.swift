/// The life of one destination's forwarder, without its network, its store and its clock.
///
/// There is one batch at a time. It is stored before its first request, its
/// outcome after its last one, and whatever happens between, the store still
/// holds it: a stop or a crash at any point means that it is sent again.
package struct Forwarding: Sendable {
    enum State: Equatable {
        case idle
        /// Something waits, but not long enough, or the send rate says later.
        case lingering(until: MonotonicInstant)
        /// The shell builds and stores a batch.
        case preparing
        case sending
        case waiting(until: MonotonicInstant, Wait)
        case paused(PauseReason, until: MonotonicInstant)
        /// A probe of a paused destination is under way.
        case probing(PauseReason)
        /// The shell stores an outcome.
        case settling
        case stopped
    }

    enum Wait: Equatable {
        /// A batch of the time before the start waits for its first request.
        case resuming
        /// - Parameter isAsked: The destination itself asked for the wait.
        case failure(FailureClass, isAsked: Bool)
    }

    package static let firstProbe: Duration = .seconds(60)
    package static let lastProbe: Duration = .seconds(900)
    /// Who refuses lines for so long, one request after the other, is at fault itself.
    package static let longestBisection: Duration = .seconds(300)
    /// What has waited longer than this is backlog.
    package static let freshness: Duration = .seconds(60)

    let settings: ForwardSettings
    let planner: BatchPlanner
    var state: State = .idle
    var pending: PendingFacts = .nothing
    /// Beside the state and not in it, as their arrays would be copied at each change.
    var batch: ForwardingBatch?
    var bisection: Bisection?
    var requestsOfBatch = 0
    /// The lines of the batch before this one were sent at least once.
    var sentUpTo = 0
    /// What was counted before the last request, for where nothing of it left.
    var sentBefore: (resent: Int64, upTo: Int) = (0, 0)
    /// The lines of the last request.
    var lastCount = 0
    var maybeDuplicate = false
    var isConfirmed = true
    /// Since when lines of the batch have been refused without a pause between.
    var bisectingSince: MonotonicInstant?

    var schedule = RetrySchedule()
    var clock = RetryClock()
    var breaker = CircuitBreaker()
    var pacer: SendPacer
    var size: LearnedSize
    var probeDelay = Self.firstProbe
    var isFlushing = false
    var isStopping = false
    var lastAnswer: AnswerSummary?
    var requests: Int64 = 0
    var resent: Int64 = 0

    /// - Parameter pacer: Where the last run left it, so that a restart gives nobody a fresh burst.
    package init(settings: ForwardSettings, pacer: SendPacer? = nil, at now: MonotonicInstant) {
        self.settings = settings
        planner = BatchPlanner(settings: settings)
        self.pacer = pacer ?? SendPacer(settings: settings, at: now)
        size = LearnedSize(most: settings.batchBytes)
    }

    package var isStopped: Bool { state == .stopped }

    /// The daemon came up, and the store holds a batch whose answer is not known.
    ///
    /// - Parameter unit: A number drawn from 0 up to 1.
    package mutating func started(
        resuming batch: ForwardingBatch, _ progress: RetryProgress, unit: Double, at now: MonotonicInstant
    ) -> SendAction {
        precondition(state == .idle, "A batch was resumed by a forwarder that is at work already")
        take(batch, progress)
        maybeDuplicate = true
        sentUpTo = batch.count
        breaker = CircuitBreaker(failures: progress.attempts)
        let until = now.advanced(by: settings.resumeDelay * min(max(unit, 0), 1))
        state = .waiting(until: until, .resuming)
        return .wait(until: until)
    }

    /// Records were stored, or more became known of what waits.
    package mutating func recordsArrived(_ pending: PendingFacts, at now: MonotonicInstant) -> PlanAction {
        self.pending = pending
        switch state {
        case .idle, .lingering: return plan(at: now)
        case .preparing, .sending, .waiting, .paused, .probing, .settling, .stopped: return .rest
        }
    }

    /// A batch was stored, and nothing else is to be stored before it is sent.
    package mutating func batchStored(_ batch: ForwardingBatch, at now: MonotonicInstant) -> SendAction {
        switch state {
        case .preparing:
            take(batch, RetryProgress())
            guard !isStopping else {
                state = .stopped
                return .rest
            }
            return .send(nextShipment(at: now))
        case .stopped:
            // It was stored while the daemon lost patience. The next start finds it.
            return .rest
        case .idle, .lingering, .sending, .waiting, .paused, .probing, .settling:
            preconditionFailure("A batch was stored that this machine never asked for")
        }
    }

    /// All that the cursor met was held back, so there is no batch.
    package mutating func nothingToSend(_ pending: PendingFacts, at now: MonotonicInstant) -> PlanAction {
        self.pending = pending
        switch state {
        case .preparing: return plan(at: now)
        case .stopped: return .rest
        case .idle, .lingering, .sending, .waiting, .paused, .probing, .settling:
            preconditionFailure("The log was walked though this machine never asked for it")
        }
    }

    /// The outcome of the batch was stored.
    package mutating func settled(_ pending: PendingFacts, at now: MonotonicInstant) -> PlanAction {
        self.pending = pending
        switch state {
        case .settling:
            batch = nil
            bisection = nil
            return plan(at: now)
        case .stopped:
            return .rest
        case .idle, .lingering, .preparing, .sending, .waiting, .paused, .probing:
            preconditionFailure("An outcome was stored that this machine never asked for")
        }
    }

    /// The time that this machine asked to wait for has come.
    package mutating func waited(at now: MonotonicInstant) -> NextAction {
        switch state {
        case .lingering(let until):
            return until <= now ? .init(plan(at: now)) : .wait(until: until)
        case .waiting(let until, _):
            return until <= now ? .send(nextShipment(at: now)) : .wait(until: until)
        case .paused(let reason, let until):
            return until <= now ? .send(probe(reason, at: now)) : .wait(until: until)
        case .idle, .preparing, .sending, .probing, .settling, .stopped:
            // The timer was set before something else came to pass.
            return .rest
        }
    }

    /// Somebody asks that what waits goes now.
    package mutating func flushRequested(at now: MonotonicInstant) -> NextAction {
        switch state {
        case .idle, .lingering:
            isFlushing = true
            return .init(plan(at: now))
        case .preparing, .sending, .settling:
            isFlushing = true
            return .rest
        case .waiting(let until, .failure(_, isAsked: true)):
            // The destination asked for this wait, and whoever is impatient is not the destination.
            return .wait(until: until)
        case .waiting(_, .failure(_, isAsked: false)), .waiting(_, .resuming):
            isFlushing = true
            return .send(nextShipment(at: now))
        case .paused(let reason, _):
            isFlushing = true
            return .send(probe(reason, at: now))
        case .probing, .stopped:
            return .rest
        }
    }

    /// A bare connection came about while the destination was waited for.
    package mutating func reachedAgain(at now: MonotonicInstant) -> SendAction {
        switch state {
        case .waiting(_, .failure(let failure, isAsked: false)) where failure.isSilence:
            return .send(nextShipment(at: now))
        case .idle, .lingering, .preparing, .sending, .waiting, .paused, .probing, .settling, .stopped:
            // The wait was over before the connection was.
            return .rest
        }
    }

    /// The credential was read again.
    package mutating func credentialReread(changed: Bool, at now: MonotonicInstant) -> SendAction {
        switch state {
        case .paused(let reason, let until):
            return changed ? .send(probe(reason, at: now)) : .wait(until: until)
        case .idle, .lingering, .preparing, .sending, .waiting, .probing, .settling, .stopped:
            return .rest
        }
    }

    /// The daemon is to end.
    package mutating func stopRequested() -> StopAction {
        isStopping = true
        switch state {
        case .idle, .lingering, .waiting, .paused, .stopped:
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
