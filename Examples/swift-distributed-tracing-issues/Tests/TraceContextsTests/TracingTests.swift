import Issues
import Testing
import TraceContexts
import Tracing

@Suite("Reports within a trace", .serialized)
struct TracingTests {
    private static let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test("A report has the ids of the trace of its task, and no ids outside of a trace")
    func ids() {
        let sink = CollectingSink()
        TraceContext.install()
        defer { IssueReporters.context = nil }
        withIssueReporters([sink]) {
            ServiceContext.$current.withValue(ServiceContext(span: Self.header)) { reportIssue("Inside") }
            ServiceContext.$current.withValue(ServiceContext()) { reportIssue("Without a span") }
            reportIssue("Outside")
        }
        #expect(
            sink.reports.map(\.context.traceID) == ["4bf92f3577b34da6a3ce929d0e0e4736", nil, nil])
        #expect(sink.reports.map(\.context.spanID) == ["00f067aa0ba902b7", nil, nil])
    }

    @Test("A header of another form gives no ids", arguments: ["", "00", "00-abc-def-01", "4bf92f3577b34da6"])
    func malformed(header: String) {
        #expect(TraceContext.ids(traceparent: header) == IssueContext())
    }
}
