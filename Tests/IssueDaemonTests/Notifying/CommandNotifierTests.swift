import IssueCore
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Commands as notifiers")
struct CommandNotifierTests {
    private func run(_ end: CommandRun.End, _ output: String = "") throws -> (DeliveryVerdict, String) {
        var run = try CommandRun(["/bin/true"], environment: [], input: [], timeout: .seconds(20)) { false }
        (run.end, run.output) = (end, Array(output.utf8))
        return (CommandNotifier.verdict(on: end), CommandNotifier.summary(of: run))
    }

    private func outcome(_ end: CommandRun.End) throws -> NotificationOutcome {
        NotificationOutcome(try run(end).0, attempts: 1, age: .zero, retryFor: .seconds(60))
    }

    @Test(
        "After exit status 0, a message is delivered; after 75 or a kill, it is sent again; otherwise, it is given up")
    func outcomes() throws {
        #expect(try outcome(.exit(0)) == .delivered)
        #expect(try outcome(.exit(75)) == .retry(after: .seconds(1), mayHaveArrived: false))
        for end in [.signal(9), .timeout, .tooMuchOutput, .cancelled] as [CommandRun.End] {
            #expect(try outcome(end) == .retry(after: .seconds(1), mayHaveArrived: true))
        }
        for status in [1, 64, 74, 76, 126, 127, 255] as [Int32] { #expect(try outcome(.exit(status)) == .givenUp) }
    }

    @Test("The summary has the end of the output on one line, without control characters")
    func summary() throws {
        #expect(try run(.exit(0)).1 == "exit status 0: accepted")
        #expect(try run(.exit(1), "no\n\u{1B}[31m route\u{202E}\n").1 == "exit status 1: refused (no [31m route)")
        #expect(try run(.timeout, "\u{FFFD}").1 == "killed at the timeout (\u{FFFD})")
        let long = try run(.exit(1), String(repeating: "a", count: 3000) + "the end").1
        #expect(long.hasPrefix("exit status 1: refused (…aaa") && long.hasSuffix("the end)") && long.count < 240)
    }
}
