import IssueCore
import Testing

@Suite("The log")
struct CheckpointPaceTests {
    @Test("is copied once it holds enough, and then when it holds as much again")
    func enough() {
        var pace = CheckpointPace(pages: 100)
        #expect(pace.next(logPages: 99) == .rest)
        #expect(pace.next(logPages: 100) == .copy)
        pace.copied(logPages: 100)
        #expect(pace.next(logPages: 20) == .rest)
        #expect(pace.next(logPages: 100) == .rest)
    }

    @Test("that was copied is left alone until something is added to it")
    func copied() {
        var pace = CheckpointPace(pages: 100)
        pace.copied(logPages: 80)
        #expect(pace.next(logPages: 80) == .rest)
        #expect(pace.next(logPages: 179) == .rest)
        #expect(pace.next(logPages: 180) == .copy)
    }

    @Test("that some reader always keeps from beginning anew waits for him the second time")
    func readers() {
        var pace = CheckpointPace(pages: 100)
        #expect(pace.next(logPages: 100) == .copy)
        pace.copied(logPages: 100)
        for length in [200, 300] {
            #expect(pace.next(logPages: length) == .restart)
            pace.copied(logPages: length)
            #expect(pace.next(logPages: length + 99) == .rest)
        }
        // Now it has begun anew.
        #expect(pace.next(logPages: 90) == .rest)
        #expect(pace.next(logPages: 110) == .copy)
    }

    @Test("that has taken the last of the space begins anew with each commit that finds none")
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
