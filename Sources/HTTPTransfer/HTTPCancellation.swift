import CCurl
import Synchronization

/// Ends transfers from another thread: at once those that run, and every later
/// one before it begins.
package final class HTTPCancellation: Sendable {
    /// What `curl_multi_wakeup` needs; it is the one function of libcurl that
    /// may be called while another thread uses the handle.
    @safe
    private struct Sleeper: @unchecked Sendable {
        let multi: UnsafeMutableRawPointer
    }

    private struct State {
        var isCancelled = false
        var sleepers: [Sleeper] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    package func cancel() {
        state.withLock { state in
            state.isCancelled = true
            // Under the lock, because a transfer leaves the list under it too:
            // so the handle lives. The call writes to an eventfd, no more.
            for sleeper in state.sleepers {
                _ = unsafe curl_multi_wakeup(sleeper.multi)
            }
        }
    }

    func add(_ multi: UnsafeMutableRawPointer) {
        let sleeper = unsafe Sleeper(multi: multi)
        state.withLock { $0.sleepers.append(sleeper) }
    }

    func remove(_ multi: UnsafeMutableRawPointer) {
        let sleeper = unsafe Sleeper(multi: multi)
        state.withLock { state in
            if let index = state.sleepers.firstIndex(where: { unsafe $0.multi == sleeper.multi }) {
                state.sleepers.remove(at: index)
            }
        }
    }
}
