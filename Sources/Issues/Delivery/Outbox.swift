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
