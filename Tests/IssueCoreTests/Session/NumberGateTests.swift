import IssueCore
import Testing

@Suite("Numbered reports after a refused one")
struct NumberGateTests {
    @Test("are refused until one starts at or below the refused number")
    func refuses() {
        var gate = NumberGate()
        #expect(gate.arrived(1) == .take)
        gate.refused(10)
        #expect(!gate.isOpen)
        #expect(gate.arrived(11) == .refuse)
        #expect(gate.arrived(500) == .refuse)
        #expect(gate.arrived(10) == .take)
        #expect(gate.isOpen)
        #expect(gate.arrived(11) == .take)
    }

    @Test("are also accepted from a number below the refused one")
    func takesBelow() {
        var gate = NumberGate()
        gate.refused(10)
        #expect(gate.arrived(3) == .take)
        #expect(gate.arrived(99) == .take)
    }

    @Test("wait for the lowest of several refused numbers")
    func waitsForLowest() {
        var gate = NumberGate()
        gate.refused(10)
        gate.refused(20)
        #expect(gate.arrived(20) == .refuse)
        gate.refused(5)
        #expect(gate.arrived(10) == .refuse)
        #expect(gate.arrived(5) == .take)
    }
}
