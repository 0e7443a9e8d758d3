import IssueCore
import IssueProtocol
import Testing

@Suite("The state of a connection under random events")
struct ConnectionStatePropertyTests {
    @Test(
        "Calls begin and end in order, none begins after the end, and each open connection has an event to wait for",
        arguments: 0..<500 as Range<UInt64>)
    func randomEvents(seed: UInt64) throws {
        var run = ConnectionRun(seed: seed)
        for _ in 0..<200 where !run.state.isClosed {
            run.step()
            let fault = run.fault
            try #require(fault == nil, "seed \(seed): \(fault ?? "")")
        }
        run.settle()
        let fault = run.fault ?? run.faultAtRest
        try #require(fault == nil, "seed \(seed), at rest: \(fault ?? "")")
    }

    @Test("The random events reach every kind of query, throttling, hang-ups and draining")
    func coverage() {
        var reached: Set<String> = []
        for seed in 0..<500 as Range<UInt64> {
            var run = ConnectionRun(seed: seed)
            for _ in 0..<200 where !run.state.isClosed { run.step() }
            reached.formUnion(run.reached)
        }
        let all = [
            "single", "job", "pages", "following", "awaiting", "flushing", "held", "throttled", "detached", "attached",
            "drained", "stalled", "timeout", "closed",
        ]
        #expect(all.filter { !reached.contains($0) } == [])
    }
}

/// Performs the actions of a connection's state as the socket thread does, and keeps a simple model of what is under
/// way. Events are random, but only those that can happen.
private struct ConnectionRun {
    private(set) var state = ConnectionState()
    private(set) var reached: Set<String> = []
    /// The first rule that was broken; nil if none was.
    private(set) var fault: String?

    private var chance: SeededGenerator
    private var now = MonotonicInstant(sinceBoot: .seconds(1))

    // The model.
    private var reports = 0
    private var query: UInt64?
    /// The number of steps and jobs that other threads have not answered yet.
    private var jobs = 0
    private var kind = ""
    private var lastToken: UInt64 = 0
    /// Complete messages that were received but not examined; `true` for a report.
    private var received: [Bool] = []
    private var held: Bool?
    private var unsent = 0
    private var isQueued = false
    private var isThrottled = false
    private var hasEnded = false
    private var hasHungUp = false
    /// The events that the poller reports; nil if the connection is not in it.
    private var events: ConnectionState.Events? = .reading

    private static let timeouts = ConnectionState.Timeouts(read: .seconds(30), write: .seconds(30))
    private static let messagePosition = 0..<10

    init(seed: UInt64) {
        chance = SeededGenerator(seed: seed)
    }

    private mutating func check(_ holds: Bool, _ rule: String) {
        if !holds, fault == nil { fault = rule }
    }

    // MARK: Events

    /// Lets one random event happen, and ends the round of the loop.
    mutating func step() {
        now = now.advanced(by: .milliseconds(chance.number(below: 3000)))
        switch chance.number(below: 14) {
        case 0...3: readable()
        case 4: if reports > 0 { answerReports(1 + Int(chance.number(below: Int64(reports)))) }
        case 5, 6: if jobs > 0 { answerQuery() }
        case 7:
            state.recordsStored()
            pollNews()
        case 8: if let step = state.fatesChanged() { run(step) }
        case 9: perform(state.flushed(queryToken: state.queryToken ?? 0))
        case 10: if events?.contains(.writing) == true { queue() }
        case 11: resume()
        case 12: deadline()
        default: rareEvent()
        }
        endRound()
        checkRules()
    }

    private mutating func rareEvent() {
        switch chance.number(below: 6) {
        case 0:
            // The client ends its side, which is noticed only if the poller reports it.
            if events?.contains(.reading) == true, received.isEmpty {
                drain()
            }
        case 1: hasHungUp = true
        case 2 where chance.happens(oneIn: 4): drain()
        case 3: now = now.advanced(by: .seconds(40))
        default: break
        }
    }

    private mutating func readable() {
        guard events?.contains(.reading) == true, state.mayReceive, received.isEmpty, !hasHungUp else { return }
        received = (0..<chance.number(below: 4)).map { _ in !chance.happens(oneIn: 3) }
        process()
    }

    private mutating func process() {
        while state.isOpen {
            guard !chance.happens(oneIn: 8) else {
                state.throttled()
                isThrottled = true
                reached.insert("throttled")
                break
            }
            guard let isReport = held ?? received.first else { break }
            if held != nil {
                check(state.takeHeld() == Self.messagePosition, "A held message stays held until it is examined again")
                held = nil
            } else {
                received.removeFirst()
            }
            guard isReport ? beginReport() : beginQuery() else { break }
        }
        if state.isOpen, received.isEmpty, state.mayReceive {
            if chance.happens(oneIn: 3) { state.receivedPart(at: now) } else { state.receivedMessage() }
        }
        watch()
    }

    private mutating func beginReport() -> Bool {
        guard state.mayReport else {
            hold(true)
            state.hold(Self.messagePosition)
            return false
        }
        check(query == nil && !hasEnded, "A report begins only if no query is under way, and not after the end")
        state.reportsBegan(1)
        reports += 1
        return true
    }

    private mutating func beginQuery() -> Bool {
        switch state.queryArrived(Self.messagePosition, token: lastToken + 1) {
        case .begin:
            check(query == nil && reports == 0 && !hasEnded, "A query begins alone, and not after the end")
            lastToken += 1
            query = lastToken
            jobs = 0
            chooseQuery()
            return true
        case .hold:
            hold(false)
            return false
        case .drop:
            check(false, "Nothing is dropped while the connection is open")
            return false
        }
    }

    private mutating func hold(_ isReport: Bool) {
        check(query != nil || (!isReport && reports > 0), "A call waits only for other calls")
        held = isReport
        reached.insert("held")
    }

    private mutating func chooseQuery() {
        let until = now.advanced(by: .seconds(5))
        switch chance.number(below: 7) {
        case 0: finish()
        case 1: request("job", .job, jobs: 1)
        case 2: request("pages", .pages(RecordsParameters()))
        case 3: request("following", .following(IssueFilter()))
        case 4: request("awaiting", .awaiting(AwaitParameters(id: "a"), until: until))
        case 5:
            let count = Int(chance.number(below: 3))
            request("flushing", .flushing(FlushParameters(), until: until, remaining: count))
        default: (kind, jobs) = ("single", 1)
        }
        if query != nil { reached.insert(kind) }
    }

    private mutating func request(_ kind: String, _ request: ConnectionState.Request, jobs: Int = 0) {
        (self.kind, self.jobs) = (kind, jobs)
        perform(state.requested(request))
    }

    private mutating func perform(_ action: ConnectionState.RequestAction) {
        switch action {
        case .none: break
        case .run(let step): run(step)
        case .endFlush(let step, _):
            check(kind == "flushing", "Only a flush ends as one")
            kind = "single"
            run(step)
        }
    }

    private mutating func run(_ step: ConnectionState.QueryStep) {
        check(query != nil && !state.isClosed, "A step belongs to a query")
        check(jobs == 0, "A query has one step at a time")
        jobs += 1
    }

    private mutating func pollNews() {
        guard state.wantsNews else { return }
        guard !chance.happens(oneIn: 8) else {
            state.throttled()
            isThrottled = true
            return watch()
        }
        if let step = state.pollNews() {
            run(step)
        } else {
            check(false, "A follower who wants news gets them")
        }
    }

    private mutating func answerReports(_ count: Int) {
        reports -= count
        unsent += count
        let action = state.reportsAnswered(count)
        check(
            (action == .resume) == (reports == 0 && held != nil && !hasEnded), "A held call continues after the reports"
        )
        queue()
        if action == .resume { process() }
    }

    private mutating func answerQuery() {
        let isProgress = kind == "job" && chance.happens(oneIn: 3)
        let answer: ConnectionState.QueryResult =
            switch kind {
            case "pages": .page(next: chance.happens(oneIn: 3) ? nil : "b")
            case "following": .news(row: 5, hasRecords: chance.happens(oneIn: 2))
            case "awaiting": .fates(arePending: !chance.happens(oneIn: 4))
            default: isProgress ? .progress : .complete
            }
        if !isProgress { jobs -= 1 }
        queue()
        let isOutdated = chance.happens(oneIn: 10)
        switch state.answered(answer, isOperator: !chance.happens(oneIn: 10), isOutdated: isOutdated, at: now) {
        case .none: break
        case .send: unsent += 1
        case .finish, .deny: finish()
        case .run(let step): run(step)
        }
        if query == nil, held != nil || !received.isEmpty { process() }
    }

    private mutating func finish() {
        check(state.queryEnded() == query, "The reply belongs to the query")
        unsent += 1
        (query, jobs, kind) = (nil, 0, "")
        queue()
    }

    private mutating func resume() {
        guard isThrottled else { return }
        isThrottled = false
        state.resumed()
        process()
        pollNews()
    }

    private mutating func deadline() {
        guard let due = state.deadline(Self.timeouts), due <= now else { return }
        reached.insert("timeout")
        switch state.deadlineReached(at: now, Self.timeouts, hasUnreadBytes: chance.happens(oneIn: 2)) {
        case .none: break
        case .close: close()
        case .run(let step): run(step)
        case .endFlush(let step, let isComplete): perform(.endFlush(step, isComplete: isComplete))
        }
    }

    private mutating func drain() {
        hasEnded = true
        (received, held) = ([], nil)
        if state.drain() == .enqueue { isQueued = true }
        reached.insert("drained")
        watch()
    }

    private mutating func close() {
        check(state.closed() == reports, "The reports that are still being stored are known")
        (reports, query, jobs, isQueued, isThrottled, events) = (0, nil, 0, false, false, nil)
        (received, held) = ([], nil)
        hasEnded = true
        reached.insert("closed")
    }

    // MARK: The loop

    private mutating func queue() {
        switch state.queued() {
        case .enqueue:
            check(!isQueued, "A connection is queued once")
            isQueued = true
        case .none: check(isQueued, "What is queued is sent in this round")
        }
    }

    /// The poller reports a hang-up in every round, as long as the connection is in it.
    private mutating func endRound() {
        if hasHungUp, events != nil, !state.isClosed {
            queue()
            if state.mayReceive, received.isEmpty { return close() }
            if query != nil {
                finish()
                if held != nil || !received.isEmpty { process() }
            }
            if state.hungUp() == .detach {
                check(query == nil, "The query of a client that is gone is given up")
                events = nil
                reached.insert("detached")
            }
        }
        if isQueued { send() }
    }

    private mutating func send() {
        isQueued = false
        if unsent > 0 {
            if hasHungUp { return close() }
            if chance.happens(oneIn: 3) {
                unsent -= 1
                state.sentPart()
            }
            if unsent > 0, chance.happens(oneIn: 4) {
                state.stalled(at: now)
                reached.insert("stalled")
                return watch()
            }
            unsent = 0
        }
        switch state.sent() {
        case .close: return close()
        case .releaseMemory: check(query == nil && reports == 0, "Memory is needed while calls are under way")
        case .run(let step): run(step)
        case .pollNews: pollNews()
        case .none: check(query != nil || reports > 0, "A connection without calls is idle or closed")
        }
        watch()
    }

    private mutating func watch() {
        switch state.watch() {
        case .none: break
        case .modify(let wanted):
            check(events != nil, "Only a connection in the poller is changed")
            events = wanted
        case .add(let wanted):
            check(events == nil, "Only a connection out of the poller is added")
            events = wanted
            reached.insert("attached")
        }
    }

    // MARK: Rules

    private mutating func checkRules() {
        guard !state.isClosed else { return }
        check(state.openReports == reports, "Reports answered and under way equal those begun")
        check(state.queryToken == query, "There is one query at most")
        check(reports == 0 || query == nil, "Reports and a query are never under way together")
        check((state.held != nil) == (held != nil), "A call is held until it is examined again")
        check(held == nil || query != nil || reports > 0 || isThrottled, "A call is held only while it must wait")
        check(state.hasJob == (jobs > 0), "A query with a step or job waits for it")
        check(!isQueued, "What was queued was sent")
        check(unsent == 0 || events?.contains(.writing) == true || hasHungUp, "Unread replies are sent later")
        if state.isOpen {
            check(
                events?.contains(.reading) == true || isThrottled || held != nil,
                "An open connection is read, throttled or holds a call")
            check(!state.isThrottled || isThrottled, "A throttled connection is resumed")
        } else {
            check(reports > 0 || query != nil || unsent > 0, "A connection that is done is closed")
        }
        check(query == nil || events != nil, "A query is given up when its client hangs up")
        if query != nil, jobs == 0, kind != "following" {
            check(
                unsent > 0 || state.deadline(Self.timeouts) != nil,
                "A query waits for a step, a reader or a deadline")
        }
        check(state.isDone == (reports == 0 && query == nil && unsent == 0), "A connection is done without calls")
    }

    /// Lets everything that is under way end, while the client sends nothing else.
    mutating func settle() {
        for _ in 0..<1000 where !state.isClosed && !isAtRest {
            if reports > 0 {
                answerReports(reports)
            } else if jobs > 0 {
                answerQuery()
            } else if isThrottled {
                resume()
            } else if unsent > 0 {
                queue()
            } else {
                now = state.deadline(Self.timeouts) ?? now
                deadline()
            }
            endRound()
            checkRules()
        }
    }

    private var isAtRest: Bool {
        let isFollowing = kind == "following" && jobs == 0
        return reports == 0 && (query == nil || isFollowing) && unsent == 0 && !isThrottled
            && (held == nil || isFollowing) && state.deadline(Self.timeouts) == nil
    }

    /// The rule that is broken although nothing is under way; nil if none is.
    var faultAtRest: String? {
        if state.isClosed { return nil }
        if !isAtRest { return "The connection never comes to rest" }
        if !state.isOpen, query == nil { return "A connection that is done is closed" }
        if hasHungUp { return "A connection that has hung up is closed" }
        if query == nil, state.worth != .idle { return "A connection without calls is idle" }
        return nil
    }
}
