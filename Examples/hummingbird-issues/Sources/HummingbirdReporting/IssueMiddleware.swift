import Hummingbird
import Issues

/// Reports the errors of request handlers, with the id, the method and the route of the request.
///
/// ```swift
/// router.add(middleware: IssueMiddleware())
/// ```
///
/// An error with a status below 500 is an error of the client, and is not reported. Issues that a handler reports
/// itself also have the id and the method of the request, and breadcrumbs of this request only.
/// `issuectl records --request ID` lists them.
public struct IssueMiddleware<Context: RequestContext>: RouterMiddleware {
    public init() {}

    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        try await withIssueContext(IssueContext(requestID: context.id)) {
            try await withIssueMetadata(["method": request.method.rawValue]) {
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
    }

    private func report(_ error: any Error, _ context: Context) {
        guard !(error is CancellationError) else { return }
        // The route is known only after the router has run.
        var metadata: IssueMetadata = ["route": .init(context.endpointPath ?? "none")]
        if let responseError = error as? any HTTPResponseError {
            guard responseError.status.code >= 500 else { return }
            metadata["status"] = .init(responseError.status.code)
        }
        reportIssue(error, "Handling a request", metadata: metadata)
    }
}
