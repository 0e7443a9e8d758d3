import UnixIO

/// Runs blocking work on a thread of its own and returns its result.
///
/// All tests of a process run on a few threads. A test that blocks one of them delays the others, perhaps beyond their
/// timeouts.
package func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do throws(Errno) {
            _ = try Thread.start(name: "blocking") { continuation.resume(with: Result { try work() }) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
