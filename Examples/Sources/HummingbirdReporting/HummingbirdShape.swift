// The examples don't link Hummingbird, so that they build without a network. This file replaces it: it declares the
// parts of its module `Hummingbird` that the middleware needs, as in version 2. In an application, delete this file and
// write `import Hummingbird` in IssueMiddleware.swift instead; nothing else changes.

package struct HTTPRequest: Sendable {
    package struct Method: RawRepresentable, Sendable {
        package var rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }
    }
}

package struct HTTPResponse: Sendable {
    package struct Status: Sendable, Equatable {
        package var code: Int

        package static let ok = Status(code: 200)
        package static let notFound = Status(code: 404)
        package static let badGateway = Status(code: 502)
    }
}

package struct Request: Sendable {
    package var method: HTTPRequest.Method

    package init(method: HTTPRequest.Method) { self.method = method }
}

package struct Response: Sendable {
    package var status: HTTPResponse.Status

    package init(status: HTTPResponse.Status) { self.status = status }
}

package protocol HTTPResponseError: Error {
    var status: HTTPResponse.Status { get }
}

package struct HTTPError: HTTPResponseError {
    package var status: HTTPResponse.Status

    package init(_ status: HTTPResponse.Status) { self.status = status }
}

package protocol RequestContext: Sendable {
    var id: String { get }
    /// The path of the route that matched, for example `/orders/{id}`. Nil if there is none.
    var endpointPath: String? { get }
}

package protocol MiddlewareProtocol<Input, Output, Context>: Sendable {
    associatedtype Input
    associatedtype Output
    associatedtype Context

    func handle(
        _ input: Input, context: Context, next: (Input, Context) async throws -> Output
    ) async throws -> Output
}

package protocol RouterMiddleware<Context>: MiddlewareProtocol where Input == Request, Output == Response {}
