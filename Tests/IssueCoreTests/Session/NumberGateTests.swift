import IssueCore
import Testing

@Suite("Numbered reports after a refused one")
struct NumberGateTests {
    @Test("Numbered reports after a refused one are refused until one starts at or below the refused number")
    func refuses() {
        var gate = NumberGate()
        #expect(gate.accepts(1) == true)
        gate.refused(10)
        #expect(!gate.isOpen)
        #expect(gate.accepts(11) == false)
        #expect(gate.accepts(500) == false)
        #expect(gate.accepts(10) == true)
        #expect(gate.isOpen)
        #expect(gate.accepts(11) == true)
    }

    @Test("Numbered reports after a refused one are also accepted from a number below the refused one")
    func takesBelow() {
        var gate = NumberGate()
        gate.refused(10)
        #expect(gate.accepts(3) == true)
        #expect(gate.accepts(99) == true)
    }

    @Test("Numbered reports after a refused one wait for the lowest of several refused numbers")
    func waitsForLowest() {
        var gate = NumberGate()
        gate.refused(10)
        gate.refused(20)
        #expect(gate.accepts(20) == false)
        gate.refused(5)
        #expect(gate.accepts(10) == false)
        #expect(gate.accepts(5) == true)
    }
}
