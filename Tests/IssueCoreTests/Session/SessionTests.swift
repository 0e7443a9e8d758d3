import IssueCore
import Testing

@Suite("The order of calls on one connection")
struct SessionTests {
    @Test("lets reports follow each other before the first is answered")
    func pipelines() {
        var session = Session()
        #expect(session.reportArrived() == .begin)
        #expect(session.reportArrived() == .begin)
        #expect(!session.isIdle)
        #expect(session.reportAnswered() == .none)
        #expect(session.reportAnswered() == .resume)
        #expect(session.isIdle)
    }

    @Test("holds a question until all reports before it are answered, so that who asks sees what he reported")
    func holdsQuestion() {
        var session = Session()
        _ = session.reportArrived()
        #expect(session.questionArrived() == .hold)
        #expect(session.reportAnswered() == .resume)
        #expect(session.questionArrived() == .begin)
    }

    @Test("holds whatever comes after a question until its last reply")
    func holdsBehindQuestion() {
        var session = Session()
        #expect(session.questionArrived() == .begin)
        #expect(session.questionArrived() == .hold)
        #expect(session.reportArrived() == .hold)
        #expect(session.questionAnswered() == .resume)
        #expect(session.reportArrived() == .begin)
    }

    @Test("drops what comes from a client that is gone, and still ends what had begun")
    func drops() {
        var session = Session()
        _ = session.reportArrived()
        session.closed()
        #expect(session.reportArrived() == .drop)
        #expect(session.questionArrived() == .drop)
        #expect(!session.isIdle)
        #expect(session.reportAnswered() == .resume)
        #expect(session.isIdle)
    }
}
