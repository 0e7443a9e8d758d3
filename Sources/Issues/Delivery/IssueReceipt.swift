package import IssueWire
internal import Synchronization

/// A handle to wait for the outcome of one reported issue.
///
/// Discarding a receipt has no effect on the delivery of the issue.
public struct IssueReceipt: Sendable {
    let state: ReceiptState

    /// Waits until the daemon has stored the issue on disk.
    ///
    /// If the daemon is not running, this function waits until it is.
    ///
    /// - Returns: The id of the record.
    /// - Throws: ``IssueDeliveryError`` if the record was not stored, for example because it was rejected, dropped or
    ///   withheld, or if its id is no longer known; `CancellationError` if the task was cancelled.
    public func stored() async throws -> String {
        try await state.outcome().id
    }

    /// Waits for a limited time until the daemon has stored the issue on disk.
    ///
    /// The timeout ends only the wait: the issue is still delivered when that becomes possible.
    ///
    /// - Parameter timeout: The maximum time to wait.
    /// - Returns: The id of the record.
    /// - Throws: ``IssueDeliveryError`` with the code ``IssueDeliveryError/Code/timedOut`` if the issue was not stored
    ///   in time; otherwise the errors of ``stored()``.
    public func stored(timeout: Duration) async throws -> String {
        try await stored(within: timeout).id
    }

    /// Waits until the fate of the issue at one or all destinations is no longer ``IssueFate/Outcome/pending``.
    ///
    /// Any number of tasks may wait. They share one thread and one connection to the daemon. If the daemon restarts
    /// meanwhile, they continue to wait.
    ///
    /// After the timeout, the function returns the fates that it received last, some of which may be pending. It throws
    /// an error if it has received none. If the issue is stored, but the first query for its fates has neither been
    /// answered nor failed within the timeout, the function waits up to 15 seconds longer.
    ///
    /// - Parameters:
    ///   - destination: The name of a destination. Nil waits for all destinations.
    ///   - timeout: The maximum time for storing the issue and then waiting for its fates.
    /// - Returns: The fate of the issue at the named destination, or at each destination. Empty if the daemon has no
    ///   destinations.
    /// - Throws: ``IssueDeliveryError`` if the issue was not stored in time or its id is unknown, or if the daemon
    ///   refuses the query, cannot be reached before the timeout, or has no destination with the given name.
    ///   `CancellationError` if the task was cancelled.
    public func delivered(
        to destination: String? = nil, timeout: Duration = .seconds(30)
    ) async throws -> [IssueFate] {
        let start = ContinuousClock.now
        let stored = try await stored(within: timeout)
        let parameters = AwaitParameters(
            id: stored.id, destination: destination,
            timeout: max(.zero, timeout - (ContinuousClock.now - start)))
        do {
            let reply = try await CollectorClient.current.fates(
                parameters, at: .init(found: stored.path), retries: true)
            return reply.fates
        } catch let error as CollectorConnectionError {
            throw IssueDeliveryError(error, destination: destination)
        }
    }

    private func stored(within timeout: Duration) async throws -> ReceiptState.Stored {
        if let known = state.known { return try known.get() }
        let state = state
        return try await withThrowingTaskGroup(of: ReceiptState.Stored.self) { group in
            group.addTask { try await state.outcome() }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw IssueDeliveryError(.timedOut, "The issue was not stored within \(timeout).")
            }
            defer { group.cancelAll() }
            guard let stored = try await group.next() else { throw CancellationError() }
            return stored
        }
    }
}

extension IssueReceipt: CustomStringConvertible {
    /// The current state: waiting, the id of the stored record, or the reason why there is no id.
    public var description: String {
        switch state.known {
        case nil: "waiting to be stored"
        case .success(let stored): "stored as \(stored.id)"
        case .failure(let error) where error.code == .unidentified: "\(error)"
        case .failure(let error): "not stored: \(error)"
        }
    }
}

/// The outcome of one submission, and the tasks that wait for it.
final class ReceiptState: Sendable {
    /// The location of a stored record.
    struct Stored: Sendable {
        var id: String
        /// The path of the socket of the daemon that stored the record.
        var path: String
    }

    typealias StoreResult = Result<Stored, IssueDeliveryError>

    private struct State {
        var outcome: StoreResult?
        var waiting: [ObjectIdentifier: PendingResult<Stored>] = [:]
    }

    private let state = Mutex(State())

    /// The outcome; nil while it is unknown.
    var known: StoreResult? { state.withLock { $0.outcome } }

    /// Sets the outcome and resumes the waiting tasks. Only the first call has an effect.
    func complete(_ outcome: StoreResult) {
        let waiting = state.withLock { state -> [ObjectIdentifier: PendingResult<Stored>] in
            guard state.outcome == nil else { return [:] }
            state.outcome = outcome
            defer { state.waiting = [:] }
            return state.waiting
        }
        for result in waiting.values { result.finish(outcome.mapError { $0 }) }
    }

    func fail(_ error: IssueDeliveryError) {
        complete(.failure(error))
    }

    /// Waits until the outcome is known. Throws ``IssueDeliveryError`` if the outcome is a failure, or
    /// `CancellationError` if the task is cancelled.
    func outcome() async throws -> Stored {
        let result = PendingResult<Stored>()
        let known = state.withLock { state in
            if state.outcome == nil { state.waiting[ObjectIdentifier(result)] = result }
            return state.outcome
        }
        if let known { result.finish(known.mapError { $0 }) }
        return try await result.value(begin: {}) {
            _ = state.withLock { $0.waiting.removeValue(forKey: ObjectIdentifier(result)) }
        }
    }
}

/// A result that one task waits for.
final class PendingResult<Value: Sendable>: Sendable {
    private enum State {
        case new
        case awaited(CheckedContinuation<Value, any Error>)
        case finished(Result<Value, any Error>)
    }

    private let state = Mutex(State.new)

    var isFinished: Bool {
        state.withLock { state in
            if case .finished = state { true } else { false }
        }
    }

    /// Waits for the result.
    ///
    /// - Parameters:
    ///   - begin: Called as soon as the task waits, unless the result is already known.
    ///   - onCancel: Called when the cancellation of the task has ended the wait.
    func value(begin: () -> Void, onCancel: @Sendable () -> Void) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Value, any Error>? in
                    if case .finished(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) } else { begin() }
            }
        } onCancel: {
            if finish(.failure(CancellationError())) { onCancel() }
        }
    }

    /// Sets the result, and resumes the task if it waits. Only the first call has an effect, and only that call returns
    /// `true`.
    @discardableResult
    func finish(_ result: Result<Value, any Error>) -> Bool {
        let previous = state.withLock { state in
            let previous = state
            if case .finished = previous { return previous }
            state = .finished(result)
            return previous
        }
        if case .finished = previous { return false }
        if case .awaited(let continuation) = previous { continuation.resume(with: result) }
        return true
    }
}
