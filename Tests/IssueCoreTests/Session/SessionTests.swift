import IssueCore
import Testing

@Suite("The order of calls on one connection")
struct SessionTests {
    @Test("allows reports to be pipelined")
    func pipelines() {
        var session = Session()
        #expect(session.reportArrived() == .begin)
        #expect(session.reportArrived() == .begin)
        #expect(!session.isIdle)
        #expect(session.reportAnswered() == .none)
        #expect(session.reportAnswered() == .resume)
        #expect(session.isIdle)
    }

    @Test("holds a query until all earlier reports are answered, so that the client sees what it reported")
    func holdsQuestion() {
        var session = Session()
        _ = session.reportArrived()
        #expect(session.queryArrived() == .hold)
        #expect(session.reportAnswered() == .resume)
        #expect(session.queryArrived() == .begin)
    }

    @Test("holds everything after a query until its last reply")
    func holdsBehindQuestion() {
        var session = Session()
        #expect(session.queryArrived() == .begin)
        #expect(session.queryArrived() == .hold)
        #expect(session.reportArrived() == .hold)
        #expect(session.queryAnswered() == .resume)
        #expect(session.reportArrived() == .begin)
    }

    @Test("drops calls of a closed connection, and still completes those that had begun")
    func drops() {
        var session = Session()
        _ = session.reportArrived()
        session.closed()
        #expect(session.reportArrived() == .drop)
        #expect(session.queryArrived() == .drop)
        #expect(!session.isIdle)
        #expect(session.reportAnswered() == .resume)
        #expect(session.isIdle)
    }
}
