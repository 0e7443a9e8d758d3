import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The gate of the log")
struct LogGateTests {
    @Test("lets readers in while it is open, and tells nobody when they leave")
    func open() {
        let gate = ReaderGate()
        gate.enter()
        gate.enter()
        #expect(!gate.leave())
        #expect(!gate.leave())
        #expect(gate.close())
    }

    @Test("is clear once the last of those who were inside has left, who is told so")
    func clear() {
        let gate = ReaderGate()
        gate.enter()
        gate.enter()
        #expect(!gate.close())
        #expect(!gate.leave())
        #expect(gate.leave())
        #expect(gate.close())
    }

    @Test("has readers wait until it is opened, so that nobody is inside before")
    func waits() throws {
        let gate = ReaderGate()
        #expect(gate.close())
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
