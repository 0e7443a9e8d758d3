package import UnixIO

/// Tells the service manager of our state, by the protocol of sd_notify(3).
///
/// Without a service manager it tells nobody, and is no error.
package struct ServiceNotification: Sendable {
    private let address: SocketAddress?

    /// - Parameter socket: `NOTIFY_SOCKET`: a path, or `@` and an abstract name.
    package init(socket: String?) {
        // What is neither, such as systemd's vsock for virtual machines, is not for us.
        guard let socket, socket.hasPrefix("/") || socket.hasPrefix("@") else {
            address = nil
            return
        }
        address = try? SocketAddress.unix(socket)
    }

    /// Takes the address out of the environment, so that no child of ours
    /// speaks in our name. Only before there are other threads.
    package static func takeFromEnvironment() -> ServiceNotification {
        let notification = ServiceNotification(socket: Environment["NOTIFY_SOCKET"])
        try? Environment.remove("NOTIFY_SOCKET")
        return notification
    }

    /// Whether anybody listens.
    package var isHeard: Bool { address != nil }

    package func ready(status: String) throws(Errno) {
        try send(["READY=1", "STATUS=\(oneLine(status))"])
    }

    package func status(_ status: String) throws(Errno) {
        try send(["STATUS=\(oneLine(status))"])
    }

    /// - Parameter now: When the reload began; `READY` must follow.
    package func reloading(at now: KernelInstant, status: String = "Reading the configuration again") throws(Errno) {
        try send(["RELOADING=1", "MONOTONIC_USEC=\(now.nanoseconds / 1_000)", "STATUS=\(oneLine(status))"])
    }

    package func stopping(status: String) throws(Errno) {
        try send(["STOPPING=1", "STATUS=\(oneLine(status))"])
    }

    /// Says that we live; due more often than the watchdog's interval.
    package func watchdog() throws(Errno) {
        try send(["WATCHDOG=1"])
    }

    private func send(_ assignments: [String]) throws(Errno) {
        guard let address else { return }
        try Socket.sendDatagram(Array(assignments.joined(separator: "\n").utf8), to: address)
    }

    /// A line break in a status would begin another assignment.
    private func oneLine(_ status: String) -> String {
        String(
            String.UnicodeScalarView(status.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 })
        )
    }
}
