import AWSLambdaRuntime
import Issues

/// Reports the errors of a handler with the id of the request, and flushes all reports before it returns.
///
/// Lambda freezes the process as soon as a handler has returned. Reports that the library has not sent by then arrive
/// with the next event, or never.
///
/// ```swift
/// let runtime = LambdaRuntime(lambdaHandler: ReportingHandler(OrderHandler()))
/// ```
public struct ReportingHandler<Base: LambdaHandler>: LambdaHandler {
    private var base: Base
    private let flush: @Sendable () -> Void

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - base: The handler whose errors are reported.
    ///   - flush: Sends the reports. The default takes at most 0.3 seconds.
    public init(
        _ base: Base, flush: @escaping @Sendable () -> Void = { flushIssues(timeout: .milliseconds(300)) }
    ) {
        self.base = base
        self.flush = flush
    }

    public mutating func handle(_ event: Base.Event, context: LambdaContext) async throws -> Base.Output {
        // Blocks a thread for a moment. That is harmless here: a process handles one event at a time.
        defer { flush() }
        do {
            return try await base.handle(event, context: context)
        } catch {
            let request = IssueContext(requestID: context.requestID)
            reportIssue(IssueReport(error, "Handling an event", context: request, site: IssueSite()))
            throw error
        }
    }
}
