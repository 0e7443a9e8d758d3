import Glibc
import TestSockets
import Testing
import UnixIO

@Suite("Signals")
struct SignalTests {
    @Test("A blocked signal is read from a descriptor instead of ending the process")
    func receive() throws {
        // On a separate thread, so that the mask ends with it.
        let outcome = Monitor<[Signal?]>([])
        let thread = try Thread.start(name: "signals") {
            guard let receiver = try? SignalReceiver([Signal(rawValue: SIGUSR1), Signal(rawValue: SIGUSR2)]) else {
                return
            }
            var received: [Signal?] = [(try? receiver.next()) ?? nil]
            // Sent to this thread only, since others do not block it.
            _ = pthread_kill(pthread_self(), SIGUSR2)
            if (try? Readiness.wait(receiver.descriptor, for: .read, timeout: .seconds(60))) == true {
                received.append((try? receiver.next()) ?? nil)
            }
            received.append((try? receiver.next()) ?? nil)
            outcome.withLock { [received] in $0 = received }
        }
        thread.join()
        #expect(outcome.withLock { $0 } == [nil, Signal(rawValue: SIGUSR2), nil])
    }

    @Test("A system call interrupted by a signal is repeated")
    func interrupted() throws {
        // Without SA_RESTART, a handler makes the kernel return EINTR.
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { _ in }
        unsafe sigaction(firstRealTimeSignal() + 5, &action, nil)

        let pair = try SocketPair(nonBlocking: false)
        let reader = try pair.first.duplicate().release()
        let identity = Monitor<Identity?>(nil)
        let result = Monitor<[UInt8]?>(nil)
        let thread = try Thread.start(name: "reader") {
            let reader = FileDescriptor(owning: reader)
            // The parent process may have blocked the signal.
            var signals = sigset_t()
            unsafe sigaddset(&signals, firstRealTimeSignal() + 5)
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            identity.withLock { $0 = Identity(handle: pthread_self(), id: CurrentProcess.threadID) }
            identity.broadcast()
            var buffer: [UInt8] = []
            _ = try? reader.read(appendingTo: &buffer, atMost: 10)
            result.withLock { [buffer] in $0 = buffer }
        }
        let target = try #require(identity.wait { $0 })
        let deadline = MonotonicClock.now.advanced(by: .seconds(60))
        for _ in 0..<20 {
            // Only a thread that sleeps in the call can be interrupted.
            while !isAsleep(target.id), MonotonicClock.now < deadline { sched_yield() }
            pthread_kill(target.handle, firstRealTimeSignal() + 5)
        }
        try pair.second.sendAll([42])
        thread.join()
        #expect(result.withLock { $0 } == [42])
    }

    private func isAsleep(_ thread: Int32) -> Bool {
        let stat = (try? FileSystem.read("/proc/self/task/\(thread)/stat", limit: 4096)) ?? []
        return String(decoding: stat, as: UTF8.self).contains(") S ")
    }
}

private struct Identity: Sendable {
    let handle: pthread_t
    let id: Int32
}

private func firstRealTimeSignal() -> CInt { __libc_current_sigrtmin() }
