package import IssueProtocol

/// One client's connection as a state machine.
///
/// The state machine decides what is read, which calls begin, what is sent and when the connection is closed. The
/// socket thread reports each event and performs the returned action. That thread owns the descriptors, bytes and
/// replies. The state contains only what the decisions depend on.
///
/// Reports may be pipelined. Any other call is a query and is processed alone: it begins when all earlier reports are
/// answered, so that clients see the records they have reported. Later calls wait until the query has been answered.
package struct ConnectionState: Equatable, Sendable {
    /// Determines whether further calls are received.
    private enum Phase: Equatable, Sendable {
        case open(Intake, Flow)
        /// Nothing more is received. The calls that have begun are answered, and then the connection is closed.
        case draining
        case closed
    }

    /// The message that has been received, at least in part, and whose call has not begun.
    private enum Intake: Equatable, Sendable {
        case none
        /// - Parameter isReport: `true` if the message is known to be a report, so it may be larger than a query.
        case partial(since: MonotonicInstant, isReport: Bool)
        /// A complete message that waits for earlier calls, as its range in the receive buffer.
        case held(Range<Int>)
    }

    private enum Flow: Equatable, Sendable {
        case free
        /// Nothing is read or begun until the user's load drops.
        case throttled
    }

    /// The calls that have begun and are not answered.
    private enum Calls: Equatable, Sendable {
        case reports(Int)
        case query(token: UInt64, QueryState)
    }

    /// The replies to the client.
    private enum Output: Equatable, Sendable {
        case idle
        /// Replies are sent at the end of this round. `stalledSince` is the time at which the client stopped reading;
        /// nil if it reads.
        case queued(stalledSince: MonotonicInstant?)
        /// No more can be sent until the client reads.
        case stalled(since: MonotonicInstant)
    }

    /// The state of the connection in the poller.
    private enum Poll: Equatable, Sendable {
        case watched(Events)
        /// The connection is not in the poller, which would report the hang-up in every round.
        case detached
    }

    private var phase = Phase.open(.none, .free)
    private var calls = Calls.reports(0)
    private var output = Output.idle
    private var poll = Poll.watched(.reading)

    /// Creates the state of a connection that the poller watches for reading.
    package init() {}

    /// Whether further calls are received.
    package var isOpen: Bool {
        if case .open = phase { true } else { false }
    }

    package var isClosed: Bool { phase == .closed }

    // MARK: Receiving

    /// Whether the connection may receive bytes now. The user's load (`UserLoad`) must also allow it.
    package var mayReceive: Bool {
        switch phase {
        case .open(.none, _), .open(.partial, _): true
        case .open(.held, _), .draining, .closed: false
        }
    }

    /// Whether a report that is received now may begin immediately.
    package var mayReport: Bool {
        switch (phase, calls) {
        case (.open, .reports): true
        case (.open, .query), (.draining, _), (.closed, _): false
        }
    }

    /// The message that waits until earlier calls have been answered; nil if there is none.
    package var held: Range<Int>? {
        if case .open(.held(let message), _) = phase { message } else { nil }
    }

    /// Removes and returns the held message; nil if there is none. The caller examines it again.
    package mutating func takeHeld() -> Range<Int>? {
        guard case .open(.held(let message), let flow) = phase else { return nil }
        phase = .open(.none, flow)
        return message
    }

    /// Notes that bytes at the front of the receive buffer were removed.
    ///
    /// - Parameter distance: The number of bytes by which all offsets have decreased.
    package mutating func moved(by distance: Int) {
        guard case .open(.held(let message), let flow) = phase else { return }
        phase = .open(.held((message.lowerBound - distance)..<(message.upperBound - distance)), flow)
    }

    /// Notes that part of a message was received. The first part starts the timeout of the message.
    package mutating func receivedPart(at now: MonotonicInstant) {
        guard case .open(.none, let flow) = phase else { return }
        phase = .open(.partial(since: now, isReport: false), flow)
    }

    /// Notes that the message being received is a report, which may be larger than a query.
    package mutating func recognisedReport() {
        guard case .open(.partial(let since, _), let flow) = phase else { return }
        phase = .open(.partial(since: since, isReport: true), flow)
    }

    /// Whether the message being received is known to be a report.
    package var isReceivingReport: Bool {
        if case .open(.partial(_, let isReport), _) = phase { isReport } else { false }
    }

    /// Notes that a message is complete.
    package mutating func receivedMessage() {
        guard case .open(.partial, let flow) = phase else { return }
        phase = .open(.none, flow)
    }

    /// The start of the timeout for an incomplete message; nil if there is none.
    package var partialSince: MonotonicInstant? {
        if case .open(.partial(let since, _), _) = phase { since } else { nil }
    }

    /// Stops receiving calls, for example because the client has closed its side or sent an invalid message, or because
    /// the daemon stops.
    ///
    /// - Returns: `enqueue` if the connection must be served at the end of this round. It is closed then if all calls
    ///   are answered.
    package mutating func drain() -> QueueAction {
        guard isOpen else { return .none }
        phase = .draining
        return queued()
    }

    // MARK: Calls

    package enum CallAction: Equatable, Sendable {
        case begin
        /// The call waits, and nothing more is read from the connection.
        case hold
        /// The connection no longer receives calls, so this one is discarded.
        case drop
    }

    /// Holds a report that may not begin now. Does nothing if the connection no longer receives calls.
    ///
    /// - Parameter message: Its range in the receive buffer.
    package mutating func hold(_ message: Range<Int>) {
        precondition(!mayReport, "A report that may begin must not wait")
        guard case .open(_, let flow) = phase else { return }
        phase = .open(.held(message), flow)
    }

    /// Notes that reports have begun, in the order in which they were received.
    package mutating func reportsBegan(_ count: Int) {
        guard case .open(_, let flow) = phase, case .reports(let open) = calls else {
            preconditionFailure("A report began that had to wait")
        }
        phase = .open(.none, flow)
        calls = .reports(open + count)
    }

    /// Handles a call other than a report.
    ///
    /// - Parameters:
    ///   - message: Its range in the receive buffer.
    ///   - token: The token of its reply.
    package mutating func queryArrived(_ message: Range<Int>, token: UInt64) -> CallAction {
        switch (phase, calls) {
        case (.open(_, let flow), .reports(0)):
            phase = .open(.none, flow)
            calls = .query(token: token, .single)
            return .begin
        case (.open(_, let flow), .reports), (.open(_, let flow), .query):
            phase = .open(.held(message), flow)
            return .hold
        case (.draining, _), (.closed, _): return .drop
        }
    }

    package enum AnsweredAction: Equatable, Sendable {
        /// Examine the held call again.
        case resume
        case none
    }

    /// Notes that reports were stored or rejected, and answered if they need a reply.
    package mutating func reportsAnswered(_ count: Int) -> AnsweredAction {
        guard case .reports(let open) = calls, open >= count else {
            preconditionFailure("A report was answered that had not begun")
        }
        calls = .reports(open - count)
        return open == count && held != nil ? .resume : .none
    }

    /// The number of reports that have begun and are not answered.
    package var openReports: Int {
        if case .reports(let count) = calls { count } else { 0 }
    }

    // MARK: Throttling and the poller

    /// Notes that the user's load does not allow further calls.
    package mutating func throttled() {
        guard case .open(let intake, _) = phase else { return }
        phase = .open(intake, .throttled)
    }

    /// Notes that the user's load has dropped.
    package mutating func resumed() {
        guard case .open(let intake, _) = phase else { return }
        phase = .open(intake, .free)
    }

    package var isThrottled: Bool {
        if case .open(_, .throttled) = phase { true } else { false }
    }

    /// The events that the poller reports.
    package struct Events: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        package static let reading = Events(rawValue: 1)
        package static let writing = Events(rawValue: 2)
    }

    package enum WatchAction: Equatable, Sendable {
        case none
        /// Change what the poller reports.
        case modify(Events)
        /// Add the connection to the poller again.
        case add(Events)
    }

    private var wantedEvents: Events {
        var events: Events = []
        if case .open(let intake, .free) = phase {
            switch intake {
            case .none, .partial: events.insert(.reading)
            case .held: break
            }
        }
        if stalledSince != nil { events.insert(.writing) }
        return events
    }

    /// Returns what the poller must report from now on, if that has changed.
    package mutating func watch() -> WatchAction {
        let wanted = wantedEvents
        switch (phase, poll) {
        case (.closed, _): return .none
        case (_, .watched(let events)):
            guard wanted != events else { return .none }
            poll = .watched(wanted)
            return .modify(wanted)
        case (_, .detached):
            // While a query is open, the poller must report the hang-up, which ends the query.
            guard !wanted.isEmpty || queryToken != nil else { return .none }
            poll = .watched(wanted)
            return .add(wanted)
        }
    }

    package enum HangUpAction: Equatable, Sendable {
        case none
        /// Remove the connection from the poller.
        case detach
    }

    /// Notes that the client has hung up.
    ///
    /// The poller reports a hang-up in every round. A connection that has no open query and is watched for neither
    /// reading nor writing is therefore removed from the poller until it must be watched again.
    package mutating func hungUp() -> HangUpAction {
        switch (phase, calls, poll) {
        case (.closed, _, _), (_, .query, _), (_, _, .detached): return .none
        case (_, .reports, .watched):
            guard wantedEvents.isEmpty else { return .none }
            poll = .detached
            return .detach
        }
    }

    // MARK: Sending

    package enum QueueAction: Equatable, Sendable {
        /// Send at the end of this round.
        case enqueue
        case none
    }

    /// Notes that there may be replies to send.
    package mutating func queued() -> QueueAction {
        switch (phase, output) {
        case (.closed, _), (_, .queued): return .none
        case (_, .idle):
            output = .queued(stalledSince: nil)
            return .enqueue
        case (_, .stalled(let since)):
            output = .queued(stalledSince: since)
            return .enqueue
        }
    }

    /// Notes that a part of the replies was sent and more will follow in this round.
    package mutating func sentPart() {
        guard !isClosed else { return }
        output = .queued(stalledSince: nil)
    }

    /// Notes that no more can be sent until the client reads. The timeout for this starts now, or continues if nothing
    /// was sent since it started.
    package mutating func stalled(at now: MonotonicInstant) {
        guard !isClosed else { return }
        output = .stalled(since: stalledSince ?? now)
    }

    /// The time since which the client has read none of its pending replies; nil if it reads them or none is pending.
    package var stalledSince: MonotonicInstant? {
        switch output {
        case .idle: nil
        case .queued(let since): since
        case .stalled(let since): since
        }
    }

    package enum SentAction: Equatable, Sendable {
        case none
        /// All calls are answered: release the memory that an idle connection does not need.
        case releaseMemory
        /// All calls are answered, and no further calls are received.
        case close
        case run(QueryStep)
        /// There may be records for the follower: poll, if the user's load allows it.
        case pollNews
    }

    /// Notes that all replies were sent.
    package mutating func sent() -> SentAction {
        guard !isClosed else { return .none }
        output = .idle
        switch calls {
        case .reports(0): return isOpen ? .releaseMemory : .close
        case .reports: return .none
        case .query(let token, .pages(let parameters, .unread)):
            calls = .query(token: token, .pages(parameters, .fetching))
            return .run(.page(parameters))
        case .query(_, .following(_, _, let gate)): return gate.isDue ? .pollNews : .none
        case .query(_, .single), .query(_, .job), .query(_, .pages(_, .fetching)), .query(_, .awaiting),
            .query(_, .flushing):
            return .none
        }
    }

    /// Whether all calls have been answered and all replies sent.
    package var isDone: Bool { calls == .reports(0) && output == .idle }

    // MARK: Timeouts

    package struct Timeouts: Equatable, Sendable {
        /// How long a message may be incomplete.
        package var read: Duration
        /// How long a client may read none of its pending replies.
        package var write: Duration

        package init(read: Duration, write: Duration) {
            self.read = read
            self.write = write
        }
    }

    /// Returns when a timeout is next due; nil if there is none.
    package func deadline(_ timeouts: Timeouts) -> MonotonicInstant? {
        var deadline = partialSince?.advanced(by: timeouts.read)
        if let unread = stalledSince?.advanced(by: timeouts.write) { deadline = min(deadline ?? unread, unread) }
        if case .query(_, let query) = calls, let until = query.deadline {
            deadline = min(deadline ?? until, until)
        }
        return deadline
    }

    package enum DeadlineAction: Equatable, Sendable {
        case none
        case close
        case run(QueryStep)
        /// The flush is over: read its result.
        case endFlush(QueryStep, isComplete: Bool)
    }

    /// Returns what to do about the deadlines that have passed.
    ///
    /// - Parameter hasUnreadBytes: `true` if the kernel holds bytes of the connection that were not read. If the
    ///   connection is throttled, the incomplete message is then not the client's fault, and its timeout starts again.
    package mutating func deadlineReached(
        at now: MonotonicInstant, _ timeouts: Timeouts, hasUnreadBytes: Bool
    ) -> DeadlineAction {
        guard !isClosed else { return .none }
        if case .open(.partial(let since, let isReport), let flow) = phase, since.advanced(by: timeouts.read) <= now {
            guard flow == .throttled, hasUnreadBytes else { return .close }
            phase = .open(.partial(since: now, isReport: isReport), flow)
        }
        if let stalledSince, stalledSince.advanced(by: timeouts.write) <= now { return .close }
        guard case .query(let token, let query) = calls, let until = query.deadline, until <= now else {
            return .none
        }
        switch query {
        case .awaiting(let parameters, _, var gate):
            // The reply contains the current fates.
            gate.happened()
            guard gate.shouldPoll() else { return .none }
            calls = .query(token: token, .awaiting(parameters, until: until, gate))
            return .run(.fates(parameters))
        case .flushing(let parameters, _, _):
            calls = .query(token: token, .single)
            return .endFlush(.destinations(parameters.destination), isComplete: false)
        case .single, .job, .pages, .following: return .none
        }
    }

    // MARK: Closing

    /// The order in which connections are closed to make room for new ones, from the first to the last.
    package enum Worth: Int, Comparable, Sendable {
        /// The connection is idle.
        case idle
        /// The client can resend or repeat its calls.
        case resumable
        /// Calls are being answered.
        case answering

        package static func < (left: Worth, right: Worth) -> Bool { left.rawValue < right.rawValue }
    }

    package var worth: Worth {
        switch calls {
        case .reports(0): phase == .open(.none, .free) && output == .idle ? .idle : .resumable
        case .reports, .query(_, .single), .query(_, .job), .query(_, .flushing): .answering
        case .query(_, .pages), .query(_, .following), .query(_, .awaiting): .resumable
        }
    }

    /// Notes that the connection is closed.
    ///
    /// - Returns: The number of its reports that have begun and are not answered.
    package mutating func closed() -> Int {
        let reports = openReports
        phase = .closed
        calls = .reports(0)
        output = .idle
        poll = .detached
        return reports
    }
}

// MARK: - Queries

extension ConnectionState {
    /// The progress of a query. Every call except `Report` is a query.
    private enum QueryState: Equatable, Sendable {
        enum PageState: Equatable, Sendable {
            case fetching
            /// The next page is fetched when the previous one has been sent.
            case unread
        }

        /// Another thread prepares the only reply, or the last one.
        case single
        /// Like `single`, for a job that may report its progress.
        case job
        /// The reply has several pages. The parameters request the next one.
        case pages(RecordsParameters, PageState)
        /// Records above this row are sent, new ones once they are stored.
        case following(IssueFilter, row: RowID, ChangePollGate)
        /// Waits until none of the records is pending, or until a time.
        case awaiting(AwaitParameters, until: MonotonicInstant, ChangePollGate)
        /// Waits until `remaining` more destinations have forwarded all pending records, or until a time.
        case flushing(FlushParameters, until: MonotonicInstant, remaining: Int)

        /// Whether another thread prepares a reply.
        var hasJob: Bool {
            switch self {
            case .single, .job, .pages(_, .fetching): true
            case .pages(_, .unread), .flushing: false
            case .following(_, _, let gate), .awaiting(_, _, let gate): gate.isPolling
            }
        }

        /// When the query is answered with the current state; nil if it has no timeout or the state is being read.
        var deadline: MonotonicInstant? {
            switch self {
            case .awaiting(_, let until, let gate): gate.isPolling ? nil : until
            case .flushing(_, let until, _): until
            case .single, .job, .pages, .following: nil
            }
        }
    }

    /// A query that takes more than one step or may have more than one reply.
    package enum Request: Equatable, Sendable {
        /// A job that was enqueued and may report its progress.
        case job
        case pages(RecordsParameters)
        case following(IssueFilter)
        case awaiting(AwaitParameters, until: MonotonicInstant)
        /// A flush at this number of destinations.
        case flushing(FlushParameters, until: MonotonicInstant, remaining: Int)
    }

    /// A step of a query that has several steps.
    package enum QueryStep: Equatable, Sendable {
        case page(RecordsParameters)
        /// The newest row, after which a follower starts.
        case newest
        case news(IssueFilter, row: RowID)
        case fates(AwaitParameters)
        /// The state of the named destination, or of all.
        case destinations(String?)
    }

    package enum RequestAction: Equatable, Sendable {
        case none
        case run(QueryStep)
        /// The flush is over: read its result.
        case endFlush(QueryStep, isComplete: Bool)
    }

    /// Notes that the query that has just begun takes more than one step or may have more than one reply.
    package mutating func requested(_ request: Request) -> RequestAction {
        guard case .query(let token, .single) = calls else {
            preconditionFailure("A request belongs to a query that has just begun")
        }
        switch request {
        case .job:
            calls = .query(token: token, .job)
            return .none
        case .pages(let parameters):
            calls = .query(token: token, .pages(parameters, .fetching))
            return .run(.page(parameters))
        case .following(let filter):
            calls = .query(token: token, .following(filter, row: 0, ChangePollGate()))
            return .run(Self.firstStep(filter, row: 0))
        case .awaiting(let parameters, let until):
            calls = .query(token: token, .awaiting(parameters, until: until, ChangePollGate()))
            return .run(.fates(parameters))
        case .flushing(let parameters, _, 0): return .endFlush(.destinations(parameters.destination), isComplete: true)
        case .flushing(let parameters, let until, let remaining):
            calls = .query(token: token, .flushing(parameters, until: until, remaining: remaining))
            return .none
        }
    }

    /// Returns the next step of a follower, whose first row may not be known yet.
    ///
    /// With `since`, existing records are sent first. Otherwise the client gets only records that are newer than the
    /// newest existing one.
    private static func firstStep(_ filter: IssueFilter, row: RowID) -> QueryStep {
        row == 0 && filter.since == nil ? .newest : .news(filter, row: row)
    }

    /// The token of the open query's reply; nil if there is no query.
    package var queryToken: UInt64? {
        if case .query(let token, _) = calls { token } else { nil }
    }

    /// Whether another thread prepares a reply. A reply in preparation counts as memory in use.
    package var hasJob: Bool {
        if case .query(_, let query) = calls { query.hasJob } else { false }
    }

    /// The part of a step's or job's result that determines the next action.
    package enum QueryResult: Equatable, Sendable {
        /// A complete reply or an error.
        case complete
        case progress
        /// - Parameter next: The start of the next page; nil if this is the last page.
        case page(next: String?)
        /// - Parameter row: The last row that the follower has seen with this result.
        case news(row: RowID, hasRecords: Bool)
        case fates(arePending: Bool)
    }

    package enum QueryAction: Equatable, Sendable {
        case none
        /// Send the reply as one of several.
        case send
        /// Send the reply as the last one, and call ``queryEnded()``.
        case finish
        /// Send an error as the last reply, because the client is no longer an operator, and call ``queryEnded()``.
        case deny
        /// Run the step again instead of sending the reply.
        case run(QueryStep)
    }

    /// Handles the result of a step of the open query.
    ///
    /// - Parameters:
    ///   - answer: The result.
    ///   - isOperator: `true` if the client is an operator now.
    ///   - isOutdated: `true` if the client's right to see records has changed since the step began. A query that
    ///     pages, follows or awaits then repeats the step.
    ///   - now: The current time.
    package mutating func answered(
        _ answer: QueryResult, isOperator: Bool, isOutdated: Bool, at now: MonotonicInstant
    ) -> QueryAction {
        guard case .query(let token, let query) = calls else { return .none }
        switch (answer, query) {
        case (.progress, .job): return isOperator ? .send : .none
        case (.progress, _): return .none
        case (_, .pages(let parameters, _)) where isOutdated: return .run(.page(parameters))
        case (_, .following(let filter, let row, _)) where isOutdated: return .run(Self.firstStep(filter, row: row))
        case (_, .awaiting(let parameters, _, _)) where isOutdated: return .run(.fates(parameters))
        case (.complete, .job): return isOperator ? .finish : .deny
        case (.complete, _): return .finish
        case (.page(let next?), .pages(var parameters, _)):
            parameters.after = next
            calls = .query(token: token, .pages(parameters, .unread))
            return .send
        case (.page, _): return .finish
        case (.news(let row, let hasRecords), .following(let filter, _, var gate)):
            gate.polled(mayBeMore: hasRecords)
            calls = .query(token: token, .following(filter, row: row, gate))
            return hasRecords ? .send : .none
        case (.fates(let arePending), .awaiting(let parameters, let until, var gate)):
            guard arePending, now < until else { return .finish }
            gate.polled(mayBeMore: false)
            let polls = gate.shouldPoll()
            calls = .query(token: token, .awaiting(parameters, until: until, gate))
            return polls ? .run(.fates(parameters)) : .none
        case (.news, _), (.fates, _): preconditionFailure("The result does not belong to the query")
        }
    }

    /// Ends the query, because its last reply was created or the query was abandoned.
    ///
    /// - Returns: The token of its reply; nil if there is no query.
    package mutating func queryEnded() -> UInt64? {
        guard case .query(let token, _) = calls else { return nil }
        calls = .reports(0)
        return token
    }

    /// Notes that records were stored, which a follower may have to receive.
    package mutating func recordsStored() {
        guard case .query(let token, .following(let filter, let row, var gate)) = calls else { return }
        gate.happened()
        calls = .query(token: token, .following(filter, row: row, gate))
    }

    /// Whether a follower has been sent all previous records and there may be new ones.
    package var wantsNews: Bool {
        guard case .query(_, .following(_, _, let gate)) = calls else { return false }
        return gate.isDue && output == .idle
    }

    /// Begins and returns the follower's next step; nil if no step is due.
    package mutating func pollNews() -> QueryStep? {
        guard wantsNews, case .query(let token, .following(let filter, let row, var gate)) = calls,
            gate.shouldPoll()
        else { return nil }
        calls = .query(token: token, .following(filter, row: row, gate))
        return .news(filter, row: row)
    }

    /// Notes that the fates of records have changed.
    ///
    /// - Returns: The step that reads the awaited fates; nil if none is due.
    package mutating func fatesChanged() -> QueryStep? {
        guard case .query(let token, .awaiting(let parameters, let until, var gate)) = calls else { return nil }
        gate.happened()
        let polls = gate.shouldPoll()
        calls = .query(token: token, .awaiting(parameters, until: until, gate))
        return polls ? .fates(parameters) : nil
    }

    /// Notes that one more destination has forwarded all pending records.
    ///
    /// - Parameter queryToken: The token of the query that asked for the flush. The query may have ended meanwhile.
    package mutating func flushed(queryToken: UInt64) -> RequestAction {
        guard case .query(queryToken, .flushing(let parameters, let until, let remaining)) = calls else {
            return .none
        }
        guard remaining <= 1 else {
            calls = .query(token: queryToken, .flushing(parameters, until: until, remaining: remaining - 1))
            return .none
        }
        calls = .query(token: queryToken, .single)
        return .endFlush(.destinations(parameters.destination), isComplete: true)
    }

    /// Whether a flush is under way.
    package var isFlushing: Bool {
        if case .query(_, .flushing) = calls { true } else { false }
    }

    /// The last reply to a long-running query that must end early.
    package enum EarlyReply: Equatable, Sendable {
        /// No such query is open.
        case none
        /// A page without records.
        case noRecords
        /// The client may repeat the query.
        case busy
    }

    /// The last reply to the query if the daemon stops or needs the connection's memory.
    package var earlyReply: EarlyReply {
        switch calls {
        case .reports, .query(_, .single): .none
        case .query(_, .pages), .query(_, .following): .noRecords
        case .query(_, .awaiting), .query(_, .flushing), .query(_, .job): .busy
        }
    }
}
