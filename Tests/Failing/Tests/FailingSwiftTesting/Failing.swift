import Dispatch
import Foundation
import Issues
import Testing

private struct Refused: Error {}

/// Reports an issue when it is released.
private final class Departing: Sendable {
    deinit { reportIssue("text of deinit") }
}

@Suite struct Failing {
    @Test func message() { reportIssue("text of message") }

    @Test func error() { reportIssue(Refused(), "text of error") }

    @Test func defaultMessage() { reportIssue() }

    @Test func warning() { reportIssue("text of warning", severity: .warning) }

    @Test func metadata() { reportIssue("text of metadata", level: .critical, metadata: ["till": 2]) }

    @Test func detached() async {
        await Task.detached { reportIssue("text of detached") }.value
    }

    @Test func detachedError() async {
        await Task.detached { reportIssue(Refused(), "text of detachedError") }.value
    }

    @Test func departing() async {
        await Task.detached { _ = Departing() }.value
    }

    @Test func thread() async {
        await withCheckedContinuation { continuation in
            Thread {
                reportIssue("text of thread")
                continuation.resume()
            }.start()
        }
    }

    @Test func queue() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                reportIssue("text of queue")
                continuation.resume()
            }
        }
    }

    @Test func unimplementedCall() {
        let open: @Sendable (Int) -> Void = unimplemented("text of unimplementedCall")
        open(7)
    }

    @Test func missing() { withExpectedIssue("text of missing") {} }

    @Test func expectedButSilent() {
        expectReportsIssue("text of expectedButSilent") {
        } matching: { _ in
            true
        }
    }

    @Test func known() async {
        withExpectedIssue("text of known") { reportIssue() }
        await withExpectedIssue("text of known") { throw Refused() }
    }

    @MainActor
    @Test func knownOnMainActor() async {
        await withExpectedIssue {
            await Task.yield()
            reportIssue()
        }
    }

    @Test func many() {
        withKnownIssue {
            for number in 0..<200 { reportIssue("text \(number) of many \(String(repeating: "ö", count: number))") }
        } matching: {
            $0.description.contains("of many")
        }
    }

    @Test(.tags(.context)) func context() {
        guard case .swiftTesting(let testing?) = TestContext.current else {
            Issue.record("There is no context")
            return
        }
        #expect(testing.test.id.rawValue == Test.current.map { AnyHashable($0.id) })
        #expect(testing.test.traits.contains { ($0 as? Tag.List)?.tags == [.context] })
    }

    @Test func silenced() {
        withIssueReporters([]) { reportIssue("text of silenced") }
    }
}

extension Tag {
    @Tag fileprivate static var context: Self
}
