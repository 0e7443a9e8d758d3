// A stand-in for the module `ServiceLifecycle` of swift-service-lifecycle 2, with the declarations
// that the recipe and its tests use. Package.swift describes how to replace it.

public protocol Service: Sendable {
    func run() async throws
}
