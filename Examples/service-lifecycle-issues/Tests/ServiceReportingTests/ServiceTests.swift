import Issues
import ServiceLifecycle
import ServiceReporting
import Testing

@Suite("A wrapper for services of service-lifecycle")
struct ServiceTests {
    private struct Refused: Error {}

    private struct Database: Service {
        var error: (any Error)?

        func run() async throws {
            reportIssue("The cache is cold", level: .info)
            if let error { throw error }
        }
    }

    private func reports(_ error: (any Error)?, name: String? = nil) async -> [IssueReport] {
        let sink = CollectingSink()
        await withIssueReporters([sink]) {
            try? await ReportedService(Database(error: error), name: name).run()
        }
        return sink.reports
    }

    @Test("A failure is reported with the name of the service, and rethrown")
    func failure() async {
        let found = await reports(Refused())
        #expect(found.map(\.message) == ["The cache is cold", "The service Database failed: Refused()"])
        #expect(found.map(\.level) == [.info, .critical])
        #expect(found.allSatisfy { $0.metadata["service"] == "Database" })
        #expect(await reports(Refused(), name: "orders").last?.message == "The service orders failed: Refused()")
        await #expect(throws: Refused.self) {
            try await withIssueReporters([]) { try await ReportedService(Database(error: Refused())).run() }
        }
    }

    @Test("A service that ends or is cancelled is not reported")
    func end() async {
        #expect(await reports(nil).count == 1)
        #expect(await reports(CancellationError()).count == 1)
    }
}
