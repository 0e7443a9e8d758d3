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

    @Test("A closed gate blocks readers until it is opened, but for at most a second")
    func waits() throws {
        let gate = ReaderGate()
        #expect(gate.close())
        let start = MonotonicClock.now
        gate.enter()
        #expect(start.duration(to: MonotonicClock.now) >= .seconds(1))
        #expect(!gate.close())
        #expect(gate.leave())
        let reader = try Thread.start(name: "reader") {
            gate.enter()
            _ = gate.leave()
        }
        #expect(gate.close())
        gate.open()
        reader.join()
        #expect(gate.close())
    }
}
