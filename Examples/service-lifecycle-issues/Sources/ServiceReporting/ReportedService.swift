import Issues
import ServiceLifecycle

/// Wraps a service, and reports its failure with the name of the service.
///
/// A service group throws the error of the first service that failed, but does not tell which one that was:
///
/// ```swift
/// let group = ServiceGroup(services: [ReportedService(database), ReportedService(server)], logger: logger)
/// ```
public struct ReportedService: Service {
    private let service: any Service
    private let name: String

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - service: The service to run.
    ///   - name: The name in reports. Defaults to that of its type.
    public init(_ service: some Service, name: String? = nil) {
        self.service = service
        self.name = name ?? "\(type(of: service))"
    }

    public func run() async throws {
        do {
            try await withIssueMetadata(["service": .init(name)]) { try await service.run() }
        } catch {
            // A service that is cancelled has not failed.
            if !(error is CancellationError) {
                reportIssue(
                    error, "The service \(name) failed", level: .critical, metadata: ["service": .init(name)])
            }
            throw error
        }
    }
}
