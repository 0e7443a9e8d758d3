// The examples don't link swift-aws-lambda-runtime, so that they build without a network. This file replaces it: it
// declares the parts of its module `AWSLambdaRuntime` that the wrapper needs, as in version 2. In an application, delete
// this file and write `import AWSLambdaRuntime` in ReportingHandler.swift instead; nothing else changes.

package struct LambdaContext: Sendable {
    package let requestID: String

    package init(requestID: String) { self.requestID = requestID }
}

package protocol LambdaHandler {
    associatedtype Event
    associatedtype Output

    mutating func handle(_ event: Event, context: LambdaContext) async throws -> Output
}
