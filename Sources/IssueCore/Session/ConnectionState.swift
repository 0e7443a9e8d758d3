import IssueProtocol

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
    enum Calls: Equatable, Sendable {
        case reports(Int)
        case query(token: UInt64, QueryState)
    }

    /// The replies to the client.
    enum Output: Equatable, Sendable {
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
    var calls = Calls.reports(0)
    private(set) var output = Output.idle
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
