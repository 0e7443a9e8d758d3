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

    /// Returns a history of deployments a minute apart. Versions after a question mark were only observed.
    private func history(_ versions: String...) -> DeploymentHistory {
        DeploymentHistory(
            versions.enumerated().map { index, text in
                DeploymentHistory.Entry(
                    ApplicationVersion(text: text.replacing("?", with: "")),
                    at: noon.advanced(by: .seconds(60 * index)),
                    isObserved: text.hasPrefix("?"))
            })
    }

    private func expectFixes(
        _ history: DeploymentHistory, _ fixed: String, in versions: [String], notIn others: [String],
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        let fixed = ApplicationVersion(text: fixed)
        let found = (versions + others).filter { history.hasFix(ApplicationVersion(text: $0), of: fixed) }
        #expect(found == versions, sourceLocation: sourceLocation)
    }

    private func expectNewer(
        _ history: DeploymentHistory, than known: String, _ versions: [String], not others: [String],
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        let known = ApplicationVersion(text: known)
        let found = (versions + others).filter { history.isNewer(ApplicationVersion(text: $0), than: known) }
        #expect(found == versions, sourceLocation: sourceLocation)
    }

    @Test("The version with the fix and those deployed later have it, those deployed before it do not")
    func order() {
        let history = history("2.3", "2.4", "2.5 (7)", "2.5 (8)")
        expectFixes(history, "2.4", in: ["2.4", "v2.4", "2.4 (9)", "2.5 (7)", "2.5 (8)"], notIn: ["2.3", ""])
        expectFixes(history, "2.5 (8)", in: ["2.5 (8)"], notIn: ["2.5 (7)", "2.5", "2.4"])
        expectNewer(history, than: "2.4", ["2.5 (7)"], not: ["2.4", "2.3", "2.4 (9)", ""])
        #expect(history.newestDeclared == ApplicationVersion(text: "2.5 (8)"))
    }

    @Test("A hotfix of an old branch does not have the fix, although it is deployed later")
    func hotfix() {
        let history = history("10.17", "10.23", "10.24.0", "10.18.7", "10.23.1", "10.24.1")
        expectFixes(
            history, "10.24.0", in: ["10.24.0", "10.24.1"], notIn: ["10.17", "10.18.7", "10.23", "10.23.1"])
        // The fix is in a version that is not deployed yet.
        expectFixes(history, "10.25", in: ["10.25"], notIn: ["10.23.1", "10.24.1"])
        expectNewer(history, than: "10.24.0", ["10.24.1"], not: ["10.18.7", "10.23.1"])
    }

    @Test("A rollback to an older hash does not make this hash newer")
    func rollback() {
        let history = history("abc123", "def456", "abc123", "0123456", "def456")
        expectFixes(history, "def456", in: ["def456", "0123456"], notIn: ["abc123"])
        expectNewer(history, than: "def456", ["0123456"], not: ["abc123", "def456"])
        #expect(history.newestDeclared == ApplicationVersion(text: "0123456"))
    }

    @Test("Versions that are hashes have the order of their deployments, whatever order they were stored in")
    func hashes() {
        let times = ["c0ffee": 2, "beef00": 1, "dead01": 3]
        for order in [["c0ffee", "beef00", "dead01"], ["dead01", "beef00", "c0ffee"]] {
            let history = DeploymentHistory(
                order.map { text in
                    .init(
                        ApplicationVersion(text: text), at: noon.advanced(by: .seconds(times[text] ?? 0)),
                        isObserved: false)
                })
            expectFixes(history, "c0ffee", in: ["c0ffee", "dead01"], notIn: ["beef00"])
        }
    }

    @Test("A forged version does not affect the order of others, whether it was reported before or after the fix")
    func forged() {
        let history = history("2.3", "?999.9.9", "2.4", "?1000", "2.5")
        #expect(history.newestDeclared == ApplicationVersion(text: "2.5"))
        expectFixes(history, "2.4", in: ["2.4", "2.5", "1000"], notIn: ["2.3", "999.9.9"])
        expectNewer(history, than: "2.3", ["2.4", "2.5"], not: ["2.3"])
        // A fix that is not deployed yet is in no version that was only reported.
        expectFixes(history, "3.0", in: ["3.0"], notIn: ["999.9.9", "1000", "2.5"])
    }

    @Test("A report of a version before its deployment does not change its place")
    func reportedBefore() {
        let history = history("?c0ffee", "abc123", "def456", "c0ffee")
        expectFixes(history, "def456", in: ["def456", "c0ffee"], notIn: ["abc123"])
        expectFixes(history, "c0ffee", in: ["c0ffee"], notIn: ["abc123", "def456"])
    }

    @Test("A version that no one declared has the fix if it was first reported after the fix was deployed")
    func undeclared() {
        let history = history("?0a", "2.3", "?0b", "2.4", "?0c", "?2.3.1")
        expectFixes(history, "2.4", in: ["0c"], notIn: ["0a", "0b", "2.3.1"])
        // A version whose deployment was not stored because of a limit counts as later than all declared ones.
        expectFixes(history, "2.4", in: ["0d"], notIn: [])
    }

    @Test("A fix that is not deployed yet is in a deployed version with a higher number")
    func skipped() {
        let history = history("2.3", "2.5", "abc123")
        expectFixes(history, "2.4", in: ["2.4", "2.5"], notIn: ["2.3", "abc123", "2.6"])
        expectFixes(history, "def456", in: ["def456"], notIn: ["2.3", "2.5", "abc123"])
    }

    @Test("Without declared deployments versions are compared, and those without an order by their first reports")
    func fallback() {
        let history = history("?abc123", "?1.9", "?def456", "?2.0", "?1.8.1")
        expectFixes(
            history, "1.9", in: ["1.9", "2.0", "1.10"], notIn: ["1.8.1", "2.0-beta".replacing("2.0", with: "1.9")])
        expectFixes(history, "def456", in: ["def456"], notIn: ["abc123", "ffffff"])
        expectFixes(history, "abc123", in: ["abc123", "def456"], notIn: ["ffffff"])
        expectFixes(history, "ffffff", in: ["ffffff"], notIn: ["abc123", "def456"])
        #expect(history.newestDeclared == nil)
        // Any other version without an order is newer.
        expectNewer(history, than: "def456", ["abc123", "1.9"], not: ["def456", ""])
        expectNewer(
            DeploymentHistory(), than: "1.9 (3)", ["1.9 (4)", "1.10", "999.9.9"], not: ["1.9 (3)", "1.8", "1.9"])
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
