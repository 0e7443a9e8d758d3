import Destinations
import HTTPTransfer
import IssueCore
import IssueStore
import UnixIO

extension SelfHostedKind {
    /// All kinds of self-hosted destinations. A new kind needs a target of its
    /// own and an entry here.
    static let all = [
        SelfHostedKind(ClickHouseFormat.self), SelfHostedKind(SearchFormat.self), SelfHostedKind(OTLPFormat.self),
    ]
}

/// The forwarding services of all configured destinations.
struct Destinations {
    /// In the order of the configuration.
    private(set) var services: [ForwardingService] = []
    private var threads: [JoinableThread] = []

    /// Returns the configured destinations as the store needs them.
    static func configured(_ configuration: Configuration) -> [StoreWriter.ConfiguredDestination] {
        configuration.logzIO.map {
            StoreWriter.ConfiguredDestination(
                name: $0.name, kind: LogzFormat.kind, takesBacklog: $0.settings.backlog == .all)
        }
            + configuration.selfHostedDestinations.map {
                StoreWriter.ConfiguredDestination(
                    name: $0.name, kind: $0.kind.word, takesBacklog: $0.settings.backlog == .all)
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
        func service(_ forward: ForwardSettings, _ limits: LimitSettings) -> ForwardingService {
            ForwardingService(
                destination: rows.removeFirst(),
                settings: ForwardingService.Settings(
                    forward: forward, limits: limits, users: users, host: Host.name),
                path: configuration.store.path, writer: writer, board: board, log: log)
        }
        for destination in configuration.logzIO {
            let service = service(destination.settings.forward, destination.settings.limits)
            try start(service) {
                let cancellation = service.cancellation
                if destination.settings.connection == .streaming {
                    service.run({ destination.streamShipper(cancellation) }, fatesMoved: fatesMoved)
                } else {
                    service.run({ destination.shipper(cancellation) }, fatesMoved: fatesMoved)
                }
            }
        }
        for destination in configuration.selfHostedDestinations {
            let service = service(destination.settings.forward, destination.settings.limits)
            try start(service) { destination.run(service, fatesMoved: fatesMoved) }
        }
        for row in rows { board.tell(StatusRegistry.Forwarder(misconfigured: row)) }
    }

    private mutating func start(_ service: ForwardingService, _ run: @escaping @Sendable () -> Void) throws {
        services.append(service)
        threads.append(try JoinableThread(name: "forward-\(service.destination.name)", run))
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

extension LogzIODestination {
    fileprivate func shipper(_ cancellation: HTTPCancellation) -> HTTPShipper<LogzFormat> {
        let file = tokenFile
        return HTTPShipper(
            LogzFormat(shipping), credential: Credential { try? file.read() }, cancellation: cancellation
        ) { Clock.wall }
    }

    fileprivate func streamShipper(_ cancellation: HTTPCancellation) -> LogzStreamShipper {
        let file = tokenFile
        return LogzStreamShipper(shipping, cancellation: cancellation) { try? file.read() }
    }
}

extension SelfHostedDestination {
    fileprivate func run(_ service: ForwardingService, fatesMoved: @escaping @Sendable () -> Void) {
        func run<Format: StoreFormat>(_ format: Format.Type) {
            service.run(
                {
                    HTTPShipper(
                        Format(http) { settings[option: $0] }, credential: credential,
                        cancellation: service.cancellation
                    ) { Clock.wall }
                },
                fatesMoved: fatesMoved)
        }
        run(kind.format)
    }

    private var credential: Credential {
        guard let file = tokenFile else { return Credential(nil) }
        return Credential { try? file.read() }
    }
}
