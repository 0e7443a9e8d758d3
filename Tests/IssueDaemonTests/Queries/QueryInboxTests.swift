import IssueProtocol
import IssueStore
import Testing

@testable import IssueDaemon

@Suite("Questions that wait")
struct QueryInboxTests {
    private func question(_ id: String, from connection: UInt64, user: UInt32 = 1000) -> QueryJob {
        QueryJob(
            connection: connection, viewer: .everything,
            process: ReportingProcess(
                connection: connection, sender: Sender(uid: user, gid: user, pid: 1), startTime: 0),
            work: .show(id))
    }

    private func rest(of inbox: inout QueryInbox) -> [UInt64] {
        var connections: [UInt64] = []
        while let job = inbox.take() { connections.append(job.connection) }
        return connections
    }

    @Test("Of a connection that is gone none is answered, of all others each")
    func gone() {
        var inbox = QueryInbox()
        for connection in [1, 2, 1, 3, 1] as [UInt64] { inbox.asked(question("a", from: connection)) }
        inbox.closed(1)
        inbox.closed(4)
        #expect(rest(of: &inbox).sorted() == [2, 3])
        #expect(inbox.take() == nil)
    }

    @Test("What was taken before its connection went makes nobody else's wait")
    func takenBefore() {
        var inbox = QueryInbox()
        inbox.asked(question("a", from: 1))
        #expect(inbox.take()?.connection == 1)
        inbox.closed(1)
        inbox.asked(question("b", from: 1))
        #expect(rest(of: &inbox) == [1])
    }
}
