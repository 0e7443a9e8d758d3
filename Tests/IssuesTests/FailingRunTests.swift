import IssueTestSupport
import Testing

/// A test of the package with its expected result.
private struct FailingRun: CustomTestStringConvertible, Sendable {
    var test: String
    /// The texts that the output must contain.
    var says: [String]
    var passes = false

    var testDescription: String { test }

    init(_ test: String, says: String..., passes: Bool = false) {
        self.test = test
        self.says = says
        self.passes = passes
    }
}

private let ofSwiftTesting = [
    FailingRun("message", says: "Failing.swift:14:", "Issue recorded", "↳ text of message"),
    FailingRun("error", says: "Failing.swift:16:", "Caught error: Refused()", "↳ text of error"),
    FailingRun("defaultMessage", says: "Issue recorded"),
    FailingRun("warning", says: "warning", "text of warning", passes: true),
    FailingRun("metadata", says: "text of metadata {\"till\":2}"),
    FailingRun("detached", says: "Failing.swift:25:", "text of detached"),
    FailingRun("detachedError", says: "Caught error: Refused()", "text of detachedError"),
    FailingRun("departing", says: "text of deinit"),
    FailingRun("thread", says: "text of thread"),
    FailingRun("queue", says: "text of queue"),
    FailingRun("unimplementedCall", says: "Unimplemented: text of unimplementedCall …", "Invoked with:"),
    FailingRun("missing", says: "Known issue was not recorded", "text of missing"),
    FailingRun("expectedButSilent", says: "Expected issue to be reported: text of expectedButSilent"),
    FailingRun("known", says: "passed after", "2 known issues", passes: true),
    FailingRun("knownOnMainActor", says: "1 known issue", passes: true),
    FailingRun("many", says: "200 known issues", "text 199 of many ö", passes: true),
    FailingRun("context", says: "passed after", passes: true),
    FailingRun("silenced", says: "passed after", passes: true),
]

private let ofXCTest = [
    FailingRun("testMessage", says: "Failing.swift:14: error", "text of message"),
    FailingRun("testError", says: "Failing.swift:16: error", "Caught error: Refused(): text of error"),
    FailingRun("testWordless", says: "Failing.swift:18: error"),
    FailingRun("testWarning", says: "FailingXCTest/Failing.swift:20: warning: text of warning", passes: true),
    FailingRun("testDetached", says: "text of detached"),
    FailingRun("testDeparting", says: "text of deinit"),
    FailingRun("testThread", says: "text of thread"),
    FailingRun("testQueue", says: "text of queue"),
    FailingRun("testMissing", says: "Known issue was not recorded: text of missing"),
    FailingRun("testMissingLater", says: "Known issue was not recorded: text of missing later"),
    FailingRun("testKnown", says: "expected: text of known", "with 0 failures", passes: true),
    FailingRun("testExpected", says: "with 0 failures", passes: true),
    FailingRun("testContext", says: "with 0 failures", passes: true),
]

@Suite(
    "Tests that are expected to fail",
    .enabled(
        if: FailingPackage.folder != nil, "scripts/test builds Tests/Failing and sets ISSUED_TEST_FAILING"))
struct FailingRunTests {
    @Test(
        "Under Swift Testing, a report from any thread or task fails the run with its message",
        arguments: FailingPackage.Configuration.allCases, ofSwiftTesting)
    fileprivate func swiftTesting(configuration: FailingPackage.Configuration, run: FailingRun) async throws {
        try await check(run, by: .swiftTesting, configuration)
    }

    @Test(
        "Under XCTest, a report from any thread or task fails the run with its message",
        arguments: FailingPackage.Configuration.allCases, ofXCTest)
    fileprivate func xcTest(configuration: FailingPackage.Configuration, run: FailingRun) async throws {
        try await check(run, by: .xcTest, configuration)
    }

    private func check(
        _ run: FailingRun, by library: FailingPackage.Library, _ configuration: FailingPackage.Configuration
    ) async throws {
        let result = try await FailingPackage.run(run.test, by: library, configuration)
        #expect(result.end == .exit(run.passes ? 0 : 1), "\(result.text)")
        for words in run.says { #expect(result.text.contains(words), "\(result.text)") }
        // A filter that matches no test would also end with 0.
        #expect(result.text.contains("1 test"), "\(result.text)")
    }
}
