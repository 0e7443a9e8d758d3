import IssueProtocol
import Testing

@testable import IssueCore

@Suite("The deployments of an application")
struct DeploymentHistoryTests {
    private let noon = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000)

    @Test("A deployment without a build means all builds, and a leading v makes no difference")
    func knows() {
        let history = DeploymentHistory([
            .init(ApplicationVersion(text: "v2.0"), at: noon, isObserved: false),
            .init(ApplicationVersion(text: "2.1 (7)"), at: noon, isObserved: true),
        ])
        for (version, isKnown) in [
            ("2.0", true), ("V2.0", true), ("2.0 (7)", true), ("2.1 (7)", true), ("2.1 (8)", false), ("2.1", false),
            ("2", false), ("v", false),
        ] {
            #expect(history.knows(ApplicationVersion(text: version)) == isKnown, "\(version)")
        }
        #expect(!DeploymentHistory().knows(ApplicationVersion(text: "1")))
        #expect(ApplicationVersion(text: "vega").spelledUniformly == ApplicationVersion(text: "vega"))
    }

    @Test("An invalid parameter of Deploy is named")
    func parameters() {
        func invalid(_ change: (inout DeployParameters) -> Void) -> String? {
            var parameters = DeployParameters(app: "shop", version: "1.0")
            change(&parameters)
            return parameters.invalidParameter(at: noon)
        }
        func text(_ count: Int) -> String { String(repeating: "x", count: count) }
        #expect(invalid { $0.at = noon } == nil)
        #expect(invalid { $0.app = "" } == "app")
        #expect(invalid { $0.app = text(257) } == "app")
        #expect(invalid { $0.version = "" } == "version")
        #expect(invalid { $0.version = text(129) } == "version")
        #expect(invalid { $0.at = noon.advanced(by: .milliseconds(1)) } == "at")
        #expect(invalid { $0.at = IssueTimestamp(millisecondsSince1970: -1) } == "at")
        #expect(invalid { $0.commit = text(129) } == "commit")
        #expect(invalid { $0.note = text(1025) } == "note")
        #expect(invalid { $0.note = text(1024) } == nil)
    }

    @Test("Users declare deployments of their own applications, operators those of any")
    func rights() {
        let own = DeployParameters(app: "shop", version: "1")
        var named = own
        named.user = 7
        #expect(own.scope(requestedBy: 7, isOperator: false, isReused: false) == .user(7))
        #expect(named.scope(requestedBy: 7, isOperator: false, isReused: false) == .user(7))
        #expect(named.scope(requestedBy: 8, isOperator: false, isReused: false) == nil)
        // The id of a container or a dynamic user may belong to another user tomorrow.
        #expect(own.scope(requestedBy: 7, isOperator: false, isReused: true) == nil)
        #expect(own.scope(requestedBy: 8, isOperator: true, isReused: false) == .everyone)
        #expect(named.scope(requestedBy: 8, isOperator: true, isReused: false) == .user(7))
        #expect(DeploymentScope.everyone.uid == nil)
    }
}
