import Hummingbird
import HummingbirdReporting
import Issues
import Testing

@Suite("A middleware for Hummingbird")
struct HummingbirdTests {
    private struct Refused: Error {}

    private struct Context: RequestContext {
        var id = "r-7"
        var endpointPath: String? = "/orders/{id}"
    }

    private func reports(_ body: @escaping @Sendable () throws -> Response) async -> [IssueReport] {
        let sink = CollectingSink()
        await withIssueReporters([sink]) {
            _ = try? await IssueMiddleware<Context>().handle(
                Request(method: .init(rawValue: "GET")), context: Context()
            ) { @Sendable _, _ in
                await Task.yield()
                return try body()
            }
        }
        return sink.reports
    }

    @Test("An unexpected error is reported once, with the request")
    func unexpected() async {
        let found = await reports { throw Refused() }
        #expect(found.map(\.message) == ["Handling a request: Refused()"])
        #expect(found.first?.metadata == ["method": "GET", "route": "/orders/{id}"])
        #expect(found.first?.context.requestID == "r-7")
    }

    @Test("An error with a status is reported if the status is 500 or above")
    func statuses() async {
        #expect(await reports { throw HTTPError(.notFound) }.isEmpty)
        #expect(await reports { throw CancellationError() }.isEmpty)
        #expect(await reports { throw HTTPError(.badGateway) }.first?.metadata["status"] == 502)
    }

    @Test("Issues of a handler have the id and the metadata of the request")
    func handler() async {
        let found = await reports {
            reportIssue("The order is empty")
            return Response(status: .ok)
        }
        #expect(found.first?.context.requestID == "r-7")
        #expect(found.first?.metadata["method"] == "GET")
    }
}
