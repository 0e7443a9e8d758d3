import Issues
import Tracing

/// Adds the ids of the current trace and span to reports.
///
/// Call `install()` once, after bootstrapping the tracer. It works with every tracer that uses the header `traceparent`
/// of W3C Trace Context to propagate its context, such as that of swift-otel.
public enum TraceContext {
    public static func install() {
        IssueReporters.context = { current }
    }

    /// The ids of the current task. Empty outside a trace.
    public static var current: IssueContext {
        guard let context = ServiceContext.current else { return IssueContext() }
        var headers: [String: String] = [:]
        InstrumentationSystem.instrument.inject(context, into: &headers, using: HeaderInjector())
        return headers["traceparent"].map { ids(traceparent: $0) } ?? IssueContext()
    }

    /// Returns the ids of a header, such as `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`
    /// (www.w3.org/TR/trace-context, section 3.2). Empty if it has another form.
    public static func ids(traceparent: String) -> IssueContext {
        let parts = traceparent.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[1].count == 32, parts[2].count == 16 else { return IssueContext() }
        return IssueContext(traceID: String(parts[1]), spanID: String(parts[2]))
    }
}

private struct HeaderInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
        carrier[key.lowercased()] = value
    }
}
