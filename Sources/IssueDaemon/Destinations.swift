import HTTPTransfer
import IssueCore
import IssueStore
import LogzShipping
import UnixIO

/// The wiring list of destinations: a new kind is a target of its own and a line here.
struct Destinations {
    /// The forwarders, in the order of the configuration, and their threads.
    private(set) var services: [ForwardingService] = []
    private var threads: [ThreadBox] = []

    /// What the store must know of the destinations that are configured.
    static func configured(_ configuration: Configuration) -> [StoreWriter.ConfiguredDestination] {
        configuration.logzIO.map {
            StoreWriter.ConfiguredDestination(
                name: $0.name, kind: LogzShipper.kind, takesBacklog: $0.settings.backlog == .all)
        }
    }

    /// Starts a forwarder for each destination.
    mutating func start(
        _ configuration: Configuration, writer: WriterService, board: StatusBoard, log: Log,
        fatesMoved: @escaping @Sendable () -> Void
    ) throws {
        let wanted = Self.configured(configuration)
        let rows = try writer.perform { try $0.configure(wanted, at: Clock.wall) }
        for (destination, row) in zip(configuration.logzIO, rows) {
            let service = ForwardingService(
                destination: row,
                settings: ForwardingService.Settings(
                    forward: destination.settings.forward, limits: destination.settings.limits, host: Host.name),
                path: configuration.store.path, writer: writer, board: board, log: log)
            services.append(service)
            threads.append(
                try ThreadBox(name: "forward-\(row.name)") {
                    service.run({ destination.shipper(service.cancellation) }, fatesMoved: fatesMoved)
                })
        }
    }

    /// Ends all forwarders: at once those at rest, the others with the answer that is under way, as long as there is
    /// patience for it.
    mutating func stop(patience: Duration) {
        for service in services { service.stop() }
        let deadline = Clock.monotonic.advanced(by: patience)
        for index in threads.indices where !threads[index].wait(until: Clock.kernel(deadline)) {
            services[index].abandon()
        }
        for thread in threads { thread.join() }
        services = []
        threads = []
    }
}

extension LogzIODestination {
    fileprivate func shipper(_ cancellation: HTTPCancellation) -> LogzShipper {
        let file = tokenFile
        return LogzShipper(shipping, cancellation: cancellation, now: { Clock.wall }) { try? file.read() }
    }
}
