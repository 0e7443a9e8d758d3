// A stand-in for the module `Vapor` of Vapor 4, with the declarations that the recipe and its tests
// use. Package.swift describes how to replace it.

public struct HTTPResponseStatus: Sendable, Equatable {
    public var code: UInt

    public static let ok = HTTPResponseStatus(code: 200)
    public static let notFound = HTTPResponseStatus(code: 404)
    public static let internalServerError = HTTPResponseStatus(code: 500)
    public static let badGateway = HTTPResponseStatus(code: 502)
}

public protocol AbortError: Error {
    var status: HTTPResponseStatus { get }
    var reason: String { get }
}

public struct Abort: AbortError {
    public var status: HTTPResponseStatus
    public var reason: String

    public init(_ status: HTTPResponseStatus, reason: String = "") {
        self.status = status
        self.reason = reason
    }
}

public struct HTTPMethod: Sendable {
    public var rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
}

public final class Route: Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

public final class Request: Sendable {
    public let id: String
    public let method: HTTPMethod
    /// The route that matched. Nil if there is none.
    public let route: Route?

    public init(id: String, method: HTTPMethod, route: Route?) {
        self.id = id
        self.method = method
        self.route = route
    }
}

public final class Response: Sendable {
    public let status: HTTPResponseStatus

    public init(status: HTTPResponseStatus) { self.status = status }
}

public protocol AsyncResponder: Sendable {
    func respond(to request: Request) async throws -> Response
}

public protocol AsyncMiddleware: Sendable {
    func respond(to request: Request, chainingTo next: any AsyncResponder) async throws -> Response
}
