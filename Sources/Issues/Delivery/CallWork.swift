internal import IssueWire
internal import UnixIO

/// The calls of one connection of a ``CollectorClient``. Used on the client's thread only.
protocol CallWork: AnyObject {
    /// Whether a connection is needed.
    var isActive: Bool { get }
    /// Whether replies are read now. Otherwise they stay unread.
    var wantsReplies: Bool { get }
    /// The time at which the next message can be sent. Nil if there is no message, or while replies must arrive first.
    var nextSend: KernelInstant? { get }
    /// A time that is not later than the deadline of any task. Nil if no task has a deadline.
    var deadline: KernelInstant? { get }

    /// Finishes calls whose deadline has passed. If a message can be sent now, also removes unsent calls whose task no
    /// longer waits.
    ///
    /// - Returns: False if the connection must be closed, for example because no task waits for the pending reply.
    func removeFinished(at now: KernelInstant) -> Bool
    /// Returns a message to send now. Nil if there is none.
    func nextMessage(at now: KernelInstant) -> [UInt8]?
    /// Processes a reply. Returns false if the connection must then be closed.
    func received(_ reply: VarlinkReply, at now: KernelInstant) -> Bool
    /// Handles a failed attempt to connect.
    func connectFailed(_ error: CollectorConnectionError, at now: KernelInstant)
    /// Handles the end of a connection. `wasUsed` is `true` if the daemon had replied on it. Unanswered calls may then
    /// be repeated on a new connection.
    func disconnected(_ error: CollectorConnectionError, wasUsed: Bool)
}

extension VarlinkReply {
    /// The reply, or the daemon's error.
    fileprivate var result: Result<VarlinkReply, any Error> {
        CollectorError(self).map { .failure(CollectorConnectionError.refused($0)) } ?? .success(self)
    }
}

// MARK: Queries

/// A call with one reply.
struct QueuedCall: Sendable {
    let message: [UInt8]
    /// Nil if the task waits indefinitely.
    let deadline: KernelInstant?
    let reply = PendingReply()
    fileprivate var isRepeated = false

    init(message: [UInt8], deadline: KernelInstant?) {
        self.message = message
        self.deadline = deadline
    }

    /// Fails the call if its deadline has passed. Returns `true` if its task no longer waits.
    fileprivate func endIfOverdue(at now: KernelInstant) -> Bool {
        if let deadline, deadline <= now { reply.finish(.failure(CollectorConnectionError.timedOut)) }
        return reply.isFinished
    }
}

/// Sends calls one after another.
final class CallQueue: CallWork {
    private var waiting: [QueuedCall] = []
    private var inFlight: QueuedCall?

    func add(_ call: QueuedCall) {
        waiting.append(call)
    }

    var isActive: Bool { inFlight != nil || !waiting.isEmpty }
    // True even without a call, so that the end of an idle connection is noticed.
    var wantsReplies: Bool { true }
    var nextSend: KernelInstant? { inFlight == nil && !waiting.isEmpty ? .distantPast : nil }
    var deadline: KernelInstant? {
        let first = waiting.lazy.compactMap(\.deadline).min()
        guard let inFlight = inFlight?.deadline else { return first }
        return first.map { min($0, inFlight) } ?? inFlight
    }

    func removeFinished(at now: KernelInstant) -> Bool {
        waiting.removeAll { $0.endIfOverdue(at: now) }
        guard let call = inFlight, call.endIfOverdue(at: now) else { return true }
        inFlight = nil
        return false
    }

    func nextMessage(at now: KernelInstant) -> [UInt8]? {
        guard inFlight == nil, !waiting.isEmpty else { return nil }
        let call = waiting.removeFirst()
        inFlight = call
        return call.message
    }

    func received(_ reply: VarlinkReply, at now: KernelInstant) -> Bool {
        guard let call = inFlight else { return false }
        inFlight = nil
        call.reply.finish(reply.result)
        return true
    }

    func connectFailed(_ error: CollectorConnectionError, at now: KernelInstant) {
        for call in waiting { call.reply.finish(.failure(error)) }
        waiting = []
    }

    func disconnected(_ error: CollectorConnectionError, wasUsed: Bool) {
        guard var call = inFlight else { return }
        inFlight = nil
        // The daemon may have closed the idle connection before it read the call.
        guard wasUsed, !call.isRepeated, error == .closed else {
            call.reply.finish(.failure(error))
            return
        }
        call.isRepeated = true
        waiting.insert(call, at: 0)
    }
}

// MARK: Fates

/// A record whose fates a task waits for.
struct AwaitedRecord: Sendable {
    let id: String
    let destination: String?
    let deadline: KernelInstant
    /// Whether to retry until the deadline if the daemon cannot be reached or is busy.
    let retries: Bool
    let reply = PendingReply()
}

/// Waits for the fates of any number of records on one connection.
///
/// The daemon processes the `Await` calls of a connection one after another, so a call that waits delays all later
/// calls. Therefore this type sends batches of calls with a timeout of zero, and repeats them while fates are pending.
/// Only the first call of a repeated batch has a longer timeout, of at most `pollTime`.
final class AwaitQueue: CallWork {
    private struct Entry {
        let record: AwaitedRecord
        /// The last reply with fates, some of which were pending. Nil if there is none.
        var known: VarlinkReply?
        /// The reason why the last lookup failed. Nil if it did not fail.
        var failure: CollectorConnectionError?

        /// The time at which the task stops waiting. A record that has not been looked up yet gets a grace period, so
        /// that a task with a short timeout does not stop waiting before the first lookup.
        var end: KernelInstant {
            known == nil && failure == nil ? record.deadline.advanced(by: AwaitQueue.gracePeriod) : record.deadline
        }

        var hasEnded: Bool { record.reply.isFinished }

        /// Resumes the task with the last reply or, if there is none, with an error.
        func finish() {
            record.reply.finish(known.map { .success($0) } ?? .failure(failure ?? CollectorConnectionError.timedOut))
        }
    }

    /// The maximum number of calls in a batch.
    private static let batchSize = 256
    /// The maximum time that the first call of a repeated batch waits in the daemon.
    private static let pollTime: Duration = .milliseconds(100)
    /// Unless many records of a repeated batch are settled, the next repeated batch is sent after at least `pollTime`,
    /// and after at least this value times the number of calls in the batch. A thousand calls a second cost the daemon
    /// about 5 % of a processor.
    private static let timePerCall: Duration = .milliseconds(1)
    /// The additional time for a record that has not been looked up yet.
    private static let gracePeriod: Duration = .seconds(15)

    /// Records that have not been looked up yet.
    private var new: [Entry] = []
    /// Records to look up again, in the order of their last lookup, oldest first.
    private var pending: [Entry] = []
    private var inFlight: [Entry] = []
    /// The number of calls in flight that have been answered.
    private var replyCount = 0
    private var isBatchOfNew = false
    private var settledCount = 0
    private var nextPoll = KernelInstant.distantPast
    private var busyUntil = KernelInstant.distantPast
    /// A time that is not later than `end` of any entry.
    private var nextEnd = KernelInstant.distantFuture

    func add(_ record: AwaitedRecord) {
        new.append(Entry(record: record))
        nextEnd = min(nextEnd, record.deadline)
    }

    var isActive: Bool { !new.isEmpty || !pending.isEmpty || !inFlight.isEmpty }
    var wantsReplies: Bool { true }
    var deadline: KernelInstant? { isActive ? nextEnd : nil }

    var nextSend: KernelInstant? {
        guard inFlight.isEmpty else { return nil }
        if !new.isEmpty { return busyUntil }
        return pending.isEmpty ? nil : max(nextPoll, busyUntil)
    }

    func removeFinished(at now: KernelInstant) -> Bool {
        // The lists are searched only when a batch is due, since thousands of tasks may be cancelled one after another.
        if let time = nextSend, time <= now {
            new.removeAll { $0.hasEnded }
            pending.removeAll { $0.hasEnded }
        }
        if nextEnd <= now { endOverdue(at: now) }
        // Replies for cancelled tasks are read and ignored.
        return true
    }

    private func endOverdue(at now: KernelInstant) {
        let unanswered = inFlight.dropFirst(replyCount)
        nextEnd = .distantFuture
        for entry in new + pending + unanswered {
            if entry.end <= now { entry.finish() }
            if !entry.hasEnded { nextEnd = min(nextEnd, entry.end) }
        }
        new.removeAll { $0.hasEnded }
        pending.removeAll { $0.hasEnded }
    }

    func nextMessage(at now: KernelInstant) -> [UInt8]? {
        guard let time = nextSend, time <= now else { return nil }
        isBatchOfNew = !new.isEmpty
        settledCount = 0
        replyCount = 0
        // How long the next call may wait in the daemon.
        var timeout = Duration.zero
        if isBatchOfNew {
            inFlight = Self.takeBatch(of: &new)
        } else {
            inFlight = Self.takeBatch(of: &pending)
            timeout = max(.zero, min(Self.pollTime, now.duration(to: nextEnd)))
            nextPoll = now.advanced(by: max(Self.pollTime, Self.timePerCall * inFlight.count))
        }
        var writer = JSONWriter()
        for entry in inFlight {
            let parameters = AwaitParameters(
                id: entry.record.id, destination: entry.record.destination, timeout: timeout)
            VarlinkCall.encode(CollectorMethod.await.fullName, parameters, to: &writer)
            timeout = .zero
        }
        return writer.bytes
    }

    private static func takeBatch(of entries: inout [Entry]) -> [Entry] {
        let batch = Array(entries.prefix(batchSize))
        entries.removeFirst(batch.count)
        return batch
    }

    func received(_ reply: VarlinkReply, at now: KernelInstant) -> Bool {
        if case .busy(let delay)? = CollectorError(reply) {
            busyUntil = now.advanced(by: min(max(delay, Self.pollTime), .seconds(1)))
        }
        // A daemon with too many connections refuses a new one before it reads a call.
        guard replyCount < inFlight.count else { return false }
        let entry = inFlight[replyCount]
        replyCount += 1
        if !entry.hasEnded { process(reply, for: entry) }
        if replyCount == inFlight.count { endBatch() }
        return true
    }

    private func process(_ reply: VarlinkReply, for entry: Entry) {
        var entry = entry
        if let error = CollectorError(reply) {
            guard case .busy = error, entry.record.retries else {
                entry.record.reply.finish(.failure(CollectorConnectionError.refused(error)))
                return
            }
            entry.failure = .refused(error)
            keep(entry)
        } else if let fates = try? AwaitReply(json: reply.parameters).fates,
            fates.contains(where: { $0.outcome == .pending })
        {
            entry.known = reply
            entry.failure = nil
            keep(entry)
        } else {
            settledCount += 1
            entry.record.reply.finish(.success(reply))
        }
    }

    private func keep(_ entry: Entry) {
        pending.append(entry)
        nextEnd = min(nextEnd, entry.end)
    }

    private func endBatch() {
        // If many records of the batch are settled, the next batch is sent immediately, since many of its records are
        // probably settled, too.
        if !isBatchOfNew, 4 * settledCount >= inFlight.count { nextPoll = .distantPast }
        inFlight = []
        replyCount = 0
    }

    func connectFailed(_ error: CollectorConnectionError, at now: KernelInstant) {
        pending += new
        new = []
        for index in pending.indices {
            pending[index].failure = error
            if !pending[index].record.retries { pending[index].record.reply.finish(.failure(error)) }
            nextEnd = min(nextEnd, pending[index].end)
        }
        pending.removeAll { $0.hasEnded }
    }

    func disconnected(_ error: CollectorConnectionError, wasUsed: Bool) {
        let unanswered = inFlight.dropFirst(replyCount)
        endBatch()
        for var entry in unanswered where !entry.hasEnded {
            guard wasUsed || entry.record.retries else {
                entry.record.reply.finish(.failure(error))
                continue
            }
            entry.failure = error
            keep(entry)
        }
    }
}

// MARK: Streams

/// The call of a ``CollectorStream``.
final class StreamCall: CallWork {
    private var message: [UInt8]?
    private var wanted: PendingReply?
    // True between two replies too, since the connection stays open until the stream ends.
    private(set) var isActive = true

    init(message: [UInt8], reply: PendingReply) {
        self.message = message
        wanted = reply
    }

    func await(_ reply: PendingReply) {
        wanted = reply
    }

    /// Ends the stream. A task that waits for a reply gets the error.
    func end(_ error: CollectorConnectionError) {
        isActive = false
        wanted.take()?.finish(.failure(error))
    }

    var wantsReplies: Bool { wanted != nil }
    var nextSend: KernelInstant? { message == nil ? nil : .distantPast }
    var deadline: KernelInstant? { nil }

    func removeFinished(at now: KernelInstant) -> Bool { isActive }
    func nextMessage(at now: KernelInstant) -> [UInt8]? { message.take() }

    func received(_ reply: VarlinkReply, at now: KernelInstant) -> Bool {
        isActive = reply.continues
        wanted.take()?.finish(reply.result)
        return isActive
    }

    func connectFailed(_ error: CollectorConnectionError, at now: KernelInstant) { end(error) }
    func disconnected(_ error: CollectorConnectionError, wasUsed: Bool) { end(error) }
}

extension KernelInstant {
    fileprivate static let distantPast = KernelInstant(nanoseconds: .min)
    fileprivate static let distantFuture = KernelInstant(nanoseconds: .max)
}
