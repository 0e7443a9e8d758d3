import Foundation
import Glibc
import Testing
import UnixIO

@Suite("Threads")
struct ThreadTests {
    @Test("A thread runs under its name, cut to 15 bytes, and can be joined")
    func name() throws {
        let name = Monitor<String>("")
        let thread = try UnixIO.Thread.start(name: "issues-übertragung") {
            let comm = try? FileSystem.read("/proc/self/task/\(CurrentProcess.threadID)/comm", limit: 64)
            name.withLock { $0 = ProcessMetadata.command(inComm: comm ?? []) }
        }
        thread.join()
        #expect(name.withLock { $0 } == "issues-übertra")
    }

    @Test("A thread blocks most signals, but not those that its own faults cause")
    func signalMask() throws {
        let blocked = Monitor<[CInt: Bool]>([:])
        let thread = try UnixIO.Thread.start(name: "mask") {
            var mask = sigset_t()
            unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
            let found = [SIGTERM, SIGINT, SIGCHLD, SIGUSR1, SIGSEGV, SIGILL].map {
                ($0, unsafe sigismember(&mask, $0) == 1)
            }
            blocked.withLock { $0 = Dictionary(uniqueKeysWithValues: found) }
        }
        thread.join()
        #expect(
            blocked.withLock { $0 } == [
                SIGTERM: true, SIGINT: true, SIGCHLD: true, SIGUSR1: true, SIGSEGV: false, SIGILL: false,
            ])
    }

    @Test("The closure of a thread is released when the thread ends, joined or not")
    func release() throws {
        let count = Monitor(0)
        let thread = try UnixIO.Thread.start(name: "held") { [token = Token(count)] in _ = token }
        thread.join()
        #expect(count.withLock { $0 } == 1)

        do { _ = try UnixIO.Thread.start(name: "detached") { [token = Token(count)] in _ = token } }
        let deadline = MonotonicClock.now.advanced(by: .seconds(60))
        #expect(count.wait(deadline: deadline) { $0 == 2 ? true : nil } == true)
    }

    @Test("An impossible stack size is an error")
    func impossibleStack() {
        #expect(throws: Errno.invalidArgument) {
            _ = try UnixIO.Thread.start(name: "small", stackSize: 1) {}
        }
    }

    @Test("Waiting ends when another thread makes the condition true")
    func monitor() throws {
        let monitor = Monitor<[Int]>([])
        let thread = try UnixIO.Thread.start(name: "producer") {
            for number in 0..<100 {
                monitor.withLock { $0.append(number) }
                monitor.signal()
            }
        }
        var taken: [Int] = []
        while taken.count < 100 {
            let next: [Int]? = monitor.wait(deadline: MonotonicClock.now.advanced(by: .seconds(60))) { waiting in
                guard !waiting.isEmpty else { return nil }
                defer { waiting = [] }
                return waiting
            }
            guard let next else { break }
            taken += next
        }
        thread.join()
        #expect(taken == Array(0..<100))
    }

    @Test("Waiting ends at the deadline, and not earlier")
    func deadline() {
        let monitor = Monitor(0)
        let start = MonotonicClock.now
        let result: Int? = monitor.wait(deadline: start.advanced(by: .milliseconds(5))) { _ in nil }
        #expect(result == nil)
        #expect(start.duration(to: MonotonicClock.now) >= .milliseconds(5))
    }

    @Test("With a deadline in the past, there is a single attempt")
    func pastDeadline() {
        let monitor = Monitor(3)
        #expect(monitor.wait(deadline: KernelInstant(nanoseconds: -1)) { $0 == 4 ? $0 : nil } == nil)
        #expect(monitor.wait(deadline: KernelInstant(nanoseconds: 0)) { $0 == 3 ? $0 : nil } == 3)
    }
}

private final class Token: Sendable {
    let count: Monitor<Int>

    init(_ count: Monitor<Int>) {
        self.count = count
    }

    deinit {
        count.withLock { $0 += 1 }
        count.broadcast()
    }
}
