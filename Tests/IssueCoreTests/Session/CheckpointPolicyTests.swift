import IssueCore
import Testing

@Suite("The WAL")
struct CheckpointPolicyTests {
    @Test("The WAL is checkpointed after a certain growth, and not again without further growth")
    func enough() {
        var pace = CheckpointPolicy(pages: 100)
        #expect(pace.next(walPages: 99, reportsWait: false) == .none)
        #expect(pace.next(walPages: 100, reportsWait: false) == .copy)
        pace.copied(walPages: 100)
        #expect(pace.next(walPages: 20, reportsWait: false) == .none)
        #expect(pace.next(walPages: 100, reportsWait: false) == .none)
    }

    @Test("If reports wait, a checkpoint is postponed until after one commit, but not longer")
    func waitingReports() {
        var pace = CheckpointPolicy(pages: 100)
        #expect(pace.next(walPages: 99, reportsWait: true) == .none)
        #expect(pace.next(walPages: 100, reportsWait: true) == .commitFirst)
        #expect(pace.next(walPages: 110, reportsWait: true) == .copy)
        pace.copied(walPages: 110)
        #expect(pace.next(walPages: 100, reportsWait: true) == .commitFirst)
        #expect(pace.next(walPages: 101, reportsWait: false) == .copy)
        // A WAL that must be reset may be close to its limit, so the reset is not postponed.
        pace.copied(walPages: 101)
        #expect(pace.next(walPages: 210, reportsWait: true) == .restart)
    }

    @Test("The WAL is left alone after a checkpoint until it grows")
    func copied() {
        var pace = CheckpointPolicy(pages: 100)
        pace.copied(walPages: 80)
        #expect(pace.next(walPages: 80, reportsWait: false) == .none)
        #expect(pace.next(walPages: 179, reportsWait: false) == .none)
        #expect(pace.next(walPages: 180, reportsWait: false) == .copy)
    }

    @Test("The WAL is checkpointed again after little growth if a reader has kept part of it from being copied")
    func incomplete() {
        var pace = CheckpointPolicy(pages: 80)
        #expect(pace.next(walPages: 80, reportsWait: false) == .copy)
        pace.copied(walPages: 80, isComplete: false)
        #expect(pace.next(walPages: 89, reportsWait: false) == .none)
        #expect(pace.next(walPages: 90, reportsWait: false) == .copy)
        pace.copied(walPages: 90, isComplete: true)
        #expect(pace.next(walPages: 159, reportsWait: false) == .none)
        // A reset waits for readers, so it is not repeated as often.
        #expect(pace.next(walPages: 170, reportsWait: false) == .restart)
        pace.copied(walPages: 170, isComplete: false)
        #expect(pace.next(walPages: 249, reportsWait: false) == .none)
        #expect(pace.next(walPages: 250, reportsWait: false) == .restart)
    }

    @Test("From the second checkpoint on, a reset of the WAL is tried if readers have kept the WAL growing")
    func readers() {
        var pace = CheckpointPolicy(pages: 100)
        #expect(pace.next(walPages: 100, reportsWait: false) == .copy)
        pace.copied(walPages: 100)
        for length in [200, 300] {
            #expect(pace.next(walPages: length, reportsWait: false) == .restart)
            pace.copied(walPages: length)
            #expect(pace.next(walPages: length + 99, reportsWait: false) == .none)
        }
        // Now the WAL has been reset.
        #expect(pace.next(walPages: 90, reportsWait: false) == .none)
        #expect(pace.next(walPages: 110, reportsWait: false) == .copy)
    }

    @Test("The WAL is reset for each commit that finds the disk full")
    func space() {
        var pace = CheckpointPolicy(pages: 100)
        pace.copied(walPages: 120)
        for _ in 0..<3 {
            pace.diskWasFull()
            #expect(pace.next(walPages: 150, reportsWait: false) == .restart)
            pace.copied(walPages: 150)
            #expect(pace.next(walPages: 150, reportsWait: false) == .none)
        }
        pace.diskWasFull()
        #expect(pace.next(walPages: 0, reportsWait: false) == .none)
    }
}
