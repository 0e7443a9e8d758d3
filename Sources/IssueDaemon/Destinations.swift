import Destinations
import HTTPTransfer
import IssueCore
import IssueStore
import UnixIO

/// The forwarding services of all configured destinations.
struct Destinations {
    /// In the order of the configuration.
    private(set) var services: [ForwardingService] = []
    private var threads: [JoinableThread] = []

    /// Returns the configured destinations as the store needs them.
    static func configured(_ configuration: Configuration) -> [StoreWriter.ConfiguredDestination] {
        configuration.destinations.map {
            StoreWriter.ConfiguredDestination(
                name: $0.name, kind: $0.kind.name, takesBacklog: $0.settings.backlog == .all)
        }
            // Records are kept for these destinations like for any other.
            + configuration.misconfigured.map {
                StoreWriter.ConfiguredDestination(name: $0.name, kind: $0.kind, takesBacklog: $0.backlog == .all)
            }
    }

    /// Starts a forwarding service for each destination.
    mutating func start(
        _ configuration: Configuration, writer: WriterService, board: StatusRegistry, log: Log,
        fatesMoved: @escaping @Sendable () -> Void
    ) throws {
        var rows = try writer.perform { try $0.configure(Self.configured(configuration), at: Clock.wall) }[...]
        let users = AccountableUsers.onThisHost(configuration.access)
        for destination in configuration.destinations {
            let service = ForwardingService(
                destination: rows.removeFirst(),
                settings: ForwardingService.Settings(
                    forward: destination.settings.forward, limits: destination.settings.limits, users: users,
                    host: Host.name),
                path: configuration.store.path, writer: writer, board: board, log: log)
            services.append(service)
            threads.append(
                try JoinableThread(name: "forward-\(destination.name)") {
                    destination.run(service, fatesMoved: fatesMoved)
                })
        }
        for row in rows { board.update(StatusRegistry.Forwarder(misconfigured: row)) }
    }

    /// Stops all services.
    ///
    /// Idle services stop at once. Others may finish their current request
    /// within the timeout; then the request is cancelled.
    mutating func stop(timeout: Duration) {
        for service in services { service.stop() }
        let deadline = Clock.monotonic.advanced(by: timeout)
        for index in threads.indices where !threads[index].wait(until: Clock.kernel(deadline)) {
            services[index].abandon()
        }
        for thread in threads { thread.join() }
        services = []
        threads = []
    }
}

extension DestinationConfiguration {
    /// Forwards records until the service is stopped.
    fileprivate func run(_ service: ForwardingService, fatesMoved: @escaping @Sendable () -> Void) {
        if kind.name == LogzFormat.kind, LogzFormat.isStreaming(settings.options) {
            return service.run(
                {
                    LogzStreamShipper(
                        LogzFormat(http, settings.options), credential: credential, cancellation: service.cancellation)
                }, fatesMoved: fatesMoved)
        }
        func run<Format: HTTPFormat>(_ format: Format.Type) {
            service.run(
                {
                    HTTPShipper(
                        Format(http, settings.options), credential: credential, cancellation: service.cancellation
                    ) { Clock.wall }
                }, fatesMoved: fatesMoved)
        }
        run(kind.format)
    }

    private var credential: Credential {
        guard let file = tokenFile else { return Credential(nil) }
        return Credential { try? file.read() }
    }
}
