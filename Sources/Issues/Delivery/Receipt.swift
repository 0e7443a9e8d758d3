package import IssueWire
internal import Synchronization

/// The promise of an answer for one submitted issue.
///
/// It may be thrown away; the issue is delivered all the same.
public struct Receipt: Sendable {
    let state: ReceiptState

    /// Waits until the issue is on the daemon's disk, and answers its id there.
    ///
    /// While the daemon is away this waits for its return.
    ///
    /// - Returns: The id by which the daemon knows the record.
    /// - Throws: ``DeliveryError`` when the record was rejected or had to be
    ///   dropped, `CancellationError` when the task was cancelled.
    public func stored() async throws -> String {
        try await state.outcome().id
    }

    /// Waits until something has become of the issue: delivered, summarised or given up.
    ///
    /// After the timeout the answer says what is known then, a fate of
    /// ``IssueFate/Outcome/pending`` included. Where the daemon forwards to
    /// nobody the answer is empty.
    ///
    /// - Parameters:
    ///   - destination: Which destination is meant; all of them if nil.
    ///   - timeout: How long to wait at most.
    /// - Returns: What became of it, for each destination.
    /// - Throws: ``DeliveryError`` when it was not stored in that time, the
    ///   daemon could not be asked, or it forwards to no destination of that name.
    public func delivered(
        to destination: String? = nil, timeout: Duration = .seconds(30)
    ) async throws -> [IssueFate] {
        let start = ContinuousClock.now
        let stored = try await stored(within: timeout)
        let rest = max(.zero, timeout - (ContinuousClock.now - start))
        return try await BlockingCall.onThread { () throws(DeliveryError) in
            do throws(CollectorConnectionError) {
                return try Self.fates(of: stored, for: destination, within: rest)
            } catch {
                throw DeliveryError(error, destination: destination)
            }
        }
    }

    private static func fates(
        of stored: ReceiptState.Stored, for destination: String?, within timeout: Duration
    ) throws(CollectorConnectionError) -> [IssueFate] {
        var connection = try CollectorConnection(paths: [stored.path])
        // The daemon keeps the time itself; what is added is for its answer to arrive.
        let reply: AwaitReply = try connection.call(
            .await, AwaitParameters(id: stored.id, destination: destination, timeout: timeout),
            timeout: timeout + .seconds(15))
        return reply.fates.map { IssueFate($0) }
    }

    private func stored(within timeout: Duration) async throws -> ReceiptState.Stored {
        let state = state
        return try await withThrowingTaskGroup(of: ReceiptState.Stored.self) { group in
            group.addTask { try await state.outcome() }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw DeliveryError(.timedOut, "The issue was not stored within \(timeout).")
            }
            defer { group.cancelAll() }
            guard let stored = try await group.next() else { throw CancellationError() }
            return stored
        }
    }
}

extension Receipt: CustomStringConvertible {
    /// What is known by now: that it is waiting, its id, or why it was not stored.
    public var description: String {
        switch state.known {
        case nil: "waiting to be stored"
        case .success(let stored): "stored as \(stored.id)"
        case .failure(let error): "not stored: \(error)"
        }
    }
}

/// What became of one submission, and who waits to hear it.
final class ReceiptState: Sendable {
    /// Where a record is.
    struct Stored: Sendable {
        var id: String
        /// The socket of the daemon that has it.
        var path: String
    }

    typealias Outcome = Result<Stored, DeliveryError>

    private struct State {
        var outcome: Outcome?
        var waiting: [Int: CheckedContinuation<Stored, any Error>] = [:]
        var nextTicket = 0
        // Tickets whose tasks were cancelled before they began to wait.
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())

    /// What became of it by now.
    var known: Outcome? { state.withLock { $0.outcome } }

    /// Says what became of it; only the first time counts.
    func complete(_ outcome: Outcome) {
        let waiting = state.withLock { state -> [CheckedContinuation<Stored, any Error>] in
            guard state.outcome == nil else { return [] }
            state.outcome = outcome
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume(with: outcome.mapError { $0 }) }
    }

    func fail(_ error: DeliveryError) {
        complete(.failure(error))
    }

    /// Waits until something has become of it, or the task is cancelled.
    func outcome() async throws -> Stored {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                wait(with: continuation, ticket: ticket)
            }
        } onCancel: {
            cancel(ticket)
        }
    }

    private func wait(with continuation: CheckedContinuation<Stored, any Error>, ticket: Int) {
        let known: Result<Stored, any Error>? = state.withLock { state in
            if state.cancelled.remove(ticket) != nil { return .failure(CancellationError()) }
            if let outcome = state.outcome { return outcome.mapError { $0 } }
            state.waiting[ticket] = continuation
            return nil
        }
        if let known { continuation.resume(with: known) }
    }

    private func cancel(_ ticket: Int) {
        let continuation = state.withLock { state in
            let continuation = state.waiting.removeValue(forKey: ticket)
            if continuation == nil, state.outcome == nil { state.cancelled.insert(ticket) }
            return continuation
        }
        continuation?.resume(throwing: CancellationError())
    }
}

/// What became of an issue for one destination.
public struct IssueFate: Hashable, Sendable {
    /// One of the ways in which an issue can end.
    public struct Outcome: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The word for it on the wire.
        public var rawValue: String

        /// An outcome by its word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It is still to be sent.
        public static let pending = Outcome(rawValue: "pending")
        /// The destination has it.
        public static let delivered = Outcome(rawValue: "delivered")
        /// The destination was told how many there were.
        public static let summarised = Outcome(rawValue: "summarised")
        /// It was given up, and can be tried again by hand.
        public static let deadLettered = Outcome(rawValue: "dead_lettered")
        /// It was never meant to be forwarded.
        public static let withheld = Outcome(rawValue: "withheld")
        /// It grew too old before it could be sent.
        public static let expired = Outcome(rawValue: "expired")
        /// It was sent to a destination that never answers.
        public static let unconfirmed = Outcome(rawValue: "unconfirmed")

        /// The word for it on the wire.
        public var description: String { rawValue }
    }

    /// The destination's name.
    public var destination: String
    /// What became of it.
    public var outcome: Outcome
    /// How many times it was sent.
    public var attempts: Int
    /// When that was.
    public var timestamp: IssueTimestamp?
    /// What the destination said.
    public var answer: String?
    /// Whether the destination may have it twice.
    public var maybeDuplicate: Bool

    package init(_ fate: DestinationFate) {
        destination = fate.destination
        outcome = Outcome(rawValue: fate.fate.name)
        attempts = Int(clamping: fate.attempts)
        timestamp = fate.at.map { IssueTimestamp($0) }
        answer = fate.answer
        maybeDuplicate = fate.maybeDuplicate
    }
}

extension IssueFate: CustomStringConvertible {
    /// Where, what, when, and what the destination said, in one line.
    public var description: String {
        var text = "\(destination): \(outcome)"
        if attempts > 0 { text += attempts == 1 ? ", 1 attempt" : ", \(attempts) attempts" }
        if let timestamp { text += ", \(timestamp)" }
        if let answer { text += ", \(answer)" }
        return maybeDuplicate ? text + ", perhaps received twice" : text
    }
}
