import IssueCore
import Testing

struct LimitsSimulationTests {
    @Test(
        "Each record of the simulated hour is sent or summarised, each critical one sent, in up to 600 lines a minute"
    )
    func hour() {
        let simulation = LimitsSimulation()
        let minutes = simulation.minutes
        let received = minutes.reduce(0) { $0 + $1.received }
        let whole = minutes.reduce(0) { $0 + $1.whole }
        let summarized = minutes.reduce(0) { $0 + $1.summarized }
        #expect(received > 180_000)
        #expect(whole + summarized + simulation.suppressedAtEnd == received)
        #expect(minutes.allSatisfy { $0.wholeCritical == $0.critical })
        #expect(minutes.allSatisfy { $0.whole + $0.summaries <= 600 })
        // One issue 50 times a second for a quarter of an hour: six records at once, then one every five minutes.
        #expect(minutes[5..<20].reduce(0) { $0 + $1.whole } < 100)
    }
}
