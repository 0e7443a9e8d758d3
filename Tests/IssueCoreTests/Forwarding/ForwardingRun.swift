import IssueCore
import IssueProtocol

/// Runs a forwarder in simulated time, with a store of line numbers and a configurable destination.
struct ForwardingRun {
    enum ServerBehaviour: Equatable {
        case takes
        case refuses
        case silent
        case answers(FailureClass)
        /// It responds, but only after this many seconds.
        case slow(Double)
    }

    struct Request: Equatable {
        var begun: Double
        var ended: Double
        var lines: Int
        var isPriority: Bool
        var isTaken: Bool
        /// Whether the request had the full timeout.
        var isInFull: Bool
        /// Whether the daemon would log after the response that records are accepted again.
        var looksHealthy = false
    }

    /// A line that arrives at a certain time, even if a request is in flight then.
    struct Arrival {
        var at: Double
        var isPriority = true
        var isUnanswerable = false
    }

    private(set) var forwarding: Forwarding
    private(set) var now = 0.0
    private(set) var requests: [Request] = []
    private(set) var delivered = 0
    private(set) var possibleDuplicates = 0
    private(set) var dead = 0
    /// The numbers of the lines that are always refused. Lines are numbered from 0, in the order of their arrival.
    var poison: Set<Int> = []
    /// The numbers of the lines after which the destination closes the connection without a response.
    var unanswerable: Set<Int> = []
    /// Whether all lines in `unanswerable` are known to belong to one user, and all others to another.
    var areUsersKnown = false
    var mood: (Double) -> ServerBehaviour = { _ in .takes }
    /// Whether a request with a line in `unanswerable` ends only after its timeout.
    var areUnanswerableSilent = false
    /// The lines that arrive later, in the order of their times.
    var arrivals: [Arrival] = []
    /// The times at which lines were accepted, by their numbers.
    private(set) var acceptedAt: [Int: Double] = [:]

    private let settings: ForwardSettings
    private var traffic: SeededGenerator
    private var lastBatch: BatchID = 0
    private var deadline: Double?
    /// The pending lines: their numbers, and the times since when they have been waiting.
    private var waiting: [(line: Int, since: Double)] = []
    private var priority: [(line: Int, since: Double)] = []
    private(set) var reported = 0
    /// Whether lines arrived during a request.
    private var areArrivalsNew = false
    private var batches: [BatchID: [Int]] = [:]
    private var priorityBatches: Set<BatchID> = []

    init(_ settings: ForwardSettings = ForwardSettings(), seed: UInt64) {
        self.settings = settings
        traffic = SeededGenerator(seed: seed)
        forwarding = Forwarding(settings: settings, at: Self.at(0))
    }

    static func at(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(sinceBoot: .seconds(1000) + .milliseconds(Int64((seconds * 1000).rounded())))
    }

    /// The number of lines without an outcome.
    var pendingLines: Int { reported - delivered - dead }

    mutating func report(_ count: Int, isPriority: Bool = false) {
        for line in reported..<reported + count {
            if isPriority { priority.append((line, now)) } else { waiting.append((line, now)) }
        }
        reported += count
        perform(forwarding.recordsArrived(pending, at: Self.at(now)))
    }

    /// Stops the daemon in an orderly way and starts it again.
    mutating func restart() {
        let (progress, unacknowledged) = (forwarding.progress(at: Self.at(now)), forwarding.unacknowledged)
        _ = forwarding.stopRequested()
        let saved = forwarding.pace(at: Self.at(now))
        forwarding = Forwarding(
            settings: settings,
            pacer: SendPacer(settings: settings, from: saved, after: .zero, at: Self.at(now)), at: Self.at(now))
        let known = batches.keys.sorted().map {
            ForwardingBatch(
                id: $0, count: batches[$0]?.count ?? 0, bytes: 100, isPriority: priorityBatches.contains($0),
                unacknowledged: unacknowledged[$0] ?? LineSet([0..<(batches[$0]?.count ?? 0)]),
                users: users(of: batches[$0] ?? []))
        }
        deadline = nil
        guard let first = known.first else { return perform(forwarding.recordsArrived(pending, at: Self.at(now))) }
        forwarding.learned(pending)
        let unit = unit
        perform(
            forwarding.started(
                resuming: first, preemptedBy: known.count > 1 ? known[1] : nil, progress, unit: unit, at: Self.at(now)))
    }

    mutating func run(until end: Double) {
        while let next = [deadline, arrivals.first?.at].compactMap(\.self).min(), next <= end {
            now = max(now, next)
            if takeArrivals() { perform(forwarding.recordsArrived(pending, at: Self.at(now))) }
            guard let due = deadline, due <= now else { continue }
            deadline = nil
            perform(forwarding.waited(at: Self.at(now)))
        }
        now = max(now, end)
    }

    /// Adds the lines that have arrived until now. Returns `false` if there are none.
    private mutating func takeArrivals() -> Bool {
        let before = reported
        while let next = arrivals.first, next.at <= now {
            arrivals.removeFirst()
            if next.isUnanswerable { unanswerable.insert(reported) }
            if next.isPriority { priority.append((reported, next.at)) } else { waiting.append((reported, next.at)) }
            reported += 1
        }
        return reported > before
    }

    private func users(of lines: [Int]) -> [UInt32?] {
        areUsersKnown ? lines.map { unanswerable.contains($0) ? 1 : 2 } : []
    }

    private var unit: Double {
        mutating get { Double(traffic.number(below: 1000)) / 1000 }
    }

    private var pending: PendingCounts {
        let all = (waiting + priority).map(\.since)
        return PendingCounts(
            records: all.count, bytes: all.count * 100, oldest: all.min().map(Self.at), priorityRecords: priority.count,
            oldestPriority: priority.map(\.since).min().map(Self.at))
    }

    private mutating func perform(_ first: Forwarding.NextAction) {
        perform(all: first)
        while areArrivalsNew {
            areArrivalsNew = false
            perform(all: forwarding.recordsArrived(pending, at: Self.at(now)))
        }
    }

    private mutating func perform(all first: Forwarding.NextAction) {
        var next = first
        while true {
            switch next {
            case .build(let limit):
                let isAhead = !priority.isEmpty && waiting.count > limit.records
                next = store(isAhead ? limit.records : 0, isAhead ? 0 : limit.records)
            case .preempt(let limit): next = store(limit.records, 0)
            case .merge(let first, let second): next = merge(first, second)
            case .send(let shipment): next = send(shipment)
            case .wait(let until):
                // In whole milliseconds, like all times here.
                deadline = ((until.sinceBoot / .seconds(1) - 1000) * 1000 + 1e-4).rounded(.up) / 1000
                return
            case .none: return
            }
        }
    }

    private mutating func store(_ ahead: Int, _ walked: Int) -> Forwarding.NextAction {
        let isPriority = ahead > 0
        let users = users(of: priority.map(\.line)).map { $0 ?? 0 }
        let order = users.isEmpty ? Array(priority.indices) : RoundRobinOrder.order(users)
        var lines = order.prefix(ahead).map { priority[$0].line }.sorted()
        priority.removeAll { lines.contains($0.line) }
        if !isPriority {
            lines = Array((waiting + priority).map(\.line).sorted().prefix(walked))
            waiting.removeAll { lines.contains($0.line) }
            priority.removeAll { lines.contains($0.line) }
        }
        guard !lines.isEmpty else { return forwarding.nothingToSend(pending, at: Self.at(now)) }
        lastBatch = BatchID(lastBatch.rawValue + 1)
        batches[lastBatch] = lines
        if isPriority { priorityBatches.insert(lastBatch) }
        return forwarding.batchStored(
            ForwardingBatch(
                id: lastBatch, count: lines.count, bytes: lines.count * 100, isPriority: isPriority,
                users: self.users(of: lines)),
            at: Self.at(now))
    }

    private mutating func merge(_ first: BatchID, _ second: BatchID) -> Forwarding.NextAction {
        let lines = (batches.removeValue(forKey: first) ?? [], batches.removeValue(forKey: second) ?? [])
        lastBatch = BatchID(lastBatch.rawValue + 1)
        // The leading lines whose numbers are divisible by three stand for summaries.
        func split(_ lines: [Int]) -> (summaries: Int, records: [RowID]) {
            let summaries = lines.prefix { $0.isMultiple(of: 3) }.count
            return (summaries, lines[summaries...].map { RowID($0) })
        }
        let (first, second) = (split(lines.0), split(lines.1))
        let order = MergedLines(summaries: (first.summaries, second.summaries), first.records, second.records)
        let merged = order.values(ofFirst: lines.0, ofSecond: lines.1)
        batches[lastBatch] = merged
        return forwarding.merged(
            into: ForwardingBatch(id: lastBatch, count: merged.count, bytes: merged.count * 100), order: order,
            at: Self.at(now))
    }

    private mutating func send(_ shipment: Forwarding.Shipment) -> Forwarding.NextAction {
        let begun = now
        let limit = shipment.timeLimit.map { min($0, settings.requestTimeout) } ?? settings.requestTimeout
        let lines = Array((batches[shipment.batch] ?? [])[shipment.range])
        var verdict = DeliveryVerdict.accepted
        var mood = mood(now)
        if case .slow(let seconds) = mood {
            now += min(seconds, limit / .seconds(1))
            mood = seconds < limit / .seconds(1) ? .takes : .answers(.noAnswer)
        }
        switch mood {
        case .takes, .slow:
            now += 0.02
            let bad = lines.count { poison.contains($0) }
            if bad > 0 { verdict = .partial(PartialAnswer(successful: lines.count - bad)) }
            if !unanswerable.isDisjoint(with: lines) {
                verdict = .ambiguous(.noAnswer)
                if areUnanswerableSilent { now += limit / .seconds(1) }
            }
        case .refuses: verdict = .again(.refused, retryAfter: nil)
        case .silent:
            now += limit / .seconds(1)
            verdict = .ambiguous(.noAnswer)
        case .answers(.noAnswer): verdict = .ambiguous(.noAnswer)
        case .answers(let failure):
            now += 0.02
            verdict = .again(failure, retryAfter: nil)
        }
        if verdict == .accepted { for line in lines { acceptedAt[line] = acceptedAt[line] ?? now } }
        if takeArrivals() { areArrivalsNew = true }
        requests.append(
            Request(
                begun: begun, ended: now, lines: lines.count, isPriority: priorityBatches.contains(shipment.batch),
                isTaken: mood == .takes && verdict == .accepted, isInFull: shipment.timeLimit == nil))
        if forwarding.isInParts { forwarding.learned(pending) }
        let unit = unit
        let action = forwarding.answered(
            DeliveryResult(verdict, ResponseSummary("an answer")), unit: unit, at: Self.at(now))
        requests[requests.count - 1].looksHealthy =
            forwarding.isAcceptingRecords && [.idle, .sending].contains(forwarding.view.state)
        return follow(action)
    }

    private mutating func follow(_ action: Forwarding.AnswerAction) -> Forwarding.NextAction {
        switch action {
        case .settle(let id, let outcome):
            let lines = batches.removeValue(forKey: id) ?? []
            let isPriority = priorityBatches.contains(id)
            delivered += outcome.delivered.reduce(0) { $0 + $1.count }
            dead += outcome.dead.count
            possibleDuplicates += outcome.possibleDuplicates
            var rest: ForwardingBatch?
            if !outcome.unfinished.isEmpty {
                lastBatch = BatchID(lastBatch.rawValue + 1)
                batches[lastBatch] = outcome.unfinished.ranges.flatMap { lines[$0] }
                if isPriority { priorityBatches.insert(lastBatch) }
                rest = ForwardingBatch(
                    id: lastBatch, count: outcome.unfinished.count, bytes: outcome.unfinished.count * 100,
                    isPriority: isPriority)
            }
            return forwarding.settled(pending, rest: rest, at: Self.at(now))
        case .send(let shipment), .cut(_, let shipment): return .send(shipment)
        case .preempt(let limit): return .preempt(limit)
        case .wait(let until, _), .pause(_, let until, _): return .wait(until: until)
        case .stop, .none: return .none
        }
    }
}
