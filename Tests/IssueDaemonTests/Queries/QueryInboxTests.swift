import IssueCore
import IssueProtocol
import IssueStore
import Testing

@testable import IssueDaemon

@Suite("Waiting queries")
struct QueryInboxTests {
    private func makeQuery(
        _ id: String, from connection: UInt64, user: UInt32 = 1000, isPrivileged: Bool = false
    ) -> QueryJob {
        QueryJob(
            connection: connection, queryToken: 0, viewer: .everything,
            process: ReportingProcess(
                connection: connection, sender: Sender(uid: user, gid: user, pid: 1), startTime: 0),
            isPrivileged: isPrivileged, work: .show(ShowParameters(id: id)))
    }

    private func rest(of inbox: inout QueryInbox) -> [UInt64] {
        var connections: [UInt64] = []
        while let (job, payer) = inbox.take(for: .shared) {
            connections.append(job.connection)
            _ = inbox.answered(payer, after: .zero, bytes: 0)
        }
        return connections
    }

    @Test("Queries of a closed connection are dropped, and all others are answered")
    func gone() {
        var inbox = QueryInbox(replies: ReplyBudget(limit: 64 << 20, limitPerUser: 16 << 20))
        for connection in [1, 2, 1, 3, 1] as [UInt64] { inbox.enqueue(makeQuery("a", from: connection)) }
        inbox.closed(1, user: 1000)
        inbox.closed(4, user: 1000)
        #expect(rest(of: &inbox).sorted() == [2, 3])
        #expect(inbox.take(for: .shared) == nil)
    }

    @Test("A query that was taken before its connection closed does not affect later queries")
    func takenBefore() throws {
        var inbox = QueryInbox(replies: ReplyBudget(limit: 64 << 20, limitPerUser: 16 << 20))
        inbox.enqueue(makeQuery("a", from: 1))
        let firstTaken = inbox.take(for: .shared)
        let first = try #require(firstTaken)
        #expect(first.job.connection == 1)
        _ = inbox.answered(first.payer, after: .zero, bytes: 0)
        inbox.closed(1, user: 1000)
        inbox.enqueue(makeQuery("b", from: 1))
        #expect(rest(of: &inbox) == [1])
    }

    @Test("The operators' thread takes no queries of other users, even if both shared threads are busy")
    func operators() throws {
        var inbox = QueryInbox(replies: ReplyBudget(limit: 64 << 20, limitPerUser: 16 << 20))
        for user in 1...50 as ClosedRange<UInt32> { inbox.enqueue(makeQuery("a", from: UInt64(user), user: user)) }
        _ = inbox.take(for: .shared)
        _ = inbox.take(for: .shared)
        #expect(inbox.take(for: .privileged) == nil)
        inbox.enqueue(makeQuery("b", from: 100, user: 0, isPrivileged: true))
        #expect(inbox.take(for: .privileged)?.job.connection == 100)
    }

    @Test("Operators' queries leave one thread to other users")
    func othersThanOperators() throws {
        var inbox = QueryInbox(replies: ReplyBudget(limit: 64 << 20, limitPerUser: 16 << 20))
        for connection in 1...5 as ClosedRange<UInt64> {
            inbox.enqueue(makeQuery("a", from: connection, user: 0, isPrivileged: true))
        }
        #expect(inbox.take(for: .shared) == nil)
        #expect(inbox.take(for: .mixed)?.job.connection == 1)
        inbox.enqueue(makeQuery("b", from: 6))
        inbox.enqueue(makeQuery("b", from: 7, user: 1001))
        #expect(inbox.take(for: .mixed)?.job.connection == 6)
        #expect(inbox.take(for: .shared)?.job.connection == 7)
    }

    @Test("Only one query of a user is answered at a time, even if other threads are free")
    func oneAtATime() throws {
        var inbox = QueryInbox(replies: ReplyBudget(limit: 64 << 20, limitPerUser: 16 << 20))
        for connection in [1, 2] as [UInt64] { inbox.enqueue(makeQuery("a", from: connection)) }
        let firstTaken = inbox.take(for: .shared)
        let first = try #require(firstTaken)
        #expect(inbox.take(for: .shared) == nil)
        inbox.enqueue(makeQuery("b", from: 3, user: 1001))
        #expect(inbox.take(for: .shared)?.job.connection == 3)
        _ = inbox.answered(first.payer, after: .seconds(1), bytes: 0)
        #expect(inbox.take(for: .shared)?.job.connection == 2)
    }

    @Test("A query waits while replies to other users use up the memory, and the thread asks for memory once")
    func lacksRoom() throws {
        var inbox = QueryInbox(replies: ReplyBudget(limit: 6 << 20, limitPerUser: 16 << 20))
        #expect(inbox.repliesChanged(of: 1, by: 3 << 20) == false)
        inbox.enqueue(makeQuery("a", from: 10))
        guard case .requestMemory = inbox.nextAction(for: .shared) else {
            Issue.record("The thread did not ask for memory")
            return
        }
        #expect(inbox.nextAction(for: .shared) == nil)
        // The memory reserved for operators is still available to them.
        inbox.enqueue(makeQuery("b", from: 11, user: 0, isPrivileged: true))
        #expect(inbox.take(for: .privileged)?.job.connection == 11)

        // Disconnecting a client frees memory, and the waiting queries continue.
        #expect(inbox.repliesChanged(of: 1, by: -(3 << 20)) == true)
        #expect(inbox.take(for: .shared)?.job.connection == 10)
    }

    @Test("A query waits for its user's earlier replies without asking for memory, and is woken when they are read")
    func waitsForUser() {
        var inbox = QueryInbox(replies: ReplyBudget(limit: 64 << 20, limitPerUser: 4 << 20))
        #expect(inbox.repliesChanged(of: 1000, by: 3 << 20) == false)
        inbox.enqueue(makeQuery("a", from: 10))
        #expect(inbox.nextAction(for: .shared) == nil)
        #expect(inbox.repliesChanged(of: 1000, by: -(3 << 20)) == true)
        #expect(inbox.take(for: .shared)?.job.connection == 10)
    }

    @Test(
        "A reply counts with the maximum size while it is prepared, then with its own size until it is sent")
    func reservation() throws {
        var inbox = QueryInbox(replies: ReplyBudget(limit: 6 << 20, limitPerUser: 16 << 20))
        for connection in 1...3 as ClosedRange<UInt64> {
            inbox.enqueue(makeQuery("a", from: connection, user: UInt32(connection)))
        }
        let firstTaken = inbox.take(for: .shared)
        let secondTaken = inbox.take(for: .shared)
        let (first, second) = (try #require(firstTaken), try #require(secondTaken))
        #expect(inbox.take(for: .shared) == nil)
        #expect(inbox.answered(first.payer, after: .zero, bytes: 1) == true)
        #expect(inbox.take(for: .shared) == nil)
        #expect(inbox.answered(second.payer, after: .zero, bytes: 0) == true)
        #expect(inbox.take(for: .shared)?.job.connection == 3)
        inbox.enqueue(makeQuery("a", from: 4, user: 4))
        #expect(inbox.take(for: .shared) == nil)
        #expect(inbox.repliesChanged(of: 1, by: -1) == true)
        #expect(inbox.take(for: .shared)?.job.connection == 4)
    }

    @Test("Queries of clients that have disconnected are removed at once, even while none can be answered")
    func hungUp() throws {
        var inbox = QueryInbox(replies: ReplyBudget(limit: 6 << 20, limitPerUser: 16 << 20))
        _ = inbox.repliesChanged(of: 1, by: 6 << 20)
        for connection in 1...3000 as ClosedRange<UInt64> {
            inbox.enqueue(makeQuery("a", from: connection))
            inbox.closed(connection, user: 1000)
        }
        _ = inbox.repliesChanged(of: 1, by: -(6 << 20))
        #expect(inbox.take(for: .mixed) == nil)
    }
}
