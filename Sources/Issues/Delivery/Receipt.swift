internal import IssueWire

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
        return try await Asking.onThread { () throws(DeliveryError) in
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
