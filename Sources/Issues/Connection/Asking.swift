internal import UnixIO

/// Work that blocks, for tasks.
package enum Asking {
    /// Does the work on a thread of its own.
    package static func onThread<Value: Sendable>(
        _ work: @escaping @Sendable () throws(DeliveryError) -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let body: @Sendable () -> Void = { continuation.resume(with: Result { try work() }) }
            do throws(Errno) {
                _ = try Thread.start(name: "issues-ask", body: body)
            } catch {
                continuation.resume(
                    throwing: DeliveryError(.unreachable, "No thread could be started to ask the daemon: \(error)."))
            }
        }
    }
}
