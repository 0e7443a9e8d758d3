import CLinux
import Glibc

/// A thread of our own, for work that blocks.
///
/// It leaves signals to the other threads. Whoever does not join it lets it
/// run to its end unobserved.
package struct Thread: ~Copyable, Sendable {
    private let handle: pthread_t

    private init(handle: pthread_t) {
        self.handle = handle
    }

    deinit {
        pthread_detach(handle)
    }

    /// Starts a thread; the kernel shows at most 15 bytes of its name.
    package static func start(
        name: String, stackSize: Int = 512 * 1024, body: @escaping @Sendable () -> Void
    ) throws(Errno) -> Thread {
        let work = unsafe Unmanaged.passRetained(ThreadBody(name: name, body: body))
        var handle = pthread_t()
        do throws(Errno) {
            try calling { unsafe clinux_thread_start(&handle, stackSize, runThread, work.toOpaque()) }
        } catch {
            unsafe work.release()
            throw error
        }
        return Thread(handle: handle)
    }

    /// Waits until the thread has ended.
    package consuming func join() {
        let handle = self.handle
        discard self
        _ = pthread_join(handle, nil)
    }
}

/// What a new thread is given.
private final class ThreadBody: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    let work = unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue()
    // Cut before the byte that would not fit, without halving a character.
    var name = work.name
    while name.utf8.count > 15 { name.removeLast() }
    _ = unsafe clinux_set_thread_name(name)
    work.body()
    return nil
}
