import IssueCore
import Testing

@Suite("The WAL")
struct CheckpointPaceTests {
    @Test("is checkpointed after a certain growth, and again after the same growth")
    func enough() {
        var pace = CheckpointPolicy(pages: 100)
        #expect(pace.next(walPages: 99) == .none)
        #expect(pace.next(walPages: 100) == .copy)
        pace.copied(walPages: 100)
        #expect(pace.next(walPages: 20) == .none)
        #expect(pace.next(walPages: 100) == .none)
    }

    @Test("is left alone after a checkpoint until it grows")
    func copied() {
        var pace = CheckpointPolicy(pages: 100)
        pace.copied(walPages: 80)
        #expect(pace.next(walPages: 80) == .none)
        #expect(pace.next(walPages: 179) == .none)
        #expect(pace.next(walPages: 180) == .copy)
    }

    @Test("is restarted at the second checkpoint if readers keep it from restarting")
    func readers() {
        var pace = CheckpointPolicy(pages: 100)
        #expect(pace.next(walPages: 100) == .copy)
        pace.copied(walPages: 100)
        for length in [200, 300] {
            #expect(pace.next(walPages: length) == .restart)
            pace.copied(walPages: length)
            #expect(pace.next(walPages: length + 99) == .none)
        }
        // Now it has restarted.
        #expect(pace.next(walPages: 90) == .none)
        #expect(pace.next(walPages: 110) == .copy)
    }

    @Test("is restarted for each commit that finds the disk full")
    func space() {
        var pace = CheckpointPolicy(pages: 100)
        pace.copied(walPages: 120)
        for _ in 0..<3 {
            pace.diskWasFull()
            #expect(pace.next(walPages: 150) == .restart)
            pace.copied(walPages: 150)
            #expect(pace.next(walPages: 150) == .none)
        }
        pace.diskWasFull()
        #expect(pace.next(walPages: 0) == .none)
    }
}
