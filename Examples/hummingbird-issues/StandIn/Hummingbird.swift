// A stand-in for the module `Hummingbird` of Hummingbird 2, with the declarations that the recipe
// and its tests use. Package.swift describes how to replace it.

public struct HTTPRequest: Sendable {
    public struct Method: RawRepresentable, Sendable {
        public var rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }
    }
}

public struct HTTPResponse: Sendable {
    public struct Status: Sendable, Equatable {
        public var code: Int

        public static let ok = Status(code: 200)
        public static let notFound = Status(code: 404)
        public static let badGateway = Status(code: 502)
    }
}

public struct Request: Sendable {
    public var method: HTTPRequest.Method

    public init(method: HTTPRequest.Method) { self.method = method }
}

public struct Response: Sendable {
    public var status: HTTPResponse.Status

    public init(status: HTTPResponse.Status) { self.status = status }
}

public protocol HTTPResponseError: Error {
    var status: HTTPResponse.Status { get }
}

public struct HTTPError: HTTPResponseError {
    public var status: HTTPResponse.Status

    public init(_ status: HTTPResponse.Status) { self.status = status }
}

public protocol RequestContext: Sendable {
    var id: String { get }
    /// The path of the route that matched, for example `/orders/{id}`. Nil if there is none.
    var endpointPath: String? { get }
}

public protocol MiddlewareProtocol<Input, Output, Context>: Sendable {
    associatedtype Input
    associatedtype Output
    associatedtype Context

    func handle(
        _ input: Input, context: Context, next: (Input, Context) async throws -> Output
    ) async throws -> Output
}

public protocol RouterMiddleware<Context>: MiddlewareProtocol where Input == Request, Output == Response {}
