import Synchronization
package import UnixIO

/// The sockets that the service manager has passed, using the protocol of sd_listen_fds(3).
///
/// Sockets that are not taken are closed when this value is destroyed.
package struct InheritedSockets: ~Copyable, Sendable {
    /// SD_LISTEN_FDS_START.
    package static let firstDescriptor: CInt = 3
    /// The maximum number of passed sockets. If there are more, all are ignored.
    private static let countLimit: CInt = 256

    private var entries: [(name: String, descriptor: CInt)] = []

    /// Takes ownership of the passed descriptors.
    ///
    /// - Parameters:
    ///   - pid: The value of `LISTEN_PID`. If it is not `ownPID`, the variables were inherited from a parent and are
    ///     ignored.
    ///   - count: The value of `LISTEN_FDS`.
    ///   - names: The value of `LISTEN_FDNAMES`, separated by colons.
    /// - Throws: The error of a descriptor that is not open.
    package init(
        pid: String?, count: String?, names: String?, ownPID: Int32,
        firstDescriptor: CInt = InheritedSockets.firstDescriptor
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
            entries.append((name, descriptor.release()))
        }
    }

    deinit {
        for entry in entries { _ = FileDescriptor(owning: entry.descriptor) }
    }

    /// Takes the sockets, and removes the variables from the environment so that child processes do not use them.
    ///
    /// Must be called before other threads are started.
    ///
    /// - Throws: The error of a variable that can't be removed, or of a descriptor that is not open.
    package static func takeFromEnvironment() throws(Errno) -> InheritedSockets {
        try InheritedSockets(
            pid: try ProcessEnvironment.take("LISTEN_PID"), count: try ProcessEnvironment.take("LISTEN_FDS"),
            names: try ProcessEnvironment.take("LISTEN_FDNAMES"), ownPID: CurrentProcess.pid)
    }

    /// Takes the first listening socket with this name.
    ///
    /// If none has it, takes the first listening socket, because the unit may choose any name. Returns nil if there is
    /// no listening socket.
    ///
    /// - Throws: The error of getsockopt(2). Descriptors that are not sockets are skipped.
    package mutating func takeListener(named name: String) throws(Errno) -> FileDescriptor? {
        let named = entries.indices.filter { entries[$0].name == name }
        return try takeListener(among: named + entries.indices.filter { !named.contains($0) })
    }

    /// Takes the first listening socket with this name. Returns nil if there is none.
    ///
    /// - Throws: The error of getsockopt(2). Descriptors that are not sockets are skipped.
    package mutating func takeListener(onlyNamed name: String) throws(Errno) -> FileDescriptor? {
        try takeListener(among: entries.indices.filter { entries[$0].name == name })
    }

    private mutating func takeListener(among indices: [Int]) throws(Errno) -> FileDescriptor? {
        for index in indices {
            let descriptor = FileDescriptor(owning: entries[index].descriptor)
            do throws(Errno) {
                if try descriptor.isListening() {
                    entries.remove(at: index)
                    return descriptor
                }
            } catch .notSocket {
            } catch {
                _ = descriptor.release()
                throw error
            }
            _ = descriptor.release()
        }
        return nil
    }
}

extension ProcessEnvironment {
    /// Returns the value of a variable, and removes it so that child processes do not use it.
    ///
    /// Must be called before other threads are started.
    fileprivate static func take(_ name: String) throws(Errno) -> String? {
        let value = self[name]
        try remove(name)
        return value
    }
}

/// Sends the daemon's state to the service manager, using the protocol of sd_notify(3).
///
/// Nothing is sent if there is no service manager or its address is not supported. Otherwise, the functions that send
/// throw the error of sending.
package struct ServiceNotification: Sendable {
    private let address: SocketAddress?

    /// - Parameter socket: `NOTIFY_SOCKET`: a path, or `@` and an abstract name; nil if it is not set.
    package init(socket: String?) {
        // Other addresses, such as systemd's vsock for virtual machines, are not supported.
        let isUnix = socket?.hasPrefix("/") == true || socket?.hasPrefix("@") == true
        address = isUnix ? socket.flatMap { try? SocketAddress.unix($0) } : nil
    }

    /// Creates a notification from `NOTIFY_SOCKET`, and removes the variable so that child processes can't send
    /// notifications.
    ///
    /// Must be called before other threads are started.
    package static func takeFromEnvironment() -> ServiceNotification {
        ServiceNotification(socket: (try? ProcessEnvironment.take("NOTIFY_SOCKET")) ?? nil)
    }

    /// Whether there is a service manager with an address that is supported.
    package var hasServiceManager: Bool { address != nil }

    /// Announces that the daemon is ready, or that a reload has finished.
    ///
    /// - Parameter status: A line for `systemctl status`.
    package func ready(status: String) throws(Errno) {
        try send("READY=1", status)
    }

    /// Updates the line for `systemctl status`.
    package func status(_ status: String) throws(Errno) {
        try send(nil, status)
    }

    /// Announces that a reload has begun. `ready(status:)` must follow.
    ///
    /// - Parameter now: The time at which the reload began.
    package func reloading(at now: KernelInstant, status: String = "Reloading the configuration") throws(Errno) {
        try send("RELOADING=1\nMONOTONIC_USEC=\(now.nanoseconds / 1_000)", status)
    }

    /// Announces that the daemon is stopping.
    package func stopping(status: String) throws(Errno) {
        try send("STOPPING=1", status)
    }

    /// Sends a keep-alive message. Must be called more often than once per interval of the watchdog.
    package func watchdog() throws(Errno) {
        try send("WATCHDOG=1", nil)
    }

    private func send(_ state: String?, _ status: String?) throws(Errno) {
        guard let address else { return }
        // A line break in the status would begin another assignment.
        let line = status.map { status in
            status.unicodeScalars.reduce(into: "STATUS=") { line, scalar in
                line.unicodeScalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
            }
        }
        let message = [state, line].compactMap(\.self).joined(separator: "\n")
        try Socket.sendDatagram(Array(message.utf8), to: address)
    }
}

/// The watchdog of the service manager (`WatchdogSec=`).
package enum Watchdog {
    /// Returns the interval after which the daemon is considered dead; nil if there is no watchdog.
    ///
    /// - Parameters:
    ///   - microseconds: The value of `WATCHDOG_USEC`; nil if it is not set.
    ///   - watchedPID: The value of `WATCHDOG_PID`; nil if the watchdog is for any process.
    ///   - ownPID: The id of this process.
    package static func interval(microseconds: String?, watchedPID: String?, ownPID: Int32) -> Duration? {
        // The variables may be inherited from a parent that has a watchdog.
        if let watchedPID, Int32(watchedPID) != ownPID { return nil }
        guard let microseconds, let count = Int64(microseconds), count > 0 else { return nil }
        return .microseconds(count)
    }

    /// Returns the interval from the environment, and removes the variables so that child processes do not use them.
    ///
    /// Must be called before other threads are started.
    package static func takeIntervalFromEnvironment() -> Duration? {
        interval(
            microseconds: (try? ProcessEnvironment.take("WATCHDOG_USEC")) ?? nil,
            watchedPID: (try? ProcessEnvironment.take("WATCHDOG_PID")) ?? nil, ownPID: CurrentProcess.pid)
    }
}

/// Heartbeats of the threads that must never hang. If one is missing, the watchdog of systemd restarts the daemon.
final class Heartbeats: Sendable {
    enum MonitoredThread: Hashable, Sendable, CaseIterable {
        case socket
        case writer
    }

    /// The threads that have not answered the last request.
    private let missing = Mutex(Set<MonitoredThread>())

    /// Requests a new heartbeat of each thread. Returns `true` if no answer to the previous request is missing.
    func request() -> Bool {
        missing.withLock { missing in
            let wereAnswered = missing.isEmpty
            missing = Set(MonitoredThread.allCases)
            return wereAnswered
        }
    }

    /// Notes that a thread has answered the request.
    func answered(by thread: MonitoredThread) {
        missing.withLock { _ = $0.remove(thread) }
    }
}
