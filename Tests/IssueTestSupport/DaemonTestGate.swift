import Synchronization
import UnixIO

/// Lets a few tests with a daemon run at the same time, on threads of their own.
///
/// Swift Testing starts all tests at once, on as many threads as there are processors. Hundreds of daemons would run at
/// the same time, and tests would block these threads, so that other tests would exceed their timeouts.
enum DaemonTestGate {
    /// More than the processors of a small machine, since tests mostly wait for processes and deadlines.
    static let maxTests = 6

    @TaskLocal private static var isInside = false
    private static let executor = ThreadExecutor(threads: maxTests)
    private static let state = Mutex(State())

    private struct State: Sendable {
        var free = maxTests
        /// The tests that wait, in the order of their arrival.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// Runs `body` when fewer than `maxTests` others run. A nested call runs at once.
    static func run<Value>(_ body: () async throws -> Value) async throws -> Value {
        guard !isInside else { return try await body() }
        await enter()
        defer { leave() }
        return try await $isInside.withValue(true) {
            try await withTaskExecutorPreference(executor) { try await body() }
        }
    }

    private static func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    private static func leave() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            // The test that arrived last goes first. Otherwise, a suite whose tests run one after the other would wait
            // for all waiting tests of other suites before each of its own.
            if let last = state.waiting.popLast() { return last }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}

/// Runs tasks on its own threads, which they may block.
private final class ThreadExecutor: TaskExecutor {
    private let jobs = Monitor<[UnownedJob]>([])

    init(threads: Int) {
        for _ in 0..<threads {
            do throws(Errno) {
                _ = try Thread.start(name: "test", stackSize: 8 << 20) { [self] in work() }
            } catch {
                preconditionFailure("No thread could be started: \(error)")
            }
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        jobs.signal()
    }

    private func work() {
        while true {
            _ = jobs.wait { $0.isEmpty ? nil : true }
            // Another thread may have been faster.
            let job = jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if let job { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
}
