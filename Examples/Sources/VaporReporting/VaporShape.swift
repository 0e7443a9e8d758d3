// The examples don't link Vapor, so that they build without a network. This file replaces it: it declares the parts of
// its module `Vapor` that the middleware needs, as in version 4. In an application, delete this file and write
// `import Vapor` in IssueMiddleware.swift instead; nothing else changes.

package struct HTTPResponseStatus: Sendable, Equatable {
    package var code: UInt

    package static let ok = HTTPResponseStatus(code: 200)
    package static let notFound = HTTPResponseStatus(code: 404)
    package static let internalServerError = HTTPResponseStatus(code: 500)
    package static let badGateway = HTTPResponseStatus(code: 502)
}

package protocol AbortError: Error {
    var status: HTTPResponseStatus { get }
    var reason: String { get }
}

package struct Abort: AbortError {
    package var status: HTTPResponseStatus
    package var reason: String

    package init(_ status: HTTPResponseStatus, reason: String = "") {
        self.status = status
        self.reason = reason
    }
}

package struct HTTPMethod: Sendable {
    package var rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
}

package final class Route: Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

package final class Request: Sendable {
    package let id: String
    package let method: HTTPMethod
    /// The route that matched. Nil if there is none.
    package let route: Route?

    package init(id: String, method: HTTPMethod, route: Route?) {
        self.id = id
        self.method = method
        self.route = route
    }
}

package final class Response: Sendable {
    package let status: HTTPResponseStatus

    package init(status: HTTPResponseStatus) { self.status = status }
}

package protocol AsyncResponder: Sendable {
    func respond(to request: Request) async throws -> Response
}

package protocol AsyncMiddleware: Sendable {
    func respond(to request: Request, chainingTo next: any AsyncResponder) async throws -> Response
}
