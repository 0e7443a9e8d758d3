import Issues

/// Reports the errors of request handlers, with the request as metadata.
///
/// ```swift
/// router.add(middleware: IssueMiddleware())
/// ```
///
/// An error with a status below 500 is the client's, and is not reported. Issues that a handler reports
/// itself have the request as metadata, too, and breadcrumbs of their own.
package struct IssueMiddleware<Context: RequestContext>: RouterMiddleware {
    package init() {}

    package func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let metadata: IssueMetadata = [
            "request_id": .init(context.id), "method": .init(request.method.rawValue),
        ]
        return try await withIssueMetadata(metadata) {
            try await withBreadcrumbs {
                do {
                    return try await next(request, context)
                } catch {
                    report(error, context)
                    throw error
                }
            }
        }
    }

    private func report(_ error: any Error, _ context: Context) {
        guard !(error is CancellationError) else { return }
        // The route is known only after the router has run.
        var metadata: IssueMetadata = ["route": .init(context.endpointPath ?? "none")]
        if let known = error as? any HTTPResponseError {
            guard known.status.code >= 500 else { return }
            metadata["status"] = .init(known.status.code)
        }
        reportIssue(error, "Handling a request", metadata: metadata)
    }
}
