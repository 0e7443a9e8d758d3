package import UnixIO

/// The sockets that the service manager has passed, using the protocol of
/// sd_listen_fds(3).
///
/// Sockets that are not taken are closed when this value is destroyed.
package struct InheritedSockets: ~Copyable, Sendable {
    private struct Entry {
        var name: String
        var descriptor: CInt
    }

    /// SD_LISTEN_FDS_START.
    private static let firstDescriptor: CInt = 3
    /// The maximum number of sockets that is accepted.
    private static let countLimit: CInt = 256

    private var entries: [Entry] = []

    /// Takes ownership of the passed descriptors.
    ///
    /// - Parameters:
    ///   - pid: The value of `LISTEN_PID`. If it is not `ownPID`, the variables
    ///     were inherited from a parent and are ignored.
    ///   - count: The value of `LISTEN_FDS`.
    ///   - names: The value of `LISTEN_FDNAMES`, separated by colons.
    package init(
        pid: String?, count: String?, names: String?, ownPID: Int32,
        firstDescriptor: CInt = InheritedSockets.defaultFirstDescriptor
    ) throws(Errno) {
        guard let pid, Int32(pid) == ownPID, let count = count.flatMap({ CInt($0) }),
            (1...Self.countLimit).contains(count)
        else { return }
        let names = names?.split(separator: ":", omittingEmptySubsequences: false).map { String($0) } ?? []
        for offset in 0..<count {
            let name = Int(offset) < names.count ? names[Int(offset)] : ""
            let descriptor = FileDescriptor(owning: firstDescriptor + offset)
            do throws(Errno) {
                try descriptor.setCloseOnExec()
                try descriptor.setNonBlocking()
            } catch {
                // The descriptor was not passed, so it must not be closed.
                _ = descriptor.release()
                throw error
            }
            entries.append(Entry(name: name, descriptor: descriptor.release()))
        }
    }

    deinit {
        for entry in entries { _ = FileDescriptor(owning: entry.descriptor) }
    }

    package static var defaultFirstDescriptor: CInt { firstDescriptor }

    /// Takes the sockets, and removes the variables from the environment so
    /// that child processes do not use them.
    ///
    /// Must be called before other threads are started.
    package static func takeFromEnvironment() throws(Errno) -> InheritedSockets {
        let (pid, count, names) = (
            ProcessEnvironment["LISTEN_PID"], ProcessEnvironment["LISTEN_FDS"], ProcessEnvironment["LISTEN_FDNAMES"]
        )
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { try ProcessEnvironment.remove(name) }
        return try InheritedSockets(pid: pid, count: count, names: names, ownPID: CurrentProcess.pid)
    }

    package var count: Int { entries.count }
    package var names: [String] { entries.map(\.name) }

    /// Takes the first listening socket with this name.
    ///
    /// If none has it, takes the first listening socket, because the unit may
    /// choose any name. Returns nil if there is no listening socket.
    package mutating func takeListener(named name: String) throws(Errno) -> FileDescriptor? {
        let order = entries.indices.sorted { left, right in
            let (isLeft, isRight) = (entries[left].name == name, entries[right].name == name)
            return isLeft == isRight ? left < right : isLeft
        }
        for index in order {
            let descriptor = FileDescriptor(owning: entries[index].descriptor)
            let isListening: Bool
            do throws(Errno) {
                isListening = try descriptor.isListening()
            } catch .notSocket {
                isListening = false
            } catch {
                _ = descriptor.release()
                throw error
            }
            if isListening {
                entries.remove(at: index)
                return descriptor
            }
            _ = descriptor.release()
        }
        return nil
    }
}

/// Sends the daemon's state to the service manager, using the protocol of
/// sd_notify(3).
///
/// Without a service manager, nothing is sent.
package struct ServiceNotification: Sendable {
    private let address: SocketAddress?

    /// - Parameter socket: `NOTIFY_SOCKET`: a path, or `@` and an abstract name.
    package init(socket: String?) {
        // Other addresses, such as systemd's vsock for virtual machines, are
        // not supported.
        guard let socket, socket.hasPrefix("/") || socket.hasPrefix("@") else {
            address = nil
            return
        }
        address = try? SocketAddress.unix(socket)
    }

    /// Creates a notification from `NOTIFY_SOCKET`, and removes the variable so
    /// that child processes can't send notifications.
    ///
    /// Must be called before other threads are started.
    package static func takeFromEnvironment() -> ServiceNotification {
        let notification = ServiceNotification(socket: ProcessEnvironment["NOTIFY_SOCKET"])
        try? ProcessEnvironment.remove("NOTIFY_SOCKET")
        return notification
    }

    /// `true` if there is a service manager.
    package var hasServiceManager: Bool { address != nil }

    /// Announces that the daemon is ready, or that a reload has finished.
    ///
    /// - Parameter status: A line for `systemctl status`.
    package func ready(status: String) throws(Errno) {
        try send(["READY=1", "STATUS=\(oneLine(status))"])
    }

    /// Updates the line for `systemctl status`.
    package func status(_ status: String) throws(Errno) {
        try send(["STATUS=\(oneLine(status))"])
    }

    /// Announces that a reload has begun. `ready(status:)` must follow.
    ///
    /// - Parameter now: The time at which the reload began.
    package func reloading(at now: KernelInstant, status: String = "Reloading the configuration") throws(Errno) {
        try send(["RELOADING=1", "MONOTONIC_USEC=\(now.nanoseconds / 1_000)", "STATUS=\(oneLine(status))"])
    }

    /// Announces that the daemon is stopping.
    ///
    /// - Parameter status: A line for `systemctl status`.
    package func stopping(status: String) throws(Errno) {
        try send(["STOPPING=1", "STATUS=\(oneLine(status))"])
    }

    /// Sends a keep-alive message. It is due more often than the watchdog's
    /// interval.
    package func watchdog() throws(Errno) {
        try send(["WATCHDOG=1"])
    }

    private func send(_ assignments: [String]) throws(Errno) {
        guard let address else { return }
        try Socket.sendDatagram(Array(assignments.joined(separator: "\n").utf8), to: address)
    }

    /// Replaces control characters by spaces, because a line break would begin
    /// another assignment.
    private func oneLine(_ status: String) -> String {
        String(
            String.UnicodeScalarView(status.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 })
        )
    }
}

/// The watchdog of the service manager (`WatchdogSec=`).
package enum Watchdog {
    /// Returns the interval after which the daemon is considered dead; nil if
    /// there is no watchdog.
    package static func interval(microseconds: String?, watchedPID: String?, ownPID: Int32) -> Duration? {
        // The variables may be inherited from a parent that has a watchdog.
        if let watchedPID, Int32(watchedPID) != ownPID { return nil }
        guard let microseconds, let count = Int64(microseconds), count > 0 else { return nil }
        return .microseconds(count)
    }

    /// Returns the interval from the environment, and removes the variables so
    /// that child processes do not use them.
    ///
    /// Must be called before other threads are started.
    package static func takeIntervalFromEnvironment() -> Duration? {
        let interval = interval(
            microseconds: ProcessEnvironment["WATCHDOG_USEC"], watchedPID: ProcessEnvironment["WATCHDOG_PID"],
            ownPID: CurrentProcess.pid)
        try? ProcessEnvironment.remove("WATCHDOG_USEC")
        try? ProcessEnvironment.remove("WATCHDOG_PID")
        return interval
    }
}
