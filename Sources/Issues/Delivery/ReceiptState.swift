internal import Synchronization

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
