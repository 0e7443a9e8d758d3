// A stand-in for the module `AWSLambdaRuntime` of swift-aws-lambda-runtime 2, with the declarations
// that the recipe and its tests use. Package.swift describes how to replace it.

public struct LambdaContext: Sendable {
    public let requestID: String

    public init(requestID: String) { self.requestID = requestID }
}

public protocol LambdaHandler {
    associatedtype Event
    associatedtype Output

    mutating func handle(_ event: Event, context: LambdaContext) async throws -> Output
}
