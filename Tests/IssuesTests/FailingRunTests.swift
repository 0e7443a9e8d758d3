import IssueTestSupport
import Testing

/// A test of `Tests/Failing` with its expected result.
private struct FailingRun: CustomTestStringConvertible, Sendable {
    var test: String
    /// The texts that the output must contain.
    var output: [String]
    var passes = false

    var testDescription: String { test }

    init(_ test: String, output: String..., passes: Bool = false) {
        self.test = test
        self.output = output
        self.passes = passes
    }
}

private let ofSwiftTesting = [
    FailingRun("message", output: "Failing.swift:14:", "Issue recorded", "↳ text of message"),
    FailingRun("error", output: "Failing.swift:16:", "Caught error: Refused()", "↳ text of error"),
    FailingRun("defaultMessage", output: "Issue recorded"),
    FailingRun("warning", output: "warning", "text of warning", passes: true),
    FailingRun("metadata", output: "text of metadata {\"till\":2}"),
    FailingRun("detached", output: "Failing.swift:25:", "text of detached"),
    FailingRun("detachedError", output: "Caught error: Refused()", "text of detachedError"),
    FailingRun("departing", output: "text of deinit"),
    FailingRun("thread", output: "text of thread"),
    FailingRun("queue", output: "text of queue"),
    FailingRun("unimplementedCall", output: "Unimplemented: text of unimplementedCall …", "Invoked with:"),
    FailingRun("missing", output: "Known issue was not recorded", "text of missing"),
    FailingRun("expectedButSilent", output: "Expected issue to be reported: text of expectedButSilent"),
    FailingRun("known", output: "passed after", "2 known issues", passes: true),
    FailingRun("knownOnMainActor", output: "1 known issue", passes: true),
    FailingRun("many", output: "200 known issues", "text 199 of many ö", passes: true),
    FailingRun("context", output: "passed after", passes: true),
    FailingRun("silenced", output: "passed after", passes: true),
]

private let ofXCTest = [
    FailingRun("testMessage", output: "Failing.swift:14: error", "text of message"),
    FailingRun("testError", output: "Failing.swift:16: error", "Caught error: Refused(): text of error"),
    FailingRun("testWordless", output: "Failing.swift:18: error"),
    FailingRun("testWarning", output: "FailingXCTest/Failing.swift:20: warning: text of warning", passes: true),
    FailingRun("testDetached", output: "text of detached"),
    FailingRun("testDeparting", output: "text of deinit"),
    FailingRun("testThread", output: "text of thread"),
    FailingRun("testQueue", output: "text of queue"),
    FailingRun("testMissing", output: "Known issue was not recorded: text of missing"),
    FailingRun("testMissingLater", output: "Known issue was not recorded: text of missing later"),
    FailingRun("testKnown", output: "expected: text of known", "with 0 failures", passes: true),
    FailingRun("testExpected", output: "with 0 failures", passes: true),
    FailingRun("testContext", output: "with 0 failures", passes: true),
]

@Suite(
    "Tests that are expected to fail",
    .enabled(
        if: FailingPackage.folder != nil, "scripts/test builds Tests/Failing and sets ISSUED_TEST_FAILING"))
struct FailingRunTests {
    @Test(
        "In Swift Testing, a report from any thread or task fails the run unless it is a warning, expected or silenced",
        arguments: FailingPackage.Configuration.allCases, ofSwiftTesting)
    fileprivate func swiftTesting(configuration: FailingPackage.Configuration, run: FailingRun) async throws {
        try await check(run, by: .swiftTesting, configuration)
    }

    @Test(
        "In XCTest, a report from any thread or task fails the run unless it is a warning or expected",
        arguments: FailingPackage.Configuration.allCases, ofXCTest)
    fileprivate func xcTest(configuration: FailingPackage.Configuration, run: FailingRun) async throws {
        try await check(run, by: .xcTest, configuration)
    }

    private func check(
        _ run: FailingRun, by library: FailingPackage.Library, _ configuration: FailingPackage.Configuration
    ) async throws {
        let result = try await FailingPackage.run(run.test, by: library, configuration)
        #expect(result.end == .exit(run.passes ? 0 : 1), "\(result.text)")
        for text in run.output { #expect(result.text.contains(text), "\(result.text)") }
        // A run whose filter matches no test would also end with 0.
        #expect(result.text.contains("1 test"), "\(result.text)")
    }
}
