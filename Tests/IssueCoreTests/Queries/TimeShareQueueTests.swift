import IssueCore
import Testing

@Suite("Sharing threads by time")
struct TimeShareQueueTests {
    private func queue(maxRunningPerUser: Int = 1) -> TimeShareQueue<String> {
        TimeShareQueue(slice: .seconds(1), maxRunningPerUser: maxRunningPerUser)
    }

    @Test("Users are charged for the time their items took, not for the number of items")
    func time() throws {
        var queue = queue()
        for number in 1...20 {
            queue.append("slow \(number)", user: 1)
            queue.append("quick \(number)", user: 2)
        }
        var taken: [UInt32: Int] = [:]
        for _ in 0..<22 {
            let nextTaken = queue.take()
            let next = try #require(nextTaken)
            taken[next.user, default: 0] += 1
            queue.finished(user: next.user, after: next.user == 1 ? .seconds(10) : .milliseconds(1))
        }
        #expect(taken == [1: 2, 2: 20])
    }

    @Test("A new user's first item is next, however many items of others are waiting")
    func newcomer() throws {
        var queue = queue()
        for user in 1...10 as ClosedRange<UInt32> {
            for _ in 0..<100 { queue.append("old", user: user) }
        }
        for _ in 0..<30 {
            let nextTaken = queue.take()
            let next = try #require(nextTaken)
            queue.finished(user: next.user, after: .seconds(1))
        }
        queue.append("new", user: 11)
        #expect(queue.take()?.item == "new")
    }

    @Test("A user who starts later gets no credit for the time before")
    func noCredit() throws {
        var queue = queue()
        for _ in 0..<100 { queue.append("busy", user: 1) }
        for _ in 0..<10 {
            let nextTaken = queue.take()
            let next = try #require(nextTaken)
            queue.finished(user: next.user, after: .seconds(1))
        }
        for _ in 0..<100 { queue.append("late", user: 2) }
        var taken: [UInt32: Int] = [:]
        for _ in 0..<20 {
            let nextTaken = queue.take()
            let next = try #require(nextTaken)
            taken[next.user, default: 0] += 1
            queue.finished(user: next.user, after: .seconds(1))
        }
        #expect(taken == [1: 10, 2: 10])
    }

    @Test("Items of one user keep their order, and their concurrency is limited")
    func ordered() throws {
        var queue = queue(maxRunningPerUser: 2)
        for number in 1...200 { queue.append("\(number)", user: 1) }
        #expect(queue.take()?.item == "1")
        #expect(queue.take()?.item == "2")
        #expect(queue.take() == nil)
        for number in 3...200 {
            queue.finished(user: 1, after: .zero)
            #expect(queue.take()?.item == "\(number)")
        }
        queue.finished(user: 1, after: .zero)
        #expect(queue.take() == nil)
    }

    @Test("After its slice an item yields only to users who have used less time")
    func yields() throws {
        var queue = queue()
        queue.append("first", user: 1)
        queue.append("second", user: 1)
        _ = queue.take()
        #expect(!queue.mustYield(user: 1, after: .seconds(9)))
        queue.append("other", user: 2)
        #expect(!queue.mustYield(user: 1, after: .milliseconds(999)))
        #expect(queue.mustYield(user: 1, after: .seconds(1)))
        _ = queue.take()
        // No other user has an item that may run now.
        #expect(!queue.mustYield(user: 1, after: .seconds(9)))
        #expect(!queue.mustYield(user: 2, after: .seconds(9)))
    }

    @Test("Users without work are forgotten")
    func forgets() throws {
        var queue = queue()
        queue.append("long", user: 0)
        _ = queue.take()
        for user in 1...10_000 as ClosedRange<UInt32> {
            queue.append("a", user: user)
            _ = queue.take()
            queue.finished(user: user, after: .seconds(1))
        }
        queue.finished(user: 0, after: .seconds(1))
        queue.append("b", user: 7)
        queue.append("c", user: 8)
        #expect(queue.take()?.user == 7)
    }

    @Test("A user who may not run now is passed over without a charge, and removed items do not run")
    func passedOver() {
        var queue = queue()
        for user in 1...3 as ClosedRange<UInt32> {
            queue.append("first of \(user)", user: user)
            queue.append("second of \(user)", user: user)
        }
        let passing = queue.take { $0 != 1 }
        #expect(passing?.item == "first of 2")
        queue.removeAll(of: 3) { $0 == "first of 3" }
        let next = queue.take { $0 != 1 }
        #expect(next?.item == "second of 3")
        queue.finished(user: 3, after: .seconds(1))
        #expect(queue.take()?.item == "first of 1")
        queue.removeAll(of: 1) { _ in true }
        queue.removeAll(of: 2) { _ in true }
        queue.finished(user: 1, after: .zero)
        queue.finished(user: 2, after: .zero)
        #expect(queue.take() == nil)
    }
}
