import IssueCore
import Testing

@Suite("The log")
struct CheckpointPaceTests {
    @Test("is copied once it holds enough, and then when it holds as much again")
    func enough() {
        var pace = CheckpointPace(pages: 100)
        #expect(!pace.isDue(logPages: 99))
        #expect(pace.isDue(logPages: 100))
        pace.copied(isWhole: true, logPages: 100)
        #expect(!pace.isDue(logPages: 20))
        #expect(pace.isDue(logPages: 130))
    }

    @Test("that could not be copied whole is not tried again with each commit")
    func snapshot() {
        var pace = CheckpointPace(pages: 100)
        pace.copied(isWhole: false, logPages: 120)
        #expect(!pace.isDue(logPages: 219))
        #expect(pace.isDue(logPages: 220))
    }

    @Test("that has taken the last of the space is copied with each commit that finds none, so that it begins anew")
    func space() {
        var pace = CheckpointPace(pages: 100)
        pace.copied(isWhole: false, logPages: 120)
        for _ in 0..<3 {
            pace.lackedSpace()
            #expect(pace.isDue(logPages: 150))
            pace.copied(isWhole: false, logPages: 150)
            #expect(!pace.isDue(logPages: 150))
        }
        pace.lackedSpace()
        #expect(!pace.isDue(logPages: 0))
    }
}
