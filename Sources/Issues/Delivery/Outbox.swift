internal import IssueWire
package import UnixIO

/// Decides what is sent to the daemon, what is sent again, and what is dropped.
///
/// Invariants:
/// - Numbers ascend, and a number once given stays with its issue.
/// - An issue leaves only when it is answered, refused for good or dropped.
/// - What was sent on this connection and not answered is the front of
///   `calls`, unless an answer was a refusal: then nothing is sent until all
///   answers of this connection are in, and sending starts again at the front.
///   The daemon says Busy to all that follows a refused call until a number at
///   or below it comes, so no issue can be overtaken.
package struct Outbox<Payload: Sendable>: Sendable {
    package typealias Entry = OutboxEntry<Payload>
    package typealias Call = OutboxCall<Payload>

    enum Link {
        case down
        case up
    }

    var limits: OutboxLimits

    // What waits for a call of its own, by level, so that the mildest can go first.
    var waiting: [Queue<Entry>]
    var waitingCount = 0
    var waitingBytes = 0
    // What has its number: sent, to be sent or to be encoded.
    var calls: [Call] = []
    var callsCount = 0
    var callsBytes = 0
    // The numbers of the calls sent on this connection whose answers are due, in order.
    var owed: [Int64] = []

    var link: Link = .down
    var retryAt: KernelInstant?
    var answerDue: KernelInstant?
    // Not before this moment, and not before all owed answers are in, is anything sent.
    var heldUntil: KernelInstant?
    // A refused call left a hole; only a new connection lets the daemon step over it.
    var needsNewConnection = false
    // The last step was to do nothing, so nobody looks at the clock.
    var isIdle = true

    var nextOrder: UInt64 = 0
    var nextSequence: Int64 = 1
    var failuresInARow = 0
    var droppedUnsaid = 0

    /// How many attempts to reach the daemon have failed, ever.
    package private(set) var failedAttempts = 0
    /// How many issues were dropped, ever.
    package internal(set) var dropped = 0

    package init(limits: OutboxLimits = OutboxLimits()) {
        self.limits = limits
        waiting = IssueLevel.allCases.map { _ in Queue() }
    }

    /// The calls that have their numbers and no answer yet, in order.
    package var unanswered: [Call] { calls }

    /// How many issues are in the buffer.
    package var count: Int { waitingCount + callsCount }

    /// Whether a submission would change what is to be done next.
    package var wantsMore: Bool {
        switch link {
        case .down: retryAt == nil || isIdle
        case .up: heldUntil == nil && calls.count < limits.calls
        }
    }

    /// The place that the next submission gets.
    package var mark: UInt64 { nextOrder }

    /// Whether nothing that was submitted before the mark is still on its way.
    package func isSettled(before mark: UInt64) -> Bool {
        // Calls are made of the oldest, so the first of the first is the oldest of all calls.
        if let oldest = calls.first?.entries.first, oldest.order < mark { return false }
        return waiting.allSatisfy { queue in queue.first.map { $0.order >= mark } ?? true }
    }

    // MARK: What happens

    /// An issue came; answers which ones had to go to make room, it perhaps among them.
    ///
    /// The one before it, if it still waits, may take it into itself.
    package mutating func submitted(
        _ payload: Payload, level: IssueLevel, bytes: Int, growth: Int = 0,
        coalescing: (inout Payload, Payload) -> Bool = { _, _ in false }
    ) -> [Entry] {
        let queue = Self.index(of: level)
        if var last = waiting[queue].last, coalescing(&last.payload, payload) {
            waiting[queue].last = last
            return []
        }
        let entry = Entry(order: nextOrder, level: level, bytes: bytes, sentBytes: bytes + growth, payload: payload)
        nextOrder += 1
        waiting[queue].append(entry)
        waitingCount += 1
        waitingBytes += bytes

        var leaving: [Entry] = []
        while count > limits.entries || waitingBytes + callsBytes > limits.bytes, let entry = takeMildest() {
            leaving.append(entry)
        }
        dropped += leaving.count
        droppedUnsaid += leaving.count
        return leaving
    }

    /// The daemon can be reached now.
    package mutating func connected() {
        link = .up
        retryAt = nil
        heldUntil = nil
        needsNewConnection = false
    }

    /// The connection ended, or could not be made; `unit` is a random number from 0 to 1.
    package mutating func disconnected(at now: KernelInstant, unit: Double) {
        let isWanted = link == .up && needsNewConnection
        link = .down
        owed = []
        answerDue = nil
        heldUntil = nil
        needsNewConnection = false
        guard !isWanted else { return retryAt = now }
        failedAttempts += 1
        retryAt = now.advanced(by: nextDelay(unit: unit))
    }

    /// The connection was closed for want of anything to say.
    package mutating func closedWhileIdle() {
        link = .down
        retryAt = nil
    }

    /// Somebody waits, so the next attempt is due now.
    package mutating func hurried() {
        retryAt = nil
    }

    /// All that is in the buffer, with its numbers, for somebody else to send.
    package mutating func takeAll() -> [Call] {
        while waitingCount > 0 { formCall() }
        let all = calls
        calls = []
        callsCount = 0
        callsBytes = 0
        owed = []
        return all
    }

    /// So many issues of before could not be kept; the next one says so.
    mutating func lost(_ count: Int) {
        dropped += count
        droppedUnsaid += count
    }

    // MARK: What to do

    /// The next thing to do. A text that it gives out counts as sent.
    package mutating func next(at now: KernelInstant) -> OutboxStep<Payload> {
        switch link {
        case .down:
            isIdle = count == 0
            guard !isIdle else { return .idle }
            if let retryAt, retryAt > now { return .wait(until: retryAt) }
            return .connect
        case .up:
            if needsNewConnection { return .disconnect }
            if let answerDue, answerDue <= now { return .disconnect }
            if let heldUntil {
                if !owed.isEmpty { return waitForAnswer }
                if heldUntil > now { return .wait(until: heldUntil) }
                self.heldUntil = nil
            }
            if owed.count == calls.count, calls.count < limits.calls { formCall() }
            guard owed.count < calls.count else { return waitForAnswer }
            let call = calls[owed.count]
            guard let text = call.text else { return .encode(call) }
            if owed.isEmpty { answerDue = now.advanced(by: limits.answerTimeout) }
            owed.append(call.sequence)
            return .send(text)
        }
    }

    /// A call has been encoded. One that came out too large is halved instead.
    package mutating func encoded(_ sequence: Int64, as text: [UInt8]) {
        guard let index = calls.firstIndex(where: { $0.sequence == sequence }) else { return }
        if text.count > limits.callBytes, calls[index].entries.count > 1 {
            halveCall(at: index)
        } else {
            calls[index].text = text
        }
    }

    // MARK: Within

    private var waitForAnswer: OutboxStep<Payload> {
        answerDue.map { .wait(until: $0) } ?? .idle
    }

    private mutating func formCall() {
        var entries: [Entry] = []
        entries.reserveCapacity(min(waitingCount, limits.callEntries))
        var bytes = 0
        var sentBytes = 0
        while entries.count < limits.callEntries, let queue = oldestQueue, let entry = waiting[queue].first {
            guard entries.isEmpty || sentBytes + entry.sentBytes <= limits.callBytes else { break }
            _ = waiting[queue].popFirst()
            entries.append(entry)
            bytes += entry.bytes
            sentBytes += entry.sentBytes
        }
        guard !entries.isEmpty else { return }
        waitingCount -= entries.count
        waitingBytes -= bytes
        callsCount += entries.count
        callsBytes += bytes
        calls.append(Call(sequence: nextSequence, entries: entries, droppedBefore: droppedUnsaid, text: nil))
        nextSequence += Int64(entries.count)
        droppedUnsaid = 0
    }

    private var oldestQueue: Int? {
        // By hand, since this runs for each issue while those who report wait for the lock.
        var oldest: (queue: Int, order: UInt64)?
        for queue in waiting.indices {
            guard let order = waiting[queue].first?.order, order < oldest?.order ?? .max else { continue }
            oldest = (queue, order)
        }
        return oldest?.queue
    }

    private mutating func takeMildest() -> Entry? {
        guard let queue = waiting.indices.first(where: { waiting[$0].count > 0 }) else { return nil }
        guard let entry = waiting[queue].popFirst() else { return nil }
        waitingCount -= 1
        waitingBytes -= entry.bytes
        return entry
    }

    mutating func nextDelay(unit: Double) -> Duration {
        let doublings = min(failuresInARow, 20)
        failuresInARow += 1
        let delay = min(limits.firstDelay * (1 << doublings), limits.lastDelay)
        // Half of it is chance, so that a host's processes don't all come back at once.
        return delay * (0.5 + 0.5 * min(max(unit, 0), 1))
    }

    private static func index(of level: IssueLevel) -> Int {
        Int(level.wire.rawValue)
    }
}

extension Outbox {
    /// The daemon answered the oldest call that it owed an answer for, with so many receipts.
    ///
    /// Answers the issues of that call, or nil when the answer fits no call.
    package mutating func answered(receipts: Int, at now: KernelInstant) -> [Entry]? {
        guard let index = owedCall, calls[index].entries.count == receipts else { return nil }
        failuresInARow = 0
        answerArrived(at: now)
        return removeCall(at: index).entries
    }

    /// The daemon can't take the oldest owed call now; it stays and goes again, with all behind it.
    ///
    /// Answers false when no answer was owed.
    package mutating func refusedForNow(
        retryAfter: Duration?, at now: KernelInstant, unit: Double
    ) -> Bool {
        guard owedCall != nil else { return false }
        answerArrived(at: now)
        // The calls behind the refused one are refused as well: one failure, not several.
        if heldUntil == nil || retryAfter != nil {
            let delay = retryAfter ?? nextDelay(unit: unit)
            heldUntil = max(heldUntil ?? now, now.advanced(by: max(delay, .milliseconds(1))))
        }
        return true
    }

    /// The daemon will never take the oldest owed call; answers its issues, or nil when none was owed.
    package mutating func refusedForGood(at now: KernelInstant) -> [Entry]? {
        guard let index = owedCall else { return nil }
        answerArrived(at: now)
        needsNewConnection = true
        let call = removeCall(at: index)
        // Nobody has been told of these yet.
        droppedUnsaid += call.droppedBefore
        return call.entries
    }

    /// The oldest owed call is larger than the daemon allows.
    ///
    /// Answers the issues that are given up: none, as long as the call can be
    /// halved; nil when no answer was owed.
    package mutating func refusedAsTooLarge(limit: Int?, at now: KernelInstant) -> [Entry]? {
        guard let index = owedCall else { return nil }
        // A small number counts something else than bytes, and halving will do.
        if let limit, limit >= 4096 { limits.callBytes = min(limits.callBytes, limit) }
        guard calls[index].entries.count > 1 else { return refusedForGood(at: now) }
        answerArrived(at: now)
        halveCall(at: index)
        heldUntil = now
        return []
    }

    mutating func halveCall(at index: Int) {
        let (first, second) = calls[index].halves
        calls[index] = first
        calls.insert(second, at: index + 1)
    }

    private var owedCall: Int? {
        guard let sequence = owed.first else { return nil }
        return calls.firstIndex { $0.sequence == sequence }
    }

    private mutating func answerArrived(at now: KernelInstant) {
        owed.removeFirst()
        answerDue = owed.isEmpty ? nil : now.advanced(by: limits.answerTimeout)
    }

    private mutating func removeCall(at index: Int) -> Call {
        let call = calls.remove(at: index)
        callsCount -= call.entries.count
        callsBytes -= call.bytes
        return call
    }
}

/// Issues that go, or went, to the daemon in one call.
package struct OutboxCall<Payload: Sendable>: Sendable {
    /// The producer's number of the first issue; the others follow it.
    package var sequence: Int64
    package var entries: [OutboxEntry<Payload>]
    /// How many issues were dropped before the first.
    package var droppedBefore: Int
    /// What is sent; nil until it has been encoded.
    package var text: [UInt8]?

    /// The same issues, with the same numbers, in two calls.
    var halves: (Self, Self) {
        let middle = entries.count / 2
        let first = Self(
            sequence: sequence, entries: Array(entries[..<middle]), droppedBefore: droppedBefore, text: nil)
        let second = Self(
            sequence: sequence + Int64(middle), entries: Array(entries[middle...]), droppedBefore: 0, text: nil)
        return (first, second)
    }

    var sentBytes: Int { entries.reduce(0) { $0 + $1.sentBytes } }

    var bytes: Int { entries.reduce(0) { $0 + $1.bytes } }
}

/// One issue in the outbox.
package struct OutboxEntry<Payload: Sendable>: Sendable {
    /// Its place among all that were submitted.
    package var order: UInt64
    package var level: IssueLevel
    /// About how much room it takes here.
    package var bytes: Int
    /// About how large it is in a call.
    package var sentBytes: Int
    package var payload: Payload
}

/// How much the outbox holds, and how it sends.
package struct OutboxLimits: Sendable {
    /// Issues in the buffer, sent or not, until they are answered.
    package var entries = 10_000
    /// Their size, about.
    package var bytes = 8 << 20
    /// Issues in one call.
    package var callEntries = 500
    /// The size of one call.
    package var callBytes = 512 << 10
    /// Calls on their way at one time.
    package var calls = 4
    /// How long an answer may take before the connection is given up.
    package var answerTimeout: Duration = .seconds(45)
    /// The first wait after a failure, doubled by each further one.
    package var firstDelay: Duration = .milliseconds(100)
    /// The longest wait after a failure.
    package var lastDelay: Duration = .seconds(30)

    package init() {}
}

/// What the outbox wants done next.
package enum OutboxStep<Payload: Sendable>: Sendable {
    /// Nothing, until something is submitted or answered.
    case idle
    /// Nothing before this moment, unless something happens.
    case wait(until: KernelInstant)
    case connect
    /// Encode these issues, and come back with the text.
    case encode(OutboxCall<Payload>)
    /// Send this text; it counts as sent from now on.
    case send([UInt8])
    /// Close the connection; what is unanswered goes again on the next one.
    case disconnect
}

/// First in, first out, in pieces: it grows without moving what it holds, and keeps no memory of a flood that is over.
struct Queue<Element> {
    private static var pieceCount: Int { 64 }

    // Elements that are taken leave a hole, so that each is let go at once.
    private var pieces: [[Element?]] = []
    private var head = 0

    private(set) var count = 0
    var first: Element? { pieces.first?[head] }

    /// The one that was appended last, to be changed in its place.
    var last: Element? {
        get { pieces.last?.last ?? nil }
        set {
            guard count > 0, let newValue else { return }
            let piece = pieces.count - 1
            pieces[piece][pieces[piece].count - 1] = newValue
        }
    }

    mutating func append(_ element: Element) {
        if pieces.last.map({ $0.count == Self.pieceCount }) ?? true {
            var piece: [Element?] = []
            piece.reserveCapacity(Self.pieceCount)
            pieces.append(piece)
        }
        pieces[pieces.count - 1].append(element)
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = pieces[0][head]
        pieces[0][head] = nil
        head += 1
        count -= 1
        if head == pieces[0].count {
            pieces.removeFirst()
            head = 0
        }
        return element
    }
}

extension Queue: Sendable where Element: Sendable {}
