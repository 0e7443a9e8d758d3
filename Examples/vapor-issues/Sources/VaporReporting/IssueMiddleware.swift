import Issues
import Vapor

/// Reports the errors of request handlers, with the id, the method and the route of the request.
///
/// Register it before other middleware, but after `ErrorMiddleware`, which turns the error into a response:
///
/// ```swift
/// app.middleware.use(IssueMiddleware())
/// ```
///
/// An error with a status below 500 is an error of the client, and is not reported. Issues that a handler reports
/// itself also have the id and the metadata of the request, and breadcrumbs of this request only.
/// `issuectl records --request ID` lists them.
public struct IssueMiddleware: AsyncMiddleware {
    public init() {}

    public func respond(to request: Request, chainingTo next: any AsyncResponder) async throws -> Response {
        // The route, not the path: a path contains ids, and perhaps secrets.
        let metadata: IssueMetadata = [
            "method": .init(request.method.rawValue), "route": .init(request.route?.description ?? "none"),
        ]
        return try await withIssueContext(IssueContext(requestID: request.id)) {
            try await withIssueMetadata(metadata) {
                try await withBreadcrumbs {
                    do {
                        return try await next.respond(to: request)
                    } catch {
                        report(error)
                        throw error
                    }
                }
            }
        }
    }

    private func report(_ error: any Error) {
        guard !(error is CancellationError) else { return }
        guard let abort = error as? any AbortError else { return reportIssue(error, "Handling a request") }
        guard abort.status.code >= 500 else { return }
        reportIssue(error, "Handling a request", metadata: ["status": abort.status.code])
    }
}
