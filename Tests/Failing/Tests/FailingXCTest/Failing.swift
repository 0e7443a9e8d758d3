import Dispatch
import Foundation
import Issues
import XCTest

private struct Refused: Error {}

/// Reports an issue when it is released.
private final class Departing: Sendable {
    deinit { reportIssue("text of deinit") }
}

final class Failing: XCTestCase {
    func testMessage() { reportIssue("text of message") }

    func testError() { reportIssue(Refused(), "text of error") }

    func testWordless() { reportIssue() }

    func testWarning() { reportIssue("text of warning", severity: .warning) }

    func testDetached() async {
        await Task.detached { reportIssue("text of detached") }.value
    }

    func testDeparting() async {
        await Task.detached { _ = Departing() }.value
    }

    func testThread() {
        let done = expectation(description: "The thread has reported")
        Thread {
            reportIssue("text of thread")
            done.fulfill()
        }.start()
        wait(for: [done], timeout: 60)
    }

    func testQueue() {
        let done = expectation(description: "The queue has reported")
        DispatchQueue.global().async {
            reportIssue("text of queue")
            done.fulfill()
        }
        wait(for: [done], timeout: 60)
    }

    func testMissing() { withExpectedIssue("text of missing") {} }

    func testMissingLater() async {
        await withExpectedIssue("text of missing later") { await Task.yield() }
    }

    func testKnown() async {
        withExpectedIssue { reportIssue("text of known") }
        withExpectedIssue { throw Refused() }
        withExpectedIssue(isIntermittent: true) {}
        await withExpectedIssue {
            await Task.yield()
            reportIssue(Refused())
        }
        await withExpectedIssue {
            await Task.yield()
            throw Refused()
        }
    }

    func testExpected() async {
        expectReportsIssue {
            reportIssue("text of expected")
        } matching: {
            $0.description == "Issue reported: text of expected"
        }
        await expectReportsIssue {
            await Task.yield()
            reportIssue(Refused())
        } matching: {
            $0.error is Refused
        }
    }

    func testContext() {
        XCTAssertEqual(TestContext.current, .xcTest)
        XCTAssertTrue(isTesting)
    }
}
