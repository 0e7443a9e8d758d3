package import UnixIO

/// Sockets that the service manager has opened for us, by the protocol of sd_listen_fds(3).
///
/// Those that nobody takes are closed with this value.
package struct InheritedSockets: ~Copyable, Sendable {
    private struct Entry {
        var name: String
        var descriptor: CInt
    }

    /// The first one that the protocol hands over.
    private static let firstDescriptor: CInt = 3
    /// Far more than we have sockets.
    private static let countLimit: CInt = 256

    private var entries: [Entry] = []

    /// - Parameters:
    ///   - pid: `LISTEN_PID`: for whom they are; variables may be inherited
    ///     from a parent that they were meant for.
    ///   - count: `LISTEN_FDS`.
    ///   - names: `LISTEN_FDNAMES`, with colons between them.
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
                // It was never handed over, so it is not ours to close.
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

    /// Takes them over and the variables out of the environment, so that no
    /// child of ours believes them. Only before there are other threads.
    package static func takeFromEnvironment() throws(Errno) -> InheritedSockets {
        let (pid, count, names) = (
            Environment["LISTEN_PID"], Environment["LISTEN_FDS"], Environment["LISTEN_FDNAMES"]
        )
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { try Environment.remove(name) }
        return try InheritedSockets(pid: pid, count: count, names: names, ownPID: CurrentProcess.pid)
    }

    package var count: Int { entries.count }
    package var names: [String] { entries.map(\.name) }

    /// The first listening socket of that name, or the first of all where none
    /// has it: the name is the unit's to choose.
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

/// How often the service manager wants to hear that we live (`WatchdogSec=`).
package enum Watchdog {
    /// The interval after which we are taken for dead, or nil where nobody watches.
    package static func interval(microseconds: String?, watchedPID: String?, ownPID: Int32) -> Duration? {
        // A variable may be inherited from a parent that is watched itself.
        if let watchedPID, Int32(watchedPID) != ownPID { return nil }
        guard let microseconds, let count = Int64(microseconds), count > 0 else { return nil }
        return .microseconds(count)
    }

    /// Takes it out of the environment, so that no child of ours takes it for
    /// its own. Only before there are other threads.
    package static func takeIntervalFromEnvironment() -> Duration? {
        let interval = interval(
            microseconds: Environment["WATCHDOG_USEC"], watchedPID: Environment["WATCHDOG_PID"],
            ownPID: CurrentProcess.pid)
        try? Environment.remove("WATCHDOG_USEC")
        try? Environment.remove("WATCHDOG_PID")
        return interval
    }
}
