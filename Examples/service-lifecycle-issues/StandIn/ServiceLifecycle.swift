// The part of the module `ServiceLifecycle` of swift-service-lifecycle 2 that the recipe and its tests use.
// Package.swift says how to replace it.

public protocol Service: Sendable {
    func run() async throws
}
