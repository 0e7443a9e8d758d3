// A stand-in for the module `ServiceLifecycle` of swift-service-lifecycle 2, as far as
// the recipe and its tests use it. Package.swift describes how to replace it.

public protocol Service: Sendable {
    func run() async throws
}
