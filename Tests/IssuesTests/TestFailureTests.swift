import Issues
import Synchronization
import Testing

private struct Refused: Error {
    var code = 7
}

@Suite("Reports in a test")
struct TestFailureTests {
    @Test("A message fails the test with its text and location")
    func message() {
        withKnownIssue {
            reportIssue("The till is stuck")
        } matching: { issue in
            issue.description == "Issue recorded (error): The till is stuck" && issue.sourceLocation?.line == #line - 2
                && issue.sourceLocation?.fileID == #fileID
        }
    }

    @Test("An issue without a message fails the test as well", arguments: [nil, ""])
    func defaultMessage(text: String?) {
        withKnownIssue {
            reportIssue(text)
        } matching: {
            $0.description == "Issue recorded (error)"
        }
    }

    @Test("A reported error fails the test, and the failure contains the original error value")
    func error() {
        withKnownIssue {
            reportIssue(Refused(code: 3), "Paying")
        } matching: {
            ($0.error as? Refused)?.code == 3 && $0.description == "Caught error: Refused(code: 3) (error): Paying"
        }
    }

    @Test("Reports of levels below error do not fail a test", arguments: [IssueLevel.debug, .info, .warning])
    func warning(level: IssueLevel) {
        // If these reports failed a test, it would be this one.
        reportIssue("Only a \(level.rawValue) (this line is expected)", level: level)
        reportIssue(Refused(), "Only a \(level.rawValue) (this line is expected)", level: level)
    }

    @Test("The text of a failure ends with the metadata")
    func metadata() {
        withKnownIssue {
            reportIssue("The till is stuck", metadata: ["till": 2])
        } matching: {
            $0.description == "Issue recorded (error): The till is stuck {\"till\":2}"
        }
        withKnownIssue {
            reportIssue(metadata: ["till": 2])
        } matching: {
            $0.description == "Issue recorded (error): {\"till\":2}"
        }
    }

    @Test("Each of a hundred failures with different long texts is recorded with its own text")
    func many() {
        let texts = (0..<100).map { "issue \($0) \(String(repeating: "ö", count: $0 % 100))" }
        let expected = Set(texts.map { "Issue recorded (error): \($0)" })
        let seen = Mutex<Set<String>>([])
        withKnownIssue {
            for text in texts { reportIssue(text) }
        } matching: {
            let description = $0.description
            seen.withLock { _ = $0.insert(description) }
            return expected.contains(description)
        }
        #expect(seen.withLock(\.count) == 100)
    }

    @Test("With other reporters, the test does not fail")
    func others() {
        let collector = Collector()
        withIssueReporters([collector]) { reportIssue("for the collector") }
        #expect(collector.messages == ["for the collector"])
    }

    @Test("An issue that is reported in withIssueContext fails the test at the location given there")
    func context() async {
        func supports(
            fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
            column: UInt = #column
        ) {
            withIssueContext(fileID: fileID, filePath: filePath, line: line, column: column) {
                reportIssue("from within")
            }
        }
        withKnownIssue {
            supports()
        } matching: {
            $0.sourceLocation?.line == #line - 2
        }
        await withKnownIssue {
            await withIssueContext(fileID: "A/B.swift", filePath: "/A/B.swift", line: 7, column: 1) {
                await Task.yield()
                reportIssue("from within")
            }
        } matching: {
            $0.sourceLocation?.fileID == "A/B.swift" && $0.sourceLocation?.line == 7
        }
    }
}
