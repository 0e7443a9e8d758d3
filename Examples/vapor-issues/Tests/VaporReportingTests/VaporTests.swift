import Issues
import Testing
import Vapor
import VaporReporting

@Suite("A middleware for Vapor")
struct VaporTests {
    private struct Refused: Error {}

    private struct Handler: AsyncResponder {
        var body: @Sendable () throws -> Response

        func respond(to request: Request) async throws -> Response {
            await Task.yield()
            return try body()
        }
    }

    private let request = Request(id: "r-7", method: HTTPMethod(rawValue: "GET"), route: Route("GET /orders/:id"))

    private func reports(_ body: @escaping @Sendable () throws -> Response) async -> [IssueReport] {
        let sink = CollectingSink()
        await withIssueReporters([sink]) {
            _ = try? await IssueMiddleware().respond(to: request, chainingTo: Handler(body: body))
        }
        return sink.reports
    }

    @Test("An unexpected error is reported once, with the request, and rethrown")
    func unexpected() async throws {
        let found = await reports { throw Refused() }
        #expect(found.map(\.message) == ["Handling a request: Refused()"])
        #expect(found.first?.metadata == ["method": "GET", "route": "GET /orders/:id"])
        #expect(found.first?.context.requestID == "r-7")
        await #expect(throws: Refused.self) {
            try await withIssueReporters([]) {
                try await IssueMiddleware().respond(to: request, chainingTo: Handler { throw Refused() })
            }
        }
    }

    @Test("An error with a status is reported if the status is 500 or above")
    func statuses() async {
        #expect(await reports { throw Abort(.notFound) }.isEmpty)
        #expect(await reports { throw CancellationError() }.isEmpty)
        #expect(await reports { throw Abort(.badGateway) }.first?.metadata["status"] == 502)
    }

    @Test("Issues of a handler have the id and the metadata of the request")
    func handler() async {
        let found = await reports {
            reportIssue("The order is empty")
            return Response(status: .ok)
        }
        #expect(found.map(\.message) == ["The order is empty"])
        #expect(found.first?.context.requestID == "r-7")
        #expect(found.first?.metadata["method"] == "GET")
    }
}
