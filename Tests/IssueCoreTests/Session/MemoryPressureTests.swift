import Testing

@testable import IssueCore

@Suite("The memory of all users")
struct MemoryPressureTests {
    private static let limits = UserLoad.Limits(calls: 600, replies: 700, quantum: 100, little: 10)

    private func time(_ seconds: Int) -> MonotonicInstant { MonotonicInstant(sinceBoot: .seconds(seconds)) }

    private func makePressure() -> MemoryPressure {
        MemoryPressure(
            calls: MemoryBudget(limit: 1000, guaranteed: 50), replies: MemoryBudget(limit: 1000, guaranteed: 40),
            limits: MemoryPressure.Limits(received: 500, unread: 400, stalledReplyTimeout: .seconds(4)))
    }

    @Test("Users may use their own limits until memory is short, and then what is free, but at least the minimum")
    func allowance() {
        var memory = makePressure()
        #expect(memory.allowance(within: Self.limits) == UserLoad.Allowance(calls: 600, replies: 700))
        memory.changed(calls: 300)
        memory.changed(received: 300)
        memory.changed(replies: 900)
        #expect(memory.allowance(within: Self.limits) == UserLoad.Allowance(calls: 400, replies: 100))
        memory.changed(replies: 90)
        #expect(memory.allowance(within: Self.limits) == UserLoad.Allowance(calls: 400, replies: 40))
    }

    @Test("Users who wait because memory is short continue when some is released, in order and once")
    func resumes() {
        var memory = makePressure()
        memory.throttled(1, within: Self.limits)
        memory.changed(calls: 900)
        memory.throttled(3, within: Self.limits)
        memory.throttled(2, within: Self.limits)
        memory.throttled(3, within: Self.limits)
        #expect(!memory.hasResumableUsers && memory.takeResumableUsers() == [])
        memory.changed(calls: -1)
        #expect(memory.hasResumableUsers)
        #expect(memory.takeResumableUsers() == [3, 2], "User 1 waits for their own calls only")
        #expect(!memory.hasResumableUsers && memory.takeResumableUsers() == [])
        memory.throttled(3, within: Self.limits)
        memory.changed(replies: -1)
        #expect(memory.takeResumableUsers() == [3])
    }

    @Test("Memory that was released while no user waited is forgotten")
    func forgets() {
        var memory = makePressure()
        memory.changed(calls: 900)
        memory.changed(calls: -1)
        #expect(memory.takeResumableUsers() == [])
        memory.throttled(3, within: Self.limits)
        #expect(memory.takeResumableUsers() == [])
    }

    @Test(
        "If partial messages exceed their limit, the oldest ones of users above an equal share are cut off"
    )
    func messages() throws {
        var memory = makePressure()
        memory.changed(received: 500)
        #expect(memory.messageCut == nil)
        memory.changed(received: 100)
        let cut = try #require(memory.messageCut)
        #expect(cut.kind == .message && cut.limit == 500)
        // An eighth of the limit is freed in addition: 438 bytes may stay.
        let holdings = (0..<10).map { holding(UInt64($0), 7, 55, at: 20 - $0) } + [holding(50, 8, 50, at: 0)]
        #expect(cut.connections(of: holdings) == [9, 8, 7])
        memory.changed(received: -100)
        #expect(memory.messageCut == nil)
    }

    @Test("If replies exceed their memory limit, unread ones are cut off")
    func replies() throws {
        var memory = makePressure()
        memory.changed(replies: 1000)
        #expect(memory.replyCut == nil)
        memory.changed(replies: 1)
        #expect(try #require(memory.replyCut).kind == .reply)
        #expect(try #require(memory.replyCut).limit == 1000)
        memory.changed(replies: -1)
        #expect(memory.replyCut == nil)
    }

    @Test(
        "While queries wait for memory, only replies whose clients no longer read are cut off; others are checked again"
    )
    func replyRoom() throws {
        var memory = makePressure()
        #expect(memory.replyDeadline == nil && memory.replyDeadlineReached(at: time(9)) == nil)
        memory.lacksReplyRoom(at: time(10))
        memory.lacksReplyRoom(at: time(11))
        #expect(memory.replyDeadline == time(10))
        #expect(memory.replyDeadlineReached(at: time(10)) == nil, "There is room")
        #expect(memory.replyDeadline == nil)
        memory.changed(unread: 401)
        memory.lacksReplyRoom(at: time(20))
        #expect(memory.replyDeadlineReached(at: time(19)) == nil)
        let due = memory.replyDeadlineReached(at: time(20))
        let cut = try #require(due)
        #expect(memory.replyDeadline == time(21))
        let holdings = [holding(1, 5, 200, at: 15), holding(2, 5, 200, at: 17), holding(3, 6, 10, at: 0)]
        #expect(cut.connections(of: holdings) == [1])
        #expect(cut.connections(of: [holding(1, 5, 200, at: 17), holding(2, 5, 201, at: 18)]) == [])
    }

    @Test("Closed connections are logged once a minute, with their number")
    func closed() {
        var memory = makePressure()
        #expect(memory.closed(2, at: time(0)) == 2)
        #expect(memory.closed(3, at: time(59)) == nil)
        #expect(memory.closed(1, at: time(60)) == 4)
    }

    @Test(
        "A change of a connection's bytes returns the difference, and whether the connection became active or inactive"
    )
    func bytes() {
        var bytes = ConnectionBytes()
        #expect(bytes.changed(inFlight: 0) == .unchanged)
        #expect(bytes.set(received: 10, memory: 64) == .init(bytes: 10, memory: 64, activity: .began))
        #expect(bytes.changed(inFlight: 5) == .unchanged)
        #expect(bytes.underWay == 15)
        #expect(bytes.set(received: 0, memory: 0) == .init(bytes: -10, memory: -64, activity: .unchanged))
        #expect(bytes.changed(inFlight: -5) == .ended)
        #expect(bytes == ConnectionBytes())
        let first = bytes.set(replies: 30, unreadMemory: 50, queryMemory: 100)
        #expect(first.change == .init(bytes: 30, memory: 150, activity: .unchanged) && first.unreadMemory == 50)
        #expect(bytes.replies == 30 && bytes.replyMemory == 150 && bytes.unreadMemory == 50)
        let second = bytes.set(replies: 20, unreadMemory: 0, queryMemory: 100)
        #expect(second.change == .init(bytes: -10, memory: -50, activity: .unchanged) && second.unreadMemory == -50)
    }
}
