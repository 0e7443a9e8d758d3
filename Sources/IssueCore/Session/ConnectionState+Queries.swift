package import IssueProtocol

extension ConnectionState {
    /// The progress of a query. Every call except `Report` is a query.
    enum QueryState: Equatable, Sendable {
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
        /// Waits until no awaited fate of the record is pending, or until a time.
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

/// Decides when a subscriber's query is repeated.
///
/// Only one query runs at a time. All changes that occur while it runs cause a single further query.
package struct ChangePollGate: Equatable, Sendable {
    /// Whether a query is running.
    package private(set) var isPolling = true
    /// Whether there may be results that the last query did not see.
    private var hasChanges = false

    /// Creates the state of a subscription whose first query has begun.
    package init() {}

    /// Handles a change that may affect the results.
    package mutating func happened() { hasChanges = true }

    /// Handles the end of a query.
    ///
    /// - Parameter mayBeMore: `true` if the next query may find more results even if nothing changes until then.
    package mutating func polled(mayBeMore: Bool) {
        isPolling = false
        if mayBeMore { hasChanges = true }
    }

    /// Whether the next query may begin now.
    package var isDue: Bool { hasChanges && !isPolling }

    /// Returns `true` if a query is due, and counts it as running. Call this only if its results can be sent.
    package mutating func shouldPoll() -> Bool {
        guard isDue else { return false }
        hasChanges = false
        isPolling = true
        return true
    }
}
