import Testing

@testable import IssueCore

@Suite("The load of a user")
struct UserLoadTests {
    private func load() -> UserLoad {
        UserLoad(limits: UserLoad.Limits(calls: 1000, replies: 500, quantum: 100, little: 10))
    }

    @Test("Above the limit no call begins, and a connection with much in flight continues at half the limit")
    func calls() {
        var load = load()
        load.changed(unanswered: 1001)
        #expect(!load.mayBegin(unanswered: 10, unread: 0))
        load.wait(7)
        load.changed(unanswered: -301)
        let tooEarly = load.takeResumable(underWay: { _ in 600 }, unread: { _ in 0 })
        #expect(tooEarly.isEmpty)
        load.changed(unanswered: -200)
        let woken = load.takeResumable(underWay: { _ in 600 }, unread: { _ in 0 })
        #expect(woken == [7])
        #expect(load.mayBegin(unanswered: 10, unread: 0))
        // The connection is woken only once.
        let again = load.takeResumable(underWay: { _ in 600 }, unread: { _ in 0 })
        #expect(again.isEmpty)
    }

    @Test("From half the limit a connection is read up to its share, and continues when half of that is answered")
    func shares() {
        var load = load()
        for _ in 0..<4 { load.began() }
        load.changed(unanswered: 500)
        let free = load.maxReadBytes(1, maxBytes: 64, underWay: 400, isInMessage: false)
        #expect(free == 64)
        load.changed(unanswered: 300)
        let above = load.maxReadBytes(1, maxBytes: 64, underWay: 250, isInMessage: false)
        #expect(above == 0)
        let below = load.maxReadBytes(2, maxBytes: 64, underWay: 249, isInMessage: false)
        #expect(below == 64)
        load.wait(1)
        load.wait(3)
        load.wait(4)
        // The others keep the user near the limit, which does not hold up connections below their share.
        let own: [UInt64: Int] = [1: 126, 3: 125, 4: 12]
        let woken = load.takeResumable(underWay: { own[$0] ?? 0 }, unread: { _ in 0 })
        #expect(woken == [3, 4])
        let again = load.takeResumable(underWay: { own[$0] ?? 0 }, unread: { _ in 0 })
        #expect(again.isEmpty)
        // The fewer connections there are, the more each may have.
        load.ended()
        let larger = load.takeResumable(underWay: { own[$0] ?? 0 }, unread: { _ in 0 })
        #expect(larger == [1])
    }

    @Test("A call larger than the limit begins if nothing else is in flight")
    func largeCall() {
        var load = load()
        load.changed(received: 5000)
        #expect(load.mayBegin(unanswered: 10, unread: 0))
    }

    @Test("Waiting connections are woken in the order in which they began to wait")
    func order() {
        var load = load()
        load.changed(unanswered: 2000)
        for connection: UInt64 in [3, 1, 2, 1, 3] { load.wait(connection) }
        load.disconnected(1)
        load.changed(unanswered: -2000)
        let woken = load.takeResumable(underWay: { _ in 100 }, unread: { _ in 0 })
        #expect(woken == [3, 2])
    }

    @Test("Only one of many incomplete messages is read at a time, so all of them are completed")
    func halves() {
        var load = load()
        load.changed(received: 1001)
        let first = load.maxReadBytes(1, maxBytes: 64, underWay: 100, isInMessage: true) > 0
        #expect(first)
        let second = load.maxReadBytes(2, maxBytes: 64, underWay: 100, isInMessage: true) > 0
        #expect(!second)
        let third = load.maxReadBytes(3, maxBytes: 64, underWay: 100, isInMessage: false) > 0
        #expect(!third)
        let stillFirst = load.maxReadBytes(1, maxBytes: 64, underWay: 100, isInMessage: true) > 0
        #expect(stillFirst)
        load.completed(1)
        let secondThen = load.maxReadBytes(2, maxBytes: 64, underWay: 100, isInMessage: true) > 0
        #expect(secondThen)
        let firstThen = load.maxReadBytes(1, maxBytes: 64, underWay: 100, isInMessage: true) > 0
        #expect(!firstThen)
        load.disconnected(2)
        let firstAgain = load.maxReadBytes(1, maxBytes: 64, underWay: 100, isInMessage: true) > 0
        #expect(firstAgain)
    }

    @Test("A connection with very little in flight continues above the limit, a little at a time")
    func little() {
        var load = load()
        load.changed(unanswered: 5000)
        #expect(load.mayBegin(unanswered: 9, unread: 0))
        let room = load.maxReadBytes(1, maxBytes: 64, underWay: 9, isInMessage: false)
        #expect(room == 10)
        load.read(1000)
        _ = load.hasTurn(inRound: 1, lastRead: 0)
        load.read(1000)
        let hasTurn = load.hasTurn(inRound: 1, lastRead: 9)
        #expect(hasTurn)
        // Unread replies of the user still prevent calls.
        load.changed(replies: 501)
        #expect(!load.mayBegin(unanswered: 0, unread: 0))
    }

    @Test("Unread replies keep their user from making further requests")
    func replies() {
        var load = load()
        load.changed(replies: 501)
        #expect(!load.mayBegin(unanswered: 10, unread: 0))
        load.wait(1)
        let tooEarly = load.takeResumable(underWay: { _ in 100 }, unread: { _ in 0 })
        #expect(tooEarly.isEmpty)
        load.changed(replies: -1)
        let woken = load.takeResumable(underWay: { _ in 100 }, unread: { _ in 0 })
        #expect(woken == [1])
    }

    @Test("From half the limit, connections with unread replies wait, and those that read them continue")
    func unread() {
        var load = load()
        load.changed(replies: 251)
        #expect(!load.mayBegin(unanswered: 0, unread: 10))
        #expect(load.mayBegin(unanswered: 0, unread: 9))
        load.wait(1)
        load.wait(2)
        let unread: [UInt64: Int] = [1: 242, 2: 9]
        let readers = load.takeResumable(underWay: { _ in 100 }, unread: { unread[$0] ?? 0 })
        #expect(readers == [2])
        load.changed(replies: -1)
        let all = load.takeResumable(underWay: { _ in 100 }, unread: { unread[$0] ?? 0 })
        #expect(all == [1])
    }

    @Test("Once a quantum was read in a round, further connections have their turn in the next round")
    func rounds() {
        var load = load()
        let atFirst = load.hasTurn(inRound: 1, lastRead: 100)
        #expect(atFirst)
        load.read(60)
        let inBetween = load.hasTurn(inRound: 1, lastRead: 100)
        #expect(inBetween)
        load.read(60)
        let atLast = load.hasTurn(inRound: 1, lastRead: 100)
        #expect(!atLast)
        let inNext = load.hasTurn(inRound: 2, lastRead: 100)
        #expect(inNext)
    }
}

/// The same calls while memory is not short.
extension UserLoad {
    private var fullAllowance: Allowance { Allowance(calls: limits.calls, replies: limits.replies) }

    func mayBegin(unanswered own: Int, unread: Int) -> Bool {
        mayBegin(unanswered: own, unread: unread, within: fullAllowance)
    }

    mutating func maxReadBytes(_ connection: UInt64, maxBytes: Int, underWay own: Int, isInMessage: Bool) -> Int {
        maxReadBytes(connection, maxBytes: maxBytes, underWay: own, isInMessage: isInMessage, within: fullAllowance)
    }

    mutating func takeResumable(underWay own: (UInt64) -> Int, unread: (UInt64) -> Int) -> [UInt64] {
        takeResumable(within: fullAllowance, underWay: own, unread: unread)
    }
}
