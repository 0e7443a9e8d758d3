package import IssueProtocol

/// The state machine of one destination's forwarder, without network, store and clock.
///
/// One batch is sent at a time. It is stored before its first request. Lines without a stored outcome are sent again
/// after a stop or a crash. An unfinished batch may be preempted by a batch of priority records or, if it is blocked
/// (`Bisection.isBlocked`), by a batch of any other records. At most one batch is preempted at a time. If lines of one
/// or both of the two batches keep getting no response, the two may be merged, so that other records can be sent before
/// them.
package struct Forwarding: Sendable {
    enum State: Equatable {
        case idle
        /// Records are pending, but they have not waited long enough, the send rate does not allow them yet, the
        /// destination has requested a wait, or the last build made no progress.
        ///
        /// - Parameter isPaced: `true` if the send rate does not allow them yet.
        case batching(until: MonotonicInstant, isPaced: Bool)
        /// The caller builds and stores a batch.
        case preparing
        case sending
        case waiting(until: MonotonicInstant, Wait)
        case paused(PauseReason, until: MonotonicInstant)
        /// A probe of the paused destination is in flight.
        case probing(PauseReason)
        /// The caller stores an outcome, which may be partial.
        case settling(NextStep)
        case stopped
    }

    struct Wait: Equatable {
        /// The failure that caused the wait. Nil for a batch that is resumed after a start, unless the destination
        /// requested the wait and the failure is known.
        var failure: FailureClass?
        /// `true` if the destination itself requested the wait, perhaps before the start.
        var isRequestedByDestination: Bool
    }

    /// The step after an outcome is stored.
    enum NextStep: Equatable {
        case plan
        case sendNext
        case wait(until: MonotonicInstant, Wait)
        case pause(PauseReason, until: MonotonicInstant)
    }

    package static let firstProbeDelay: Duration = .seconds(60)
    package static let maxProbeDelay: Duration = .seconds(900)
    /// The time after which a destination that keeps refusing the majority of lines is considered to be at fault.
    package static let bisectionTimeout: Duration = .seconds(300)
    /// The maximum size of `unansweredUsers`. When there are more users, all are forgotten.
    static let maxUnansweredUsers = 100
    /// The minimum wait after a build that found nothing and made no progress. New records may end it early.
    static let minEmptyBuildDelay: Duration = .seconds(1)
    /// The number of requests for parts of a batch after which the outcomes so far are stored, unless they are
    /// uncertain.
    package static let maxUnstoredRequests = 64
    /// The maximum size of a merged batch in bytes. It is limited because all lines of the batch are kept in memory.
    static let maxMergedBytes = 16 << 20
    /// The first value of `overtakingDelay`, which doubles each time it is used.
    static let firstOvertakingDelay: Duration = .seconds(60)
    static let maxOvertakingDelay: Duration = .seconds(3600)
    /// The age above which pending records count as backlog.
    package static let freshness: Duration = .seconds(60)
    /// The interval at which one retry in an outage gets the full request timeout. Otherwise requests to a destination
    /// that is only slow would always time out.
    package static let fullTimeoutInterval: Duration = .seconds(600)

    let settings: ForwardSettings
    var state: State = .idle
    var pending: PendingCounts = .nothing
    /// The batch that is being sent. It is not part of `state`, because its arrays would then be copied at each change.
    var current: BatchProgress?
    /// The preempted batch.
    var preempted: BatchProgress?
    /// The reason and the end of the pause in effect when the batch was preempted; nil if there was none.
    var preemptedPause: (reason: PauseReason, until: MonotonicInstant)?
    /// Whether the batch being built is backlog and uses the backlog's share of the send rate.
    var isBuildingBacklog = false
    /// Values before the last request. The counters are restored if nothing was sent, and `fullRequestStart` if the
    /// request was not made at all.
    var sentBefore: (resent: Int64, upTo: Int, fullRequestStart: MonotonicInstant?) = (0, 0, nil)
    /// The pacer before the last request, to be restored if the request was not made.
    var pacerBefore: SendPacer
    /// The users of lines that were given up because they got no response. At most `maxUnansweredUsers` are remembered.
    var unansweredUsers: Set<UInt32> = []
    /// The lines of the last request.
    var lastRange = 0..<0
    /// The start of the last request.
    var begun: MonotonicInstant
    /// The start of the last request that had the full request timeout; nil before the first one.
    var fullRequestStart: MonotonicInstant?

    var schedule = RetrySchedule()
    var breaker = CircuitBreaker()
    var pacer: SendPacer
    var size: AdaptiveBodyLimit
    var probeDelay = Self.firstProbeDelay
    /// The end of the wait that the destination has requested, and the failure that caused the wait; nil if none was
    /// requested, or if the destination has accepted or rejected lines since. The wait also applies to the next batch
    /// if the current one ends during the wait.
    var requestedWait: (until: MonotonicInstant, failure: FailureClass)?
    var isFlushing = false
    var isStopping = false
    var lastAnswer: ResponseSummary?
    /// The time from which another batch may be sent before one that gets no response, if the lines of the latter are
    /// not proven to be the reason; nil for any time. Reset by a response that accepts or rejects lines. The delay
    /// limits how many lines are sent in an outage, because lines may arrive although no response comes.
    var nextOvertaking: MonotonicInstant?
    /// The next delay until `nextOvertaking`. It starts when a batch is sent before another whose lines are not proven
    /// to be the reason.
    var overtakingDelay = Self.firstOvertakingDelay
    /// Why the last request failed. After a start, it is the last failure that the previous run has logged. Nil after a
    /// response that accepts or rejects lines, and after one that pauses the destination.
    var failing: FailureClass?
    /// Why the last request paused the destination; nil if it did not. After a start, it is the last pause that the
    /// previous run has logged, provided that its batch is unfinished. It stays set if all records of the batch are
    /// removed, because nothing shows that the cause is fixed: requests of other batches are then probes too. Without a
    /// batch, a changed credential resets it.
    var pauseReason: PauseReason?
    /// Whether records were accepted, according to the last response that states it; `false` after a failed request or
    /// a pause.
    package var isAcceptingRecords = false
    var resent: Int64 = 0

    /// - Parameters:
    ///   - settings: The destination's settings.
    ///   - pacer: The pacer of the last run, so that a restart does not allow another burst; nil for a new one.
    ///   - failing: Why requests failed according to the last run's last log entry (`OutageLog.failure`); nil if that
    ///     is not about a failure.
    ///   - now: The current time.
    package init(
        settings: ForwardSettings, pacer: SendPacer? = nil, failing: FailureClass? = nil, at now: MonotonicInstant
    ) {
        self.settings = settings
        let pacer = pacer ?? SendPacer(settings: settings, at: now)
        self.pacer = pacer
        pacerBefore = pacer
        size = AdaptiveBodyLimit(most: settings.batchBytes)
        begun = now
        self.failing = failing
    }

    package var isStopped: Bool { state == .stopped }

    /// Handles the start of the forwarder if the store holds an unfinished batch.
    ///
    /// - Parameters:
    ///   - batch: The unfinished batch.
    ///   - later: The batch that preempted it, or nil.
    ///   - progress: The stored retry progress.
    ///   - earliest: The end of a wait that the destination requested before the start, or nil.
    ///   - failure: The failure that caused that wait; nil if it is not known.
    ///   - pauseReason: Why the destination was paused when the last run ended, so that the first request is a probe,
    ///     and is sent at once; nil if it was not paused, or if the cause is known to be fixed. Without effect during a
    ///     wait that the destination requested.
    ///   - unit: A random number in 0..<1.
    ///   - now: The current time.
    /// - Returns: The action the caller must perform.
    package mutating func started(
        resuming batch: ForwardingBatch, preemptedBy later: ForwardingBatch? = nil, _ progress: RetryProgress,
        notBefore earliest: MonotonicInstant? = nil, after failure: FailureClass? = nil,
        pausedFor pauseReason: PauseReason? = nil, unit: Double, at now: MonotonicInstant
    ) -> NextAction {
        precondition(state == .idle, "A batch was resumed by a forwarder that is already running")
        current = BatchProgress(batch, spent: progress.spent)
        if let later {
            preempted = current
            current = BatchProgress(later)
        }
        schedule = RetrySchedule(attempts: progress.attempts)
        breaker = CircuitBreaker(failures: progress.attempts)
        // The cause of a pause may have been removed, which only a request shows. A probe has only one line, so it
        // doesn't overload the destination in a crash loop.
        let delay = pauseReason == nil ? settings.resumeDelay * min(max(unit, 0), 1) : .zero
        let usual = now.advanced(by: delay)
        let until = max(usual, earliest ?? usual)
        let isRequestedByDestination = earliest.map { $0 > now } ?? false
        if !isRequestedByDestination { self.pauseReason = pauseReason }
        state = .waiting(
            until: until,
            Wait(
                failure: isRequestedByDestination ? failure : nil, isRequestedByDestination: isRequestedByDestination))
        return .wait(until: until)
    }

    /// Handles newly stored records or updated counts of pending records.
    package mutating func recordsArrived(_ pending: PendingCounts, at now: MonotonicInstant) -> NextAction {
        self.pending = pending
        switch state {
        case .idle, .batching: return plan(at: now)
        case .paused(.manyLinesRefused, let until):
            switch preemptionPace(at: now) {
            case .now?: return preempt(at: now)
            case .wait(let sooner)?: return .wait(until: min(sooner, until))
            case nil: return .none
            }
        case .preparing, .sending, .waiting, .paused, .probing, .settling, .stopped: return .none
        }
    }

    /// Updates the counts of pending records, which are used at the next event.
    package mutating func learned(_ pending: PendingCounts) { self.pending = pending }

    /// Whether the last request contained only a part of the current batch.
    package var isInParts: Bool { current.map { $0.requests > 0 && lastRange.count < $0.batch.count } ?? false }

    /// Handles the end of storing a batch, which is sent next.
    package mutating func batchStored(_ batch: ForwardingBatch, at now: MonotonicInstant) -> NextAction {
        switch state {
        case .preparing:
            current = BatchProgress(batch, isBacklog: isBuildingBacklog, unansweredUsers: unansweredUsers)
            // The lines of users whose lines get no response would delay those of others.
            if let known = preempted?.bisection.suspectUsers { _ = current?.bisection.begin(withOtherThan: known) }
            delayOvertaking(after: batch, at: now)
            guard !isStopping else { return stop() }
            return .send(preemptedPause.map { probe($0.reason, at: now) } ?? nextShipment(at: now))
        case .stopped:
            // The forwarder was stopped while the batch was being stored. The next start finds it.
            return .none
        case .idle, .batching, .sending, .waiting, .paused, .probing, .settling:
            preconditionFailure("A batch was stored in a state that did not ask for one")
        }
    }

    /// Handles a build that found no records to send, so that there is no batch.
    ///
    /// - Parameters:
    ///   - pending: The current counts of pending records.
    ///   - hasAdvanced: `false` if the cursor has not moved, for example because the pending records can't be read. The
    ///     next batch then waits, even if it is due.
    ///   - now: The current time.
    /// - Returns: The action the caller must perform.
    package mutating func nothingToSend(
        _ pending: PendingCounts, hasAdvanced: Bool = true, at now: MonotonicInstant
    ) -> NextAction {
        self.pending = pending
        switch state {
        case .preparing:
            guard preempted == nil else { return resumePreempted(isAnswered: false, at: now) }
            guard !hasAdvanced, !isStopping, pending.records > 0 else { return plan(at: now) }
            return waitForRecords(until: now.advanced(by: max(settings.batchDelay, Self.minEmptyBuildDelay)))
        case .stopped: return .none
        case .idle, .batching, .sending, .waiting, .paused, .probing, .settling:
            preconditionFailure("The log was scanned in a state that did not ask for it")
        }
    }

    /// Handles the end of storing an outcome.
    ///
    /// If no lines are left, the next batch follows. It too waits as long as the destination has requested.
    ///
    /// - Parameters:
    ///   - pending: The current counts of pending records.
    ///   - rest: The lines without an outcome, stored as a batch of their own; nil if none are left or all their
    ///     records were removed.
    ///   - now: The current time.
    /// - Returns: The action the caller must perform.
    package mutating func settled(
        _ pending: PendingCounts, rest: ForwardingBatch? = nil, at now: MonotonicInstant
    ) -> NextAction {
        self.pending = pending
        switch state {
        case .settling(let followUp):
            current = rest.flatMap { rest in current.map { BatchProgress(rest, of: $0) } }
            guard current != nil else {
                return preempted == nil ? plan(at: now) : resumePreempted(isAnswered: isAcceptingRecords, at: now)
            }
            return follow(followUp, at: now)
        case .stopped:
            return .none
        case .idle, .batching, .preparing, .sending, .waiting, .paused, .probing:
            preconditionFailure("An outcome was stored in a state that did not ask for it")
        }
    }

    /// Handles the end of a wait.
    package mutating func waited(at now: MonotonicInstant) -> NextAction {
        switch state {
        case .batching(let until, _):
            return until <= now ? plan(at: now) : .wait(until: until)
        case .waiting(let until, _):
            return until <= now ? tryAgain(at: now) : .wait(until: until)
        case .paused(let reason, let until):
            if until <= now { return probeAgain(reason, at: now) }
            return reason == .manyLinesRefused && canPreempt(at: now)
                ? preempt(at: now) : waitInPause(reason, until: until, at: now)
        case .idle, .preparing, .sending, .probing, .settling, .stopped:
            // The timer was set before another event changed the state.
            return .none
        }
    }

    /// Handles a user's request to send pending records now.
    package mutating func flushRequested(at now: MonotonicInstant) -> NextAction {
        switch state {
        case .idle, .batching:
            isFlushing = true
            return plan(at: now)
        case .preparing, .sending, .settling:
            isFlushing = true
            return .none
        case .waiting(let until, let wait) where wait.isRequestedByDestination:
            // The destination asked for this wait, so a user cannot shorten it.
            return .wait(until: until)
        case .waiting:
            isFlushing = true
            return tryAgain(at: now)
        case .paused(let reason, _):
            isFlushing = true
            return probeAgain(reason, at: now)
        case .probing, .stopped:
            return .none
        }
    }

    /// Handles a reload of the credential. `changed` is `true` if the credential is no longer the same.
    package mutating func credentialReread(changed: Bool, at now: MonotonicInstant) -> NextAction {
        switch state {
        case .paused(let reason, let until):
            return changed ? .send(probe(reason, at: now)) : waitInPause(reason, until: until, at: now)
        case .idle, .batching:
            // There is nothing to probe with, and the cause of the pause may be fixed.
            if changed { pauseReason = nil }
            return .none
        case .preparing, .sending, .waiting, .probing, .settling, .stopped:
            return .none
        }
    }

    /// Handles a request to stop.
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

    /// Handles the cancellation of the request in flight by a caller that is about to stop. The cancellation does not
    /// count as a failure of the destination.
    ///
    /// - Parameter mayHaveArrived: `true` if the destination may have received the lines.
    package mutating func requestCancelled(mayHaveArrived: Bool) {
        switch state {
        case .sending, .probing:
            if mayHaveArrived { current?.unacknowledged.insert(lastRange) }
            current?.bisection.requestFailed()
        case .idle, .batching, .preparing, .waiting, .paused, .settling, .stopped: break
        }
    }

    /// Stops at once. The next start continues with the unfinished batches.
    package mutating func abandoned() {
        isStopping = true
        state = .stopped
    }
}

extension Forwarding {
    /// The content of one request.
    package struct Shipment: Equatable, Sendable {
        /// The id of the batch.
        package var batch: BatchID
        /// The lines, numbered from 0.
        package var range: Range<Int>
        /// Whether the request consists of one line in truncated form.
        package var isCut = false
        /// Whether the credential must be read again before the request, because the destination is paused.
        package var rereadsCredential = false
        /// The timeout of the request, shortened because the destination may be down; nil for the configured one.
        package var timeLimit: Duration?
    }

    /// The action after an event other than a response.
    package enum NextAction: Equatable, Sendable {
        /// Build a batch of pending records within this limit, and store it. Then call `batchStored` or
        /// `nothingToSend`.
        case build(BatchLimit)
        /// Like `build`, but with priority records only. The current batch is preempted.
        case preempt(BatchLimit)
        /// Store the two unfinished batches as one, then call `merged`.
        case merge(BatchID, with: BatchID)
        case send(Shipment)
        /// Call `waited` at this time, unless another event requires a different action before.
        case wait(until: MonotonicInstant)
        case none
    }

    /// The action after a response.
    package enum AnswerAction: Equatable, Sendable {
        /// Some or all lines of the batch have an outcome: store it, then call `settled`.
        case settle(batch: BatchID, BatchOutcome)
        /// Build a batch of priority records, which is sent before the rest of this batch (`NextAction.preempt`).
        case preempt(BatchLimit)
        /// Send another part of the same batch.
        case send(Shipment)
        /// Truncate this line, which is too large, to the destination's limits and send it again.
        case cut(line: Int, thenSend: Shipment)
        /// Store the progress, then proceed as with `NextAction.wait`.
        case wait(until: MonotonicInstant, RetryProgress)
        /// Store the progress, read the credential again and call `credentialReread`. Call `waited` at this time, to
        /// send a probe.
        case pause(PauseReason, until: MonotonicInstant, RetryProgress)
        /// Stop. The batch remains in the store and the next start sends it again.
        case stop
        /// Do nothing: the forwarder has already stopped.
        case none
    }

    package enum StopAction: Equatable, Sendable {
        case stop
        /// A request is in flight. Its response completes the stop, unless an outcome must then be stored (`settled`).
        case awaitAnswer
        /// Something is being stored. `batchStored`, `nothingToSend`, `settled` or `merged` completes the stop.
        case awaitStore
    }
}

extension Forwarding {
    /// Whether the destination is paused and the forwarder waits for the next probe. If the reason is
    /// `manyLinesRefused`, priority records may be sent before that probe.
    package var isPaused: Bool {
        if case .paused = state { preemptedPause == nil } else { false }
    }

    /// Whether the destination is paused and there is no batch with which it could be probed.
    package var isPausedWithoutBatch: Bool { pauseReason != nil && current == nil && preempted == nil }

    /// The state of the destination for `status`.
    package var view: ForwardingView {
        var view = ForwardingView(state: .idle)
        view.lastAnswer = lastAnswer?.text
        view.resent = resent
        // Until records are accepted, a request in flight does not change the reported state.
        if let preemptedPause {
            view.pause(preemptedPause.reason, until: nil)
            return view
        }
        switch state {
        case .batching(let until, isPaced: false) where requestedWait?.until == until:
            view.wait(failing?.rawValue ?? "resuming", until: until)
            view.advice = ForwardingView.requestedWait
        case .idle, .stopped, .batching(_, isPaced: false):
            view.reason = failing?.rawValue
        case .batching(let until, isPaced: true):
            view.wait(ForwardingView.sendRate, until: until)
        case .preparing, .sending, .settling(.plan), .settling(.sendNext):
            view.state = .sending
            if let failing { view.wait(failing.rawValue, until: nil) }
        case .waiting(let until, let wait), .settling(.wait(let until, let wait)):
            view.wait((wait.failure ?? failing)?.rawValue ?? "resuming", until: until)
            if wait.isRequestedByDestination { view.advice = ForwardingView.requestedWait }
        case .paused(let reason, let until), .settling(.pause(let reason, let until)):
            view.pause(reason, until: until)
        case .probing(let reason):
            view.pause(reason, until: nil)
        }
        if let pauseReason, view.state != .paused { view.pause(pauseReason, until: view.nextAttempt) }
        return view
    }
}

extension ForwardingView {
    /// The reason if the send rate does not allow the next batch yet.
    fileprivate static let sendRate = "send_rate"
    /// The advice during a wait that the destination has requested.
    package static let requestedWait =
        "The destination requested this wait (Retry-After), so a flush does not shorten it. If the destination often "
        + "requests waits, check its load, or lower SendRate=."

    /// Whether anything other than the send rate keeps records from being sent.
    package var isFailing: Bool { reason.map { $0 != Self.sendRate } ?? false }

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

/// The state of a destination for `status`.
package struct ForwardingView: Equatable, Sendable {
    package var state: DestinationState
    /// Why the records wait, the destination is paused or the last request failed; nil in other cases.
    package var reason: String?
    package var advice: String?
    /// When the next request is planned; nil if none is planned or one is in flight.
    package var nextAttempt: MonotonicInstant?
    /// The summary of the last response or failure; nil if there was none since the start.
    package var lastAnswer: String?
    /// The number of lines sent again since the start.
    package var resent: Int64 = 0

    package init(state: DestinationState, reason: String? = nil, advice: String? = nil) {
        self.state = state
        self.reason = reason
        self.advice = advice
    }
}

/// The counts and times of pending records, which determine when the next batch is sent.
package struct PendingCounts: Equatable, Sendable {
    /// The number of records, summaries and corrections. May be too high.
    package var records: Int
    /// The size of their lines in bytes. May be an estimate.
    package var bytes: Int
    /// The time since which the oldest record has waited; nil if none is waiting.
    package var oldest: MonotonicInstant?
    /// The number of priority records.
    package var priorityRecords: Int
    /// The time since which the oldest priority record has waited; nil if none is waiting.
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

/// The settings for when and in which batches records are sent (`[Forward]`). A send rate or a daily limit of zero
/// disables that limit.
package struct ForwardSettings: Hashable, Sendable {
    /// The maximum number of records in a batch.
    package var batchRecords: Int = 500
    /// The size at which a batch is full, in bytes before compression.
    package var batchBytes: Int = 1 << 20
    /// The maximum time a record waits for a batch to fill.
    package var batchDelay: Duration = .seconds(5)
    /// The maximum time a priority record waits for a batch to fill.
    package var criticalDelay: Duration = .seconds(1)
    /// The maximum number of records sent per period of real time.
    package var sendRate = Rate(600, per: .seconds(60))
    package var connectTimeout: Duration = .seconds(10)
    package var requestTimeout: Duration = .seconds(30)
    /// The time for which a batch is retried before its records are given up.
    package var retryFor: Duration = .seconds(7 * 86_400)
    /// The share of the send rate that the backlog may use, so that other records need not wait for it.
    package var backlogShare = Percentage(percent: 80)
    /// The maximum number of bytes sent per UTC day, before compression.
    package var dailyBytes: Int64 = 500 << 20
    package var compression = true
    /// The maximum random delay before an unfinished batch of the last run is sent, so that a crash loop does not
    /// overload the destination. If the destination was paused, it is probed without this delay.
    package var resumeDelay: Duration = .seconds(5)

    package init() {}

    /// Settings for a self-hosted destination: large batches without a send rate or daily limit.
    package static var withoutLimits: ForwardSettings {
        var settings = ForwardSettings()
        settings.batchRecords = 10_000
        settings.batchBytes = 8 << 20
        settings.sendRate = .unlimited
        settings.dailyBytes = 0
        return settings
    }
}
