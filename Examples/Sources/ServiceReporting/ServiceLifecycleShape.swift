// The examples don't link swift-service-lifecycle, so that they build without a network. This file replaces it: it
// declares the part of its module `ServiceLifecycle` that the wrapper needs, as in version 2. In an application, delete
// this file and write `import ServiceLifecycle` in ReportedService.swift instead; nothing else changes.

package protocol Service: Sendable {
    func run() async throws
}
