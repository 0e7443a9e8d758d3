import IssueCore
import Testing

@Suite("What a user has under way")
struct UserLoadTests {
    private func load() -> UserLoad {
        UserLoad(limits: UserLoad.Limits(calls: 1000, replies: 500, quantum: 100, little: 10))
    }

    @Test("Above the limit no call begins, until half of it is answered")
    func calls() {
        var load = load()
        load.changed(unanswered: 1001)
        #expect(!load.mayBegin(unanswered: 10, unread: 0))
        load.wait(7)
        load.changed(unanswered: -301)
        let tooEarly = load.takeWoken(underWay: { _ in 600 }, unread: { _ in 0 })
        #expect(tooEarly.isEmpty)
        load.changed(unanswered: -200)
        let woken = load.takeWoken(underWay: { _ in 600 }, unread: { _ in 0 })
        #expect(woken == [7])
        #expect(load.mayBegin(unanswered: 10, unread: 0))
        // It is told once.
        let again = load.takeWoken(underWay: { _ in 600 }, unread: { _ in 0 })
        #expect(again.isEmpty)
    }

    @Test("From half of the limit on a connection is read up to its share, and goes on when half of that is answered")
    func shares() {
        var load = load()
        for _ in 0..<4 { load.began() }
        load.changed(unanswered: 500)
        let free = load.mayRead(1, most: 64, underWay: 400, isInMessage: false)
        #expect(free == 64)
        load.changed(unanswered: 300)
        let above = load.mayRead(1, most: 64, underWay: 250, isInMessage: false)
        #expect(above == 0)
        let below = load.mayRead(2, most: 64, underWay: 249, isInMessage: false)
        #expect(below == 64)
        load.wait(1)
        load.wait(3)
        load.wait(4)
        // The others keep the user near his limit, which holds nobody up who has less than his share.
        let own: [UInt64: Int] = [1: 126, 3: 125, 4: 12]
        let woken = load.takeWoken(underWay: { own[$0] ?? 0 }, unread: { _ in 0 })
        #expect(woken == [3, 4])
        let again = load.takeWoken(underWay: { own[$0] ?? 0 }, unread: { _ in 0 })
        #expect(again.isEmpty)
        // The fewer there are, the more each may have.
        load.ended()
        let larger = load.takeWoken(underWay: { own[$0] ?? 0 }, unread: { _ in 0 })
        #expect(larger == [1])
    }

    @Test("A call larger than the limit begins where nothing else is under way")
    func largeCall() {
        var load = load()
        load.changed(received: 5000)
        #expect(load.mayBegin(unanswered: 10, unread: 0))
    }

    @Test("Those who wait are told in the order in which they have come to wait")
    func order() {
        var load = load()
        load.changed(unanswered: 2000)
        for connection: UInt64 in [3, 1, 2, 1, 3] { load.wait(connection) }
        load.disconnected(1)
        load.changed(unanswered: -2000)
        let woken = load.takeWoken(underWay: { _ in 100 }, unread: { _ in 0 })
        #expect(woken == [3, 2])
    }

    @Test("Of many halves of a message one is read on at a time, and so all come to their end")
    func halves() {
        var load = load()
        load.changed(received: 1001)
        let first = load.mayRead(1, most: 64, underWay: 100, isInMessage: true) > 0
        #expect(first)
        let second = load.mayRead(2, most: 64, underWay: 100, isInMessage: true) > 0
        #expect(!second)
        let third = load.mayRead(3, most: 64, underWay: 100, isInMessage: false) > 0
        #expect(!third)
        let stillFirst = load.mayRead(1, most: 64, underWay: 100, isInMessage: true) > 0
        #expect(stillFirst)
        load.completed(1)
        let secondThen = load.mayRead(2, most: 64, underWay: 100, isInMessage: true) > 0
        #expect(secondThen)
        let firstThen = load.mayRead(1, most: 64, underWay: 100, isInMessage: true) > 0
        #expect(!firstThen)
        load.disconnected(2)
        let firstAgain = load.mayRead(1, most: 64, underWay: 100, isInMessage: true) > 0
        #expect(firstAgain)
    }

    @Test("A connection with next to nothing under way goes on above the limit, a little at a time")
    func little() {
        var load = load()
        load.changed(unanswered: 5000)
        #expect(load.mayBegin(unanswered: 9, unread: 0))
        let room = load.mayRead(1, most: 64, underWay: 9, isInMessage: false)
        #expect(room == 10)
        load.read(1000)
        _ = load.hasTurn(inRound: 1, lastRead: 0)
        load.read(1000)
        let hasTurn = load.hasTurn(inRound: 1, lastRead: 9)
        #expect(hasTurn)
        // But for what it does not read itself.
        load.changed(replies: 501)
        #expect(!load.mayBegin(unanswered: 0, unread: 0))
    }

    @Test("Replies that nobody reads keep their user from asking for more")
    func replies() {
        var load = load()
        load.changed(replies: 501)
        #expect(!load.mayBegin(unanswered: 10, unread: 0))
        load.wait(1)
        let tooEarly = load.takeWoken(underWay: { _ in 100 }, unread: { _ in 0 })
        #expect(tooEarly.isEmpty)
        load.changed(replies: -1)
        let woken = load.takeWoken(underWay: { _ in 100 }, unread: { _ in 0 })
        #expect(woken == [1])
    }

    @Test("From half of the limit on, who leaves replies unread waits, and who reads his goes on")
    func unread() {
        var load = load()
        load.changed(replies: 251)
        #expect(!load.mayBegin(unanswered: 0, unread: 10))
        #expect(load.mayBegin(unanswered: 0, unread: 9))
        load.wait(1)
        load.wait(2)
        let unread: [UInt64: Int] = [1: 242, 2: 9]
        let readers = load.takeWoken(underWay: { _ in 100 }, unread: { unread[$0] ?? 0 })
        #expect(readers == [2])
        load.changed(replies: -1)
        let all = load.takeWoken(underWay: { _ in 100 }, unread: { unread[$0] ?? 0 })
        #expect(all == [1])
    }

    @Test("In one round no more than a quantum is read, and in the next one again")
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
