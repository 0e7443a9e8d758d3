import IssueCore
import IssueProtocol
import Testing

@Suite("The state of a connection")
struct ConnectionStateTests {
    typealias State = ConnectionState

    static let timeouts = State.Timeouts(read: .seconds(30), write: .seconds(20))
    private let message = 3..<17

    private func time(_ seconds: Int) -> MonotonicInstant { MonotonicInstant(sinceBoot: .seconds(seconds)) }

    /// Returns a connection with this number of reports under way.
    private func reporting(_ count: Int) -> State {
        var state = State()
        state.reportsBegan(count)
        return state
    }

    /// Returns a connection with a query under way, and the step that it needs.
    private func asking(_ request: State.Request? = nil, token: UInt64 = 7) -> (state: State, State.RequestAction) {
        var state = State()
        #expect(state.queryArrived(message, token: token) == .begin)
        guard let request else { return (state, .none) }
        let action = state.requested(request)
        return (state, action)
    }

    private func answer(_ state: inout State, _ answer: State.QueryResult, at seconds: Int = 0)
        -> State.QueryAction
    {
        state.answered(answer, isOperator: true, isOutdated: false, at: time(seconds))
    }

    private var closed: State {
        var state = State()
        _ = state.closed()
        return state
    }

    // MARK: The order of calls

    @Test("Reports are pipelined")
    func pipelines() {
        var state = State()
        #expect(state.mayReport)
        state.reportsBegan(2)
        #expect(state.mayReport)
        state.reportsBegan(1)
        #expect(state.openReports == 3)
        #expect(state.reportsAnswered(2) == .none)
        #expect(!state.isDone)
        #expect(state.reportsAnswered(1) == .none)
        #expect(state.isDone)
    }

    @Test("A query waits until all earlier reports are answered, so that clients see what they reported")
    func holdsQuery() {
        var state = reporting(2)
        #expect(state.queryArrived(message, token: 7) == .hold)
        #expect(state.held == message)
        #expect(!state.mayReceive)
        #expect(state.reportsAnswered(1) == .none)
        #expect(state.reportsAnswered(1) == .resume)
        #expect(state.takeHeld() == message)
        #expect(state.mayReceive)
        #expect(state.queryArrived(message, token: 7) == .begin)
        #expect(state.queryToken == 7)
        #expect(state.hasJob)
    }

    @Test("Every call waits behind a query until the query's last reply")
    func holdsBehindQuery() {
        var (state, _) = asking()
        #expect(!state.mayReport)
        #expect(state.queryArrived(message, token: 8) == .hold)
        #expect(state.takeHeld() == message)
        state.hold(message)
        #expect(state.held == message)
        #expect(state.openReports == 0)
        #expect(state.queryEnded() == 7)
        #expect(state.queryToken == nil)
        #expect(state.queryEnded() == nil)
        #expect(state.takeHeld() == message)
        #expect(state.takeHeld() == nil)
        #expect(state.mayReport)
    }

    @Test("The range of a held message moves with the received bytes")
    func moves() {
        var (state, _) = asking()
        state.hold(message)
        state.moved(by: 3)
        #expect(state.held == 0..<14)
        var other = State()
        other.moved(by: 3)
        #expect(other == State())
    }

    @Test("After the end of receiving, nothing begins, and what has begun is answered")
    func drains() {
        var state = reporting(1)
        state.throttled()
        #expect(state.drain() == .enqueue, "The end of the round closes the connection if all is answered by then")
        #expect(state.drain() == .none)
        #expect(!state.isOpen && !state.isClosed && !state.mayReceive && !state.mayReport && !state.isThrottled)
        #expect(state.queryArrived(message, token: 1) == .drop)
        state.hold(message)
        #expect(state.held == nil)
        state.receivedPart(at: time(1))
        #expect(state.partialSince == nil)
        #expect(state.reportsAnswered(1) == .none)
        #expect(state.sent() == .close)
    }

    @Test("A held call is dropped when receiving ends")
    func dropsHeld() {
        var state = reporting(1)
        #expect(state.queryArrived(message, token: 1) == .hold)
        _ = state.drain()
        #expect(state.held == nil)
        #expect(state.reportsAnswered(1) == .none)
    }

    @Test("Closing a connection returns the number of its reports that are still being stored")
    func closes() {
        var state = reporting(3)
        #expect(state.closed() == 3)
        #expect(state == closed)
        var (querying, _) = asking()
        #expect(querying.closed() == 0)
        #expect(querying == closed)
    }

    // MARK: Messages that arrive in parts

    @Test("The timeout of a message starts with its first byte")
    func partial() {
        var state = State()
        #expect(state.deadline(Self.timeouts) == nil)
        state.receivedPart(at: time(5))
        state.receivedPart(at: time(6))
        #expect(state.partialSince == time(5))
        #expect(state.deadline(Self.timeouts) == time(35))
        state.receivedMessage()
        #expect(state.partialSince == nil)
        state.receivedPart(at: time(7))
        #expect(state.partialSince == time(7))
        state.reportsBegan(1)
        #expect(state.partialSince == nil)
    }

    @Test("Only a message that was recognised as a report may be larger than a query")
    func recognises() {
        var state = State()
        state.recognisedReport()
        #expect(!state.isReceivingReport)
        state.receivedPart(at: time(0))
        #expect(!state.isReceivingReport)
        state.recognisedReport()
        state.receivedPart(at: time(1))
        #expect(state.isReceivingReport && state.partialSince == time(0))
        state.receivedMessage()
        state.receivedPart(at: time(2))
        #expect(!state.isReceivingReport)
    }

    @Test(
        "A message that stays incomplete ends the connection, unless throttling keeps the daemon from reading the rest"
    )
    func readTimeout() {
        var state = State()
        state.receivedPart(at: time(0))
        #expect(state.deadlineReached(at: time(29), Self.timeouts, hasUnreadBytes: false) == .none)
        #expect(state.deadlineReached(at: time(30), Self.timeouts, hasUnreadBytes: true) == .close)
        state.throttled()
        #expect(state.deadlineReached(at: time(30), Self.timeouts, hasUnreadBytes: false) == .close)
        #expect(state.deadlineReached(at: time(30), Self.timeouts, hasUnreadBytes: true) == .none)
        #expect(state.partialSince == time(30) && state.isThrottled)
    }

    // MARK: The poller

    @Test("A connection is watched for reading unless it holds a message, is throttled or drains")
    func watchesReading() {
        var state = reporting(1)
        #expect(state.watch() == .none)
        #expect(state.queryArrived(message, token: 1) == .hold)
        #expect(state.watch() == .modify([]))
        #expect(state.watch() == .none)
        _ = state.takeHeld()
        #expect(state.watch() == .modify(.reading))
        state.throttled()
        #expect(state.isThrottled && state.mayReceive)
        #expect(state.watch() == .modify([]))
        state.resumed()
        #expect(state.watch() == .modify(.reading))
        _ = state.drain()
        #expect(state.watch() == .modify([]))
    }

    @Test("A connection is watched for writing while the client does not read")
    func watchesWriting() {
        var state = State()
        #expect(state.queued() == .enqueue)
        #expect(state.queued() == .none)
        #expect(state.watch() == .none)
        state.stalled(at: time(1))
        #expect(state.watch() == .modify([.reading, .writing]))
        #expect(state.queued() == .enqueue)
        #expect(state.watch() == .none)
        #expect(state.sent() == .releaseMemory)
        #expect(state.watch() == .modify(.reading))
    }

    @Test("A connection that has hung up leaves the poller while nothing is read or sent, and comes back")
    func detaches() {
        var state = State()
        #expect(state.hungUp() == .none, "What it has sent must be read")
        state.throttled()
        #expect(state.watch() == .modify([]))
        #expect(state.hungUp() == .detach)
        #expect(state.hungUp() == .none)
        #expect(state.watch() == .none)
        state.resumed()
        #expect(state.watch() == .add(.reading))

        var holding = reporting(1)
        _ = holding.queryArrived(message, token: 1)
        #expect(holding.hungUp() == .detach)
        #expect(holding.reportsAnswered(1) == .resume)
        _ = holding.takeHeld()
        _ = holding.queryArrived(message, token: 1)
        #expect(holding.watch() == .add(.reading))

        var (querying, _) = asking()
        querying.throttled()
        #expect(querying.hungUp() == .none, "The query is given up first")

        var behind = State()
        behind.throttled()
        #expect(behind.hungUp() == .detach)
        behind.resumed()
        _ = behind.queryArrived(message, token: 1)
        behind.hold(message)
        #expect(behind.watch() == .add([]), "The poller reports the hang-up, which ends the query")
    }

    @Test("A connection that has hung up and only waits for replies comes back to the poller to send them")
    func detachesDraining() {
        var state = reporting(1)
        _ = state.drain()
        #expect(state.hungUp() == .detach)
        #expect(state.watch() == .none)
        _ = state.queued()
        state.stalled(at: time(0))
        #expect(state.hungUp() == .none)
        #expect(state.watch() == .add(.writing))
        #expect(state.hungUp() == .none, "The poller reports when the replies can be sent")
    }

    // MARK: Sending

    @Test("The write timeout starts when the client stops reading, and anew after it has read something")
    func writeTimeout() {
        var state = State()
        _ = state.queued()
        #expect(state.stalledSince == nil)
        state.stalled(at: time(10))
        _ = state.queued()
        #expect(state.stalledSince == time(10))
        state.stalled(at: time(15))
        #expect(state.stalledSince == time(10))
        _ = state.queued()
        state.sentPart()
        state.stalled(at: time(16))
        #expect(state.deadline(Self.timeouts) == time(36))
        #expect(state.deadlineReached(at: time(35), Self.timeouts, hasUnreadBytes: false) == .none)
        #expect(state.deadlineReached(at: time(36), Self.timeouts, hasUnreadBytes: false) == .close)
        state.receivedPart(at: time(1))
        #expect(state.deadline(Self.timeouts) == time(31))
    }

    @Test("An idle connection releases memory once all is sent, and a busy one does not")
    func sent() {
        var state = reporting(1)
        _ = state.queued()
        #expect(state.sent() == .none)
        _ = state.reportsAnswered(1)
        #expect(state.sent() == .releaseMemory)
        var (querying, _) = asking()
        #expect(querying.sent() == .none)
    }

    // MARK: Closing for others

    @Test("Idle connections are the first to be closed for others, and those that are being answered the last")
    func worth() {
        #expect(State().worth == .idle)
        for change: (inout State) -> Void in [
            { $0.throttled() }, { $0.receivedPart(at: MonotonicInstant(sinceBoot: .zero)) }, { _ = $0.queued() },
            { $0.stalled(at: MonotonicInstant(sinceBoot: .zero)) }, { _ = $0.drain() },
        ] {
            var state = State()
            change(&state)
            #expect(state.worth == .resumable)
        }
        #expect(reporting(1).worth == .answering)
        #expect(asking().state.worth == .answering)
        #expect(asking(.job).state.worth == .answering)
        #expect(asking(.flushing(FlushParameters(), until: time(1), remaining: 1)).state.worth == .answering)
        #expect(asking(.pages(RecordsParameters())).state.worth == .resumable)
        #expect(asking(.following(IssueFilter())).state.worth == .resumable)
        #expect(asking(.awaiting(AwaitParameters(id: "a"), until: time(1))).state.worth == .resumable)
        #expect(State.Worth.idle < .resumable && .resumable < State.Worth.answering)
    }

    @Test("Queries that could last long can be ended early, with a page without records or with Busy")
    func earlyReply() {
        #expect(reporting(1).earlyReply == .none)
        #expect(asking().state.earlyReply == .none)
        #expect(asking(.pages(RecordsParameters())).state.earlyReply == .noRecords)
        #expect(asking(.following(IssueFilter())).state.earlyReply == .noRecords)
        #expect(asking(.awaiting(AwaitParameters(id: "a"), until: time(1))).state.earlyReply == .busy)
        #expect(asking(.job).state.earlyReply == .busy)
        let flush = State.Request.flushing(FlushParameters(), until: time(1), remaining: 1)
        #expect(asking(flush).state.earlyReply == .busy)
        #expect(asking(flush).state.isFlushing && !asking().state.isFlushing)
    }

    // MARK: Queries

    @Test("A query with one reply ends with it")
    func single() {
        var (state, _) = asking()
        #expect(answer(&state, .progress) == .none)
        #expect(answer(&state, .complete) == .finish)
        #expect(state.queryEnded() == 7)
        #expect(answer(&state, .complete) == .none)
        var (listed, _) = asking()
        #expect(answer(&listed, .page(next: "b")) == .finish, "Without `more`, one page is the whole reply")
    }

    @Test("A job reports its progress and its result to operators only")
    func job() {
        var (state, action) = asking(.job)
        #expect(action == .none)
        #expect(answer(&state, .progress) == .send)
        #expect(state.answered(.progress, isOperator: false, isOutdated: true, at: time(0)) == .none)
        #expect(state.answered(.complete, isOperator: false, isOutdated: true, at: time(0)) == .deny)
        #expect(answer(&state, .complete) == .finish)
    }

    @Test("The next page is fetched when the client has read the previous one")
    func pages() {
        var (state, action) = asking(.pages(RecordsParameters(limit: 5)))
        #expect(action == .run(.page(RecordsParameters(limit: 5))))
        #expect(state.sent() == .none, "A page is being fetched")
        #expect(answer(&state, .page(next: "b")) == .send)
        #expect(!state.hasJob)
        #expect(state.sent() == .run(.page(RecordsParameters(limit: 5, after: "b"))))
        #expect(state.hasJob)
        #expect(answer(&state, .page(next: nil)) == .finish)
    }

    @Test("A follower without a time gets records after the newest row, and one with a time also those since that time")
    func followsFrom() {
        #expect(asking(.following(IssueFilter())).1 == .run(.newest))
        var filter = IssueFilter()
        filter.since = IssueTimestamp(millisecondsSince1970: 5)
        #expect(asking(.following(filter)).1 == .run(.news(filter, row: 0)))
    }

    @Test("A follower's step is repeated when records were stored and the previous ones were read")
    func follows() {
        let filter = IssueFilter()
        var (state, _) = asking(.following(filter))
        state.recordsStored()
        #expect(!state.wantsNews, "A step is running")
        #expect(answer(&state, .news(row: 4, hasRecords: false)) == .none)
        #expect(state.wantsNews)
        #expect(state.pollNews() == .news(filter, row: 4))
        #expect(state.pollNews() == nil)
        #expect(answer(&state, .news(row: 9, hasRecords: true)) == .send)
        _ = state.queued()
        #expect(!state.wantsNews, "The client has not read the records")
        #expect(state.sent() == .pollNews)
        #expect(state.pollNews() == .news(filter, row: 9))
        #expect(answer(&state, .news(row: 9, hasRecords: false)) == .none)
        #expect(state.sent() == .none)
        #expect(!state.hasJob && state.queryToken == 7)
        var other = State()
        other.recordsStored()
        #expect(other == State() && other.pollNews() == nil)
    }

    @Test("An awaited record is looked up when fates change, until none is pending or the time is over")
    func awaits() {
        let parameters = AwaitParameters(id: "a")
        var (state, action) = asking(.awaiting(parameters, until: time(60)))
        #expect(action == .run(.fates(parameters)))
        #expect(state.deadline(Self.timeouts) == nil, "The answer to the running step decides")
        #expect(answer(&state, .fates(arePending: true), at: 1) == .none)
        #expect(state.deadline(Self.timeouts) == time(60))
        #expect(state.fatesChanged() == .fates(parameters))
        #expect(state.fatesChanged() == nil)
        #expect(answer(&state, .fates(arePending: true), at: 2) == .run(.fates(parameters)))
        #expect(answer(&state, .fates(arePending: true), at: 3) == .none)
        #expect(state.deadlineReached(at: time(59), Self.timeouts, hasUnreadBytes: false) == .none)
        #expect(state.deadlineReached(at: time(60), Self.timeouts, hasUnreadBytes: false) == .run(.fates(parameters)))
        #expect(answer(&state, .fates(arePending: true), at: 60) == .finish)

        var (settled, _) = asking(.awaiting(parameters, until: time(60)))
        #expect(answer(&settled, .fates(arePending: false)) == .finish)
        var idle = State()
        #expect(idle.fatesChanged() == nil)
    }

    @Test("A flush ends when all destinations have forwarded what was pending, or at its timeout")
    func flushes() {
        let parameters = FlushParameters(destination: "logz")
        func flush(_ count: Int) -> State.Request { .flushing(parameters, until: time(9), remaining: count) }
        let end = State.QueryStep.destinations("logz")
        #expect(asking(flush(0)).1 == .endFlush(end, isComplete: true))
        var (state, action) = asking(flush(2))
        #expect(action == .none && !state.hasJob)
        let token = state.queryToken ?? 0
        #expect(state.flushed(queryToken: token) == .none)
        // A token of another query, such as an earlier flush that has reached its timeout, changes nothing.
        #expect(state.flushed(queryToken: token + 1) == .none)
        #expect(state.flushed(queryToken: token) == .endFlush(end, isComplete: true))
        #expect(state.flushed(queryToken: token) == .none)
        #expect(answer(&state, .complete) == .finish)

        var (late, _) = asking(flush(1))
        #expect(late.deadline(Self.timeouts) == time(9))
        #expect(
            late.deadlineReached(at: time(9), Self.timeouts, hasUnreadBytes: false) == .endFlush(end, isComplete: false)
        )
        #expect(late.flushed(queryToken: late.queryToken ?? 0) == .none && late.hasJob)
    }

    @Test("A step is repeated if the client may see other records than when it began")
    func outdated() {
        func outdated(_ request: State.Request, _ answer: State.QueryResult) -> State.QueryAction {
            var (state, _) = asking(request)
            return state.answered(answer, isOperator: false, isOutdated: true, at: time(0))
        }
        let filter = IssueFilter()
        let parameters = AwaitParameters(id: "a")
        #expect(outdated(.pages(RecordsParameters()), .page(next: "b")) == .run(.page(RecordsParameters())))
        #expect(outdated(.following(filter), .news(row: 4, hasRecords: true)) == .run(.newest))
        #expect(
            outdated(.awaiting(parameters, until: time(1)), .fates(arePending: false)) == .run(.fates(parameters)))
        var (following, _) = asking(.following(filter))
        #expect(answer(&following, .news(row: 4, hasRecords: false)) == .none)
        following.recordsStored()
        _ = following.pollNews()
        #expect(
            following.answered(.news(row: 6, hasRecords: true), isOperator: false, isOutdated: true, at: time(0))
                == .run(.news(filter, row: 4)))
        var (single, _) = asking()
        #expect(single.answered(.complete, isOperator: false, isOutdated: true, at: time(0)) == .finish)
    }

    // MARK: Closed connections

    @Test("Nothing happens on a closed connection")
    func staysClosed() {
        let now = time(99)
        let actions: [(inout State) -> Bool] = [
            { $0.takeHeld() == nil }, { $0.queryArrived(0..<1, token: 1) == .drop }, { $0.drain() == .none },
            { $0.watch() == .none }, { $0.hungUp() == .none }, { $0.queued() == .none }, { $0.sent() == .none },
            { $0.deadline(Self.timeouts) == nil },
            { $0.deadlineReached(at: now, Self.timeouts, hasUnreadBytes: false) == .none },
            { $0.answered(.complete, isOperator: true, isOutdated: false, at: now) == .none },
            { $0.queryEnded() == nil }, { $0.flushed(queryToken: 1) == .none }, { $0.fatesChanged() == nil },
            { $0.pollNews() == nil }, { $0.closed() == 0 }, { !$0.mayReport && !$0.mayReceive && !$0.hasJob },
        ]
        let changes: [(inout State) -> Void] = [
            { $0.hold(0..<1) }, { $0.moved(by: 1) }, { $0.receivedPart(at: now) }, { $0.recognisedReport() },
            { $0.receivedMessage() }, { $0.throttled() }, { $0.resumed() }, { $0.sentPart() },
            { $0.stalled(at: now) }, { $0.recordsStored() },
        ]
        for action in actions {
            var state = closed
            #expect(action(&state))
            #expect(state == closed)
        }
        for change in changes {
            var state = closed
            change(&state)
            #expect(state == closed)
        }
    }
}
