import IssueCore
import Testing

@Suite("A key with a deadline")
struct DeadlineQueueTests {
    private func at(_ seconds: Int) -> MonotonicInstant { MonotonicInstant(sinceBoot: .seconds(seconds)) }

    @Test("A key with a deadline is returned when its time has come, earliest first")
    func order() {
        var queue = DeadlineQueue<Int>()
        for seconds in [5, 3, 9, 1, 7] { queue.bring(seconds, by: at(seconds)) }
        #expect(queue.next == at(1))
        let tooEarly = queue.takeDue(at: at(0))
        #expect(tooEarly == nil)
        var due: [Int] = []
        while let key = queue.takeDue(at: at(7)) { due.append(key) }
        #expect(due == [1, 3, 5, 7])
        #expect(queue.next == at(9))
    }

    @Test("A key with a deadline is returned at its earliest deadline, and only once")
    func earliest() {
        var queue = DeadlineQueue<String>()
        queue.bring("a", by: at(5))
        queue.bring("a", by: at(8))
        #expect(queue.next == at(5))
        queue.bring("a", by: at(2))
        #expect(queue.next == at(2))
        #expect(queue.count == 1)
        let due = queue.takeDue(at: at(2))
        #expect(due == "a")
        #expect(queue.next == nil)
        // A key that was returned can be added again.
        queue.bring("a", by: at(8))
        #expect(queue.next == at(8))
    }

    @Test("A key with a deadline is not returned after it was removed")
    func removal() {
        var queue = DeadlineQueue<Int>()
        for key in 1...5 { queue.bring(key, by: at(key)) }
        queue.remove(1)
        queue.remove(4)
        queue.remove(99)
        var due: [Int] = []
        while let key = queue.takeDue(at: at(10)) { due.append(key) }
        #expect(due == [2, 3, 5])
    }

    @Test(
        "A key with a deadline is returned in order after any additions, moves and removals",
        arguments: 0..<4 as Range<UInt64>)
    func model(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            var queue = DeadlineQueue<Int>()
            var model: [Int: Int] = [:]
            for _ in 0..<60 {
                let (key, seconds) = (Int.random(in: 0..<20, using: &random), Int.random(in: 0..<40, using: &random))
                if Bool.random(using: &random) || model.isEmpty {
                    queue.bring(key, by: at(seconds))
                    model[key] = min(model[key] ?? seconds, seconds)
                } else {
                    queue.remove(key)
                    model[key] = nil
                }
                #expect(queue.next == model.values.min().map { at($0) })
                #expect(queue.count == model.count)
            }
            var times: [Int] = []
            while let key = queue.takeDue(at: at(40)) { times.append(model.removeValue(forKey: key) ?? -1) }
            #expect(times == times.sorted())
            #expect(model.isEmpty)
        }
    }
}
