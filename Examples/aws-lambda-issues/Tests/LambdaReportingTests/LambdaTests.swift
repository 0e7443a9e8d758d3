import AWSLambdaRuntime
import Issues
import LambdaReporting
import Synchronization
import Testing

@Suite("A handler for AWS Lambda")
struct LambdaTests {
    private struct Refused: Error {}

    private struct Handler: LambdaHandler {
        func handle(_ event: Int, context: LambdaContext) async throws -> Int {
            guard event > 0 else { throw Refused() }
            return event * 2
        }
    }

    private final class Flushes: Sendable {
        let counts = Mutex<[Int]>([])
    }

    @Test("An error is reported with the id of the request and rethrown, and reports are sent before every return")
    func flushed() async throws {
        let sink = CollectingSink()
        let flushes = Flushes()
        @Sendable func handle(_ event: Int) async throws -> Int {
            var handler = ReportingHandler(Handler()) {
                // The number of reports before this flush.
                flushes.counts.withLock { $0.append(sink.reports.count) }
            }
            return try await handler.handle(event, context: LambdaContext(requestID: "r-7"))
        }
        try await withIssueReporters([sink]) {
            let output = try await handle(2)
            #expect(output == 4)
            await #expect(throws: Refused.self) { try await handle(0) }
        }
        #expect(sink.reports.map(\.message) == ["Handling an event: Refused()"])
        #expect(sink.reports.map(\.context.requestID) == ["r-7"])
        #expect(flushes.counts.withLock { $0 } == [0, 1])
    }
}
