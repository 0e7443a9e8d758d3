import Glibc
import Synchronization
import UnixIO

/// The open sockets of a client. Another thread may shut them down, which ends every call that reads or writes them.
final class TransferSockets: Sendable {
    private struct State {
        var open: Set<CInt> = []
        var isOverdue = false
    }

    private let state = Mutex(State())

    /// `true` if the watchdog has ended the current or the last transfer.
    var isOverdue: Bool { state.withLock { $0.isOverdue } }

    /// Adds a socket. libcurl closes it with ``close(_:)``.
    func add(_ socket: CInt) {
        state.withLock { _ = $0.open.insert(socket) }
    }

    /// Closes a socket, and returns the result of close(2).
    func close(_ socket: CInt) -> CInt {
        // Removed first: afterwards, another file may have the same number.
        state.withLock { _ = $0.open.remove(socket) }
        return Glibc.close(socket)
    }

    /// Shuts down all connections in both directions. The descriptors stay open, since libcurl still uses them.
    func shutDown() {
        state.withLock { state in
            for socket in state.open {
                _ = shutdown(socket, CInt(SHUT_RDWR))
                // Discards the received bytes. The TLS library could need many seconds to process them. For TCP,
                // MSG_TRUNC discards them without copying: see tcp(7).
                let flags = CInt(MSG_TRUNC | MSG_DONTWAIT)
                while recv(socket, nil, 1 << 20, flags) > 0 {}
            }
        }
    }

    fileprivate func begin() {
        state.withLock { $0.isOverdue = false }
    }

    fileprivate func end() {
        state.withLock { $0.isOverdue = true }
        shutDown()
    }
}

/// Ends transfers that libcurl does not end in time.
///
/// libcurl checks its time limits only between calls of the TLS library. A peer that sends TLS messages without data,
/// such as session tickets, faster than the library processes them keeps libcurl in one such call forever.
final class TransferWatchdog: Sendable {
    private struct Entry {
        var deadline: KernelInstant
        let sockets: TransferSockets
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        /// The time at which the thread wakes; nil if it waits for a transfer to begin.
        var wakesAt: KernelInstant?
        var isRunning = false
    }

    static let shared = TransferWatchdog()

    /// The time that libcurl has to end a transfer after its limit.
    static let grace: Duration = .seconds(1)

    private let state = Monitor(State())

    /// Begins to watch a transfer. Each client has at most one at a time.
    ///
    /// - Parameters:
    ///   - sockets: The sockets of the client.
    ///   - limit: The time limit of the transfer. Its sockets are shut down ``grace`` later, and again after each
    ///     further ``grace`` until ``end(_:)`` is called.
    func begin(_ sockets: TransferSockets, within limit: Duration) {
        sockets.begin()
        let deadline = MonotonicClock.now.advanced(by: max(limit, .zero)).advanced(by: Self.grace)
        let (isNew, isEarlier) = state.withLock { state in
            state.entries[ObjectIdentifier(sockets)] = Entry(deadline: deadline, sockets: sockets)
            let isNew = !state.isRunning
            state.isRunning = true
            // The thread may wake for a transfer that has already ended, which is cheaper than a signal per transfer.
            let isEarlier = state.wakesAt.map { deadline < $0 } ?? true
            if isEarlier { state.wakesAt = deadline }
            return (isNew, isEarlier)
        }
        if isEarlier { state.signal() }
        guard isNew, (try? Thread.start(name: "http-watch", body: run)) == nil else { return }
        // Without a thread, only libcurl's own limits apply. The next transfer tries to start one again.
        state.withLock { $0.isRunning = false }
    }

    /// Ends the watch of a transfer.
    func end(_ sockets: TransferSockets) {
        state.withLock { _ = $0.entries.removeValue(forKey: ObjectIdentifier(sockets)) }
    }

    private func run() {
        while true {
            let earliest = state.withLock { state in
                let earliest = state.entries.values.map(\.deadline).min()
                state.wakesAt = earliest
                return earliest
            }
            _ = state.wait(deadline: earliest) { $0.wakesAt == earliest ? nil : true }
            let now = MonotonicClock.now
            state.withLock { state in
                for (id, entry) in state.entries where entry.deadline <= now {
                    // Called with the lock held. Otherwise the client's next transfer could be ended instead.
                    entry.sockets.end()
                    // Repeated in case libcurl has opened another connection.
                    state.entries[id]?.deadline = now.advanced(by: Self.grace)
                }
            }
        }
    }
}
