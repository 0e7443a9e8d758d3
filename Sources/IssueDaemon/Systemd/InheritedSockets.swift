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
        firstDescriptor: CInt = InheritedSockets.usualFirstDescriptor
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

    package static var usualFirstDescriptor: CInt { firstDescriptor }

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
