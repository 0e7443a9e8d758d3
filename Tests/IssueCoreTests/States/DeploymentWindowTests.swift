import IssueProtocol
import Testing

@testable import IssueCore

@Suite("What happened with a deployment")
struct DeploymentWindowTests {
    private func time(_ second: Int64) -> IssueTimestamp { IssueTimestamp(millisecondsSince1970: second * 1000) }

    @Test("A group is new if it began after the last deployment, and gone if it ended between the last two")
    func changes() throws {
        let window = try #require(DeploymentWindow([time(20), time(10), time(5)]))
        for (first, newest, change) in [
            (20, 20, .new), (21, 30, .new), (19, 30, nil), (1, 20, nil), (1, 19, .gone), (12, 15, .gone),
            (1, 10, .gone), (1, 9, nil), (6, 7, nil),
        ] as [(Int64, Int64, DeploymentChange?)] {
            #expect(window.change(first: time(first), newest: time(newest)) == change, "\(first) to \(newest)")
        }
    }

    @Test("Without a deployment before the last one, every group that ended before it is gone")
    func onlyOne() throws {
        let window = try #require(DeploymentWindow([time(20)]))
        #expect(window.change(first: time(0), newest: time(1)) == .gone)
        #expect(window.change(first: time(20), newest: time(21)) == .new)
        #expect(DeploymentWindow([IssueTimestamp]()) == nil)
    }
}
