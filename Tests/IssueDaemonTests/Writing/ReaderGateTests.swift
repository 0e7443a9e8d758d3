import Glibc
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The reader gate")
struct ReaderGateTests {
    @Test("An open gate admits readers, and does not report when they leave")
    func open() {
        let gate = ReaderGate()
        gate.enter()
        gate.enter()
        #expect(!gate.leave())
        #expect(!gate.leave())
        #expect(gate.close())
    }

    @Test("A closed gate is empty when the last reader has left, which leave() reports")
    func clear() {
        let gate = ReaderGate()
        gate.enter()
        gate.enter()
        #expect(!gate.close())
        #expect(!gate.leave())
        #expect(gate.leave())
        #expect(gate.close())
    }

    @Test("A closed gate blocks readers for a second")
    func waits() {
        let gate = ReaderGate()
        #expect(gate.close())
        let start = MonotonicClock.now
        gate.enter()
        #expect(start.duration(to: MonotonicClock.now) >= .seconds(1))
        #expect(!gate.close())
        #expect(gate.leave())
    }

    @Test("A reader that waits at a closed gate continues when the gate is opened")
    func opened() throws {
        let gate = ReaderGate()
        // On a busy machine, the reader may be delayed for longer than it would wait.
        let isWoken = try (0..<10).contains { _ in
            #expect(gate.close())
            let isEntering = Monitor(false)
            let wait = Monitor(Duration.zero)
            let reader = try Thread.start(name: "reader") {
                let start = MonotonicClock.now
                isEntering.withLock { $0 = true }
                isEntering.broadcast()
                gate.enter()
                wait.withLock { $0 = start.duration(to: MonotonicClock.now) }
                _ = gate.leave()
            }
            _ = isEntering.wait { $0 ? true : nil }
            // So that the reader usually waits already.
            for _ in 0..<100 { sched_yield() }
            gate.open()
            reader.join()
            return wait.withLock { $0 } < .seconds(1)
        }
        #expect(isWoken)
    }
}
