internal import IssueWire
package import UnixIO

/// Decides what to send to the daemon, what to send again, and what to drop.
///
/// Invariants:
/// - Sequence numbers ascend. An issue keeps its number once it has one.
/// - An issue leaves the outbox only when it is answered, permanently refused, dropped or taken by ``takeAll()``.
/// - The calls that were sent on this connection and not answered are the first ones in `calls`, until a call is
///   refused and must be sent again. Then nothing is sent until all sent calls have been answered, and sending restarts
///   with the first call. After a refused call, the daemon replies Busy until it receives that call's number or a lower
///   one, so no issue can overtake another.
/// - After a call that is refused permanently, sending restarts on a new connection.
package struct Outbox<Payload: Sendable>: Sendable {
    package typealias Entry = OutboxEntry<Payload>
    package typealias Call = OutboxCall<Payload>

    var limits: OutboxLimits

    // Issues without a sequence number, by level, so that the least severe can be dropped first.
    var waiting: [ChunkedQueue<Entry>]
    /// The calls that have sequence numbers and no answer yet, in order: sent, to be sent or to be encoded.
    package private(set) var calls: [Call] = []
    /// The number of issues in the buffer.
    package private(set) var count = 0
    /// The approximate size of the issues in the buffer, in bytes.
    var bytes = 0
    // The sequence numbers of the calls that were sent on this connection and not answered, in order.
    var unansweredSequences: [Int64] = []

    var isConnected = false
    var retryAt: KernelInstant?
    var answerDue: KernelInstant?
    // If not nil, nothing is sent before this time, nor before all answers of this connection have arrived.
    var pausedUntil: KernelInstant?
    // Whether a permanently refused call left a gap in the numbers. The daemon skips a gap only on a new connection.
    var needsNewConnection = false
    // Whether the last step without a connection was `idle`, so that the thread waits without a timeout.
    var isIdle = true

    var nextOrder: UInt64 = 0
    var nextSequence: Int64 = 1
    var failuresInARow = 0
    /// The number of lost issues that no call has reported yet: dropped ones, and those that earlier runs lost.
    var unreportedDrops = 0

    /// The total number of failed attempts to connect to the daemon and of lost connections.
    package private(set) var failedAttempts = 0

    package init(limits: OutboxLimits = OutboxLimits()) {
        self.limits = limits
        waiting = IssueLevel.allCases.map { _ in ChunkedQueue() }
    }

    /// Whether a new issue may change the next step.
    package var needsWakeUp: Bool {
        isConnected ? pausedUntil == nil && calls.count < limits.calls : retryAt == nil || isIdle
    }

    /// The order number that the next issue gets.
    package var mark: UInt64 { nextOrder }

    /// Returns `true` if all issues that were submitted before the mark have left the outbox.
    ///
    /// - Parameter mark: An earlier value of ``mark``.
    package func isSettled(before mark: UInt64) -> Bool {
        // Calls are formed from the oldest issues, so the first issue of the first call is the oldest of all.
        if let oldest = calls.first?.entries.first, oldest.order < mark { return false }
        return waiting.allSatisfy { queue in queue.first.map { $0.order >= mark } ?? true }
    }

    // MARK: Events

    /// Adds an issue.
    ///
    /// - Parameters:
    ///   - payload: The issue.
    ///   - level: The level of the issue. When the buffer is full, issues of the lowest level are dropped first.
    ///   - bytes: The approximate size of the issue in the buffer, in bytes.
    ///   - growth: The approximate number of bytes that the issue takes in a call, in addition to `bytes`.
    ///   - coalescing: Receives the payloads of the last waiting issue of the same level and of the new issue. If they
    ///     are duplicates, merges the second into the first and returns `true`.
    /// - Returns: The issues that were dropped to free space. The new one may be among them.
    package mutating func submitted(
        _ payload: Payload, level: IssueLevel, bytes: Int, growth: Int = 0,
        coalescing: (inout Payload, Payload) -> Bool = { _, _ in false }
    ) -> [Entry] {
        let queue = Int(level.rank)
        // Changed in place, to avoid a copy of the queued issue.
        if waiting[queue].changeLast({ $0?.absorb(payload, coalescing) ?? false }) { return [] }
        let entry = Entry(order: nextOrder, level: level, bytes: bytes, sentBytes: bytes + growth, payload: payload)
        nextOrder += 1
        waiting[queue].append(entry)
        count += 1
        self.bytes += bytes

        var leaving: [Entry] = []
        while count > limits.entries || self.bytes > limits.bytes, let entry = removeLeastSevere() {
            leaving.append(entry)
        }
        lost(leaving.count)
        return leaving
    }

    /// Records that a connection to the daemon was made.
    package mutating func connected() {
        isConnected = true
        retryAt = nil
        pausedUntil = nil
        needsNewConnection = false
    }

    /// Records that the connection ended or could not be made.
    ///
    /// - Parameters:
    ///   - now: The current time.
    ///   - unit: A random number from 0 to 1 that varies the delay before the next attempt.
    package mutating func disconnected(at now: KernelInstant, unit: Double) {
        let isPlanned = isConnected && needsNewConnection
        isConnected = false
        unansweredSequences = []
        answerDue = nil
        pausedUntil = nil
        needsNewConnection = false
        guard !isPlanned else { return retryAt = now }
        failedAttempts += 1
        retryAt = now.advanced(by: nextDelay(unit: unit))
    }

    /// Records that the connection was closed because it was idle.
    package mutating func closedWhileIdle() {
        isConnected = false
        retryAt = nil
    }

    /// Ends the delay before the next attempt to connect, because a caller waits for issues to be sent.
    package mutating func retryNow() {
        retryAt = nil
    }

    /// Removes all issues from the buffer and returns them as calls with sequence numbers.
    package mutating func takeAll() -> [Call] {
        while oldestQueue != nil { formCall() }
        let all = calls
        calls = []
        count = 0
        bytes = 0
        unansweredSequences = []
        return all
    }

    /// Records that `count` issues were dropped, or lost by earlier runs. The next call that is formed reports the
    /// number.
    mutating func lost(_ count: Int) {
        unreportedDrops += count
    }

    // MARK: Steps

    /// Returns the next step. If it is ``OutboxStep/send(_:)``, the call counts as sent.
    package mutating func next(at now: KernelInstant) -> OutboxStep<Payload> {
        guard isConnected else {
            isIdle = count == 0
            guard !isIdle else { return .idle }
            if let retryAt, retryAt > now { return .wait(until: retryAt) }
            return .connect
        }
        if needsNewConnection { return .disconnect }
        if let answerDue, answerDue <= now { return .disconnect }
        if let pausedUntil {
            if !unansweredSequences.isEmpty { return waitForAnswer }
            if pausedUntil > now { return .wait(until: pausedUntil) }
            self.pausedUntil = nil
        }
        if unansweredSequences.count == calls.count, calls.count < limits.calls { formCall() }
        guard unansweredSequences.count < calls.count else { return waitForAnswer }
        let call = calls[unansweredSequences.count]
        guard let text = call.text else { return .encode(call) }
        if unansweredSequences.isEmpty { answerDue = now.advanced(by: limits.answerTimeout) }
        unansweredSequences.append(call.sequence)
        return .send(text)
    }

    /// Stores the encoded form of a call. If it is too large and the call has several issues, the call is split into
    /// two instead.
    ///
    /// - Parameters:
    ///   - sequence: The sequence number of the call.
    ///   - text: The encoded call.
    package mutating func encoded(_ sequence: Int64, as text: [UInt8]) {
        guard let index = calls.firstIndex(where: { $0.sequence == sequence }) else { return }
        if text.count > limits.callBytes, calls[index].entries.count > 1 {
            splitCall(at: index)
        } else {
            calls[index].text = text
        }
    }

    // MARK: Implementation

    private var waitForAnswer: OutboxStep<Payload> {
        answerDue.map { .wait(until: $0) } ?? .idle
    }

    private mutating func formCall() {
        var entries: [Entry] = []
        entries.reserveCapacity(min(waiting.reduce(0) { $0 + $1.count }, limits.callEntries))
        var sentBytes = 0
        while entries.count < limits.callEntries, let queue = oldestQueue, let entry = waiting[queue].first {
            guard entries.isEmpty || sentBytes + entry.sentBytes <= limits.callBytes else { break }
            _ = waiting[queue].popFirst()
            entries.append(entry)
            sentBytes += entry.sentBytes
        }
        guard !entries.isEmpty else { return }
        calls.append(Call(sequence: nextSequence, entries: entries, droppedBefore: unreportedDrops, text: nil))
        nextSequence += Int64(entries.count)
        unreportedDrops = 0
    }

    private var oldestQueue: Int? {
        // A plain loop, since this runs for every issue while reporting threads wait for the lock.
        var oldest: (queue: Int, order: UInt64)?
        for queue in waiting.indices {
            guard let order = waiting[queue].first?.order, order < oldest?.order ?? .max else { continue }
            oldest = (queue, order)
        }
        return oldest?.queue
    }

    private mutating func removeLeastSevere() -> Entry? {
        guard let queue = waiting.indices.first(where: { waiting[$0].count > 0 }) else { return nil }
        guard let entry = waiting[queue].popFirst() else { return nil }
        count -= 1
        bytes -= entry.bytes
        return entry
    }

    mutating func nextDelay(unit: Double) -> Duration {
        let doublings = min(failuresInARow, 20)
        failuresInARow += 1
        let delay = min(limits.firstDelay * (1 << doublings), limits.lastDelay)
        // Half of the delay is random, so that the processes of a host do not all reconnect at once.
        return delay * (0.5 + 0.5 * min(max(unit, 0), 1))
    }
}

extension Outbox {
    /// Records the answer to the oldest unanswered call.
    ///
    /// - Parameters:
    ///   - receipts: The number of receipts in the answer.
    ///   - now: The current time.
    /// - Returns: The issues of that call. Nil if no call is unanswered, or if the call has another number of issues.
    package mutating func answered(receipts: Int, at now: KernelInstant) -> [Entry]? {
        guard let index = oldestUnanswered, calls[index].entries.count == receipts else { return nil }
        failuresInARow = 0
        answerArrived(at: now)
        return removeCall(at: index).entries
    }

    /// Records that the daemon cannot take the oldest unanswered call now. This call and all later ones are sent again.
    ///
    /// - Parameters:
    ///   - retryAfter: The delay that the daemon asked for. Nil uses an exponential backoff.
    ///   - now: The current time.
    ///   - unit: A random number from 0 to 1 that varies the backoff.
    /// - Returns: False if no call is unanswered.
    package mutating func refusedForNow(
        retryAfter: Duration?, at now: KernelInstant, unit: Double
    ) -> Bool {
        guard oldestUnanswered != nil else { return false }
        answerArrived(at: now)
        // The calls after the refused one are refused as well. Together, they count as one failure.
        if pausedUntil == nil || retryAfter != nil {
            let delay = retryAfter ?? nextDelay(unit: unit)
            pausedUntil = max(pausedUntil ?? now, now.advanced(by: max(delay, .milliseconds(1))))
        }
        return true
    }

    /// Records that the daemon permanently refused the oldest unanswered call.
    ///
    /// - Returns: The issues of that call, which leave the outbox. Nil if no call is unanswered.
    package mutating func refusedPermanently(at now: KernelInstant) -> [Entry]? {
        guard let index = oldestUnanswered else { return nil }
        answerArrived(at: now)
        needsNewConnection = true
        let call = removeCall(at: index)
        // The daemon has not counted the dropped issues that this call reported.
        unreportedDrops += call.droppedBefore
        return call.entries
    }

    /// Records that the oldest unanswered call has more bytes or more records than the daemon allows.
    ///
    /// - Parameters:
    ///   - limit: The daemon's limit, a number of bytes or of records.
    ///   - now: The current time.
    /// - Returns: The issues that leave the outbox. Empty if the call was split into two; nil if no call is unanswered.
    package mutating func refusedAsTooLarge(limit: Int, at now: KernelInstant) -> [Entry]? {
        guard let index = oldestUnanswered else { return nil }
        // A small limit is a number of records, not of bytes: splitting the call is enough.
        if limit >= 4096 { limits.callBytes = min(limits.callBytes, limit) }
        guard calls[index].entries.count > 1 else { return refusedPermanently(at: now) }
        answerArrived(at: now)
        splitCall(at: index)
        pausedUntil = now
        return []
    }

    mutating func splitCall(at index: Int) {
        let (first, second) = calls[index].halves
        calls[index] = first
        calls.insert(second, at: index + 1)
    }

    /// The index of the oldest unanswered call in `calls`. Nil if there is none.
    private var oldestUnanswered: Int? {
        guard let sequence = unansweredSequences.first else { return nil }
        return calls.firstIndex { $0.sequence == sequence }
    }

    private mutating func answerArrived(at now: KernelInstant) {
        unansweredSequences.removeFirst()
        answerDue = unansweredSequences.isEmpty ? nil : now.advanced(by: limits.answerTimeout)
    }

    private mutating func removeCall(at index: Int) -> Call {
        let call = calls.remove(at: index)
        count -= call.entries.count
        bytes -= call.bytes
        return call
    }
}

/// A call of `Report` with its issues.
package struct OutboxCall<Payload: Sendable>: Sendable {
    /// The producer's sequence number of the first issue. The other issues have the numbers that follow.
    package var sequence: Int64
    package var entries: [OutboxEntry<Payload>]
    /// The number of dropped issues that this call reports.
    package var droppedBefore: Int
    /// The encoded call; nil until it has been encoded.
    package var text: [UInt8]?

    /// The same issues with the same sequence numbers, as two calls.
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

/// An issue in the outbox.
package struct OutboxEntry<Payload: Sendable>: Sendable {
    /// The position in the order of submission.
    package var order: UInt64
    package var level: IssueLevel
    /// The approximate size in the buffer, in bytes.
    package var bytes: Int
    /// The approximate size in a call, in bytes.
    package var sentBytes: Int
    package var payload: Payload

    fileprivate mutating func absorb(_ other: Payload, _ coalescing: (inout Payload, Payload) -> Bool) -> Bool {
        coalescing(&payload, other)
    }
}

/// The limits of the buffer and of sending.
package struct OutboxLimits: Sendable {
    /// The maximum number of issues in the buffer. Issues stay there until they are answered.
    package var entries = 10_000
    /// The approximate maximum size of the buffer, in bytes.
    package var bytes = 8 << 20
    /// The maximum number of issues in a call.
    package var callEntries = 500
    /// The maximum size of a call with several issues, in bytes.
    package var callBytes = 512 << 10
    /// The number of unanswered calls at which no new call is formed.
    package var calls = 4
    /// The timeout for an answer, after which the connection is closed.
    package var answerTimeout: Duration = .seconds(45)
    /// The maximum delay after the first failure. It doubles with each further failure in a row.
    package var firstDelay: Duration = .milliseconds(100)
    /// The maximum delay after any failure.
    package var lastDelay: Duration = .seconds(30)

    package init() {}
}

/// The next step of the sending thread.
package enum OutboxStep<Payload: Sendable>: Sendable {
    /// Wait until an issue is submitted. No answer is expected.
    case idle
    /// Wait until this time, or until an event occurs.
    case wait(until: KernelInstant)
    case connect
    /// Encode this call and pass the result to `encoded(_:as:)`.
    case encode(OutboxCall<Payload>)
    /// Send this encoded call. It counts as sent from now on.
    case send([UInt8])
    /// Close the connection. Unanswered calls are sent again on the next one.
    case disconnect
}

/// A FIFO queue in chunks. It grows without moving its elements, and releases memory as it shrinks.
struct ChunkedQueue<Element> {
    private static var chunkSize: Int { 64 }

    // A removed element is replaced with nil, so that it is released immediately.
    private var chunks: [[Element?]] = []
    private var head = 0

    private(set) var count = 0
    var first: Element? { chunks.first?[head] }

    /// Changes the last element in place. Does nothing if the queue is empty.
    ///
    /// - Parameter change: Receives the element, which is not nil. Returns `true` if it has changed the element.
    /// - Returns: `true` if the element was changed.
    mutating func changeLast(_ change: (inout Element?) -> Bool) -> Bool {
        guard count > 0 else { return false }
        let chunk = chunks.count - 1
        return change(&chunks[chunk][chunks[chunk].count - 1])
    }

    mutating func append(_ element: Element) {
        if chunks.last.map({ $0.count == Self.chunkSize }) ?? true {
            var chunk: [Element?] = []
            chunk.reserveCapacity(Self.chunkSize)
            chunks.append(chunk)
        }
        chunks[chunks.count - 1].append(element)
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = chunks[0][head]
        chunks[0][head] = nil
        head += 1
        count -= 1
        if head == chunks[0].count {
            chunks.removeFirst()
            head = 0
        }
        return element
    }
}

extension ChunkedQueue: Sendable where Element: Sendable {}
