import IssueCore
import Testing

@Suite("The WAL")
struct CheckpointPaceTests {
    @Test("is checkpointed after a certain growth, and again after the same growth")
    func enough() {
        var pace = CheckpointPace(pages: 100)
        #expect(pace.next(logPages: 99) == .rest)
        #expect(pace.next(logPages: 100) == .copy)
        pace.copied(logPages: 100)
        #expect(pace.next(logPages: 20) == .rest)
        #expect(pace.next(logPages: 100) == .rest)
    }

    @Test("is left alone after a checkpoint until it grows")
    func copied() {
        var pace = CheckpointPace(pages: 100)
        pace.copied(logPages: 80)
        #expect(pace.next(logPages: 80) == .rest)
        #expect(pace.next(logPages: 179) == .rest)
        #expect(pace.next(logPages: 180) == .copy)
    }

    @Test("is restarted at the second checkpoint if readers keep it from restarting")
    func readers() {
        var pace = CheckpointPace(pages: 100)
        #expect(pace.next(logPages: 100) == .copy)
        pace.copied(logPages: 100)
        for length in [200, 300] {
            #expect(pace.next(logPages: length) == .restart)
            pace.copied(logPages: length)
            #expect(pace.next(logPages: length + 99) == .rest)
        }
        // Now it has restarted.
        #expect(pace.next(logPages: 90) == .rest)
        #expect(pace.next(logPages: 110) == .copy)
    }

    @Test("is restarted for each commit that finds the disk full")
    func space() {
        var pace = CheckpointPace(pages: 100)
        pace.copied(logPages: 120)
        for _ in 0..<3 {
            pace.lackedSpace()
            #expect(pace.next(logPages: 150) == .restart)
            pace.copied(logPages: 150)
            #expect(pace.next(logPages: 150) == .rest)
        }
        pace.lackedSpace()
        #expect(pace.next(logPages: 0) == .rest)
    }
}
