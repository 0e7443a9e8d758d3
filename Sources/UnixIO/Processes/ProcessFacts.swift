import Glibc

/// What the kernel tells about a process, apart from its credentials.
///
/// A process may end and its number be given to another at any time: two
/// readings are of the same process only if pid and start time are the same.
package struct ProcessFacts: Hashable, Sendable {
    package var pid: Int32
    /// The short name, at most 15 bytes. The process chooses it freely.
    package var command: String
    /// The file it was started from, if we may know.
    package var executable: String?
    /// The systemd unit or scope it runs in, if any.
    package var unit: String?
    /// Clock ticks between the start of the host and that of the process.
    package var startTime: UInt64

    package init(pid: Int32, command: String, executable: String?, unit: String?, startTime: UInt64) {
        self.pid = pid
        self.command = command
        self.executable = executable
        self.unit = unit
        self.startTime = startTime
    }

    /// Whether a process that was known before is still the one that has its pid.
    package enum Identity: Sendable {
        case same
        case gone
        /// The kernel cannot tell.
        case unknown
    }

    /// Reads the facts of the process that made the other end of a connection.
    ///
    /// Returns nil where that process is gone, or where the one that now has its
    /// pid may be another. A process that a sender has passed its connection to
    /// is not looked at.
    ///
    /// - Throws: `tooManyFiles` or `tooManyFilesInSystem` where no descriptor can be had to read them by.
    package static func read(
        of peer: PeerCredentials, on connection: borrowing FileDescriptor
    ) throws(Errno) -> ProcessFacts? {
        let handle: Handle
        do throws(Errno) {
            handle = Handle(try connection.peerProcess())
        } catch {
            if error == .protocolOptionMissing { return try read(pid: peer.pid, uid: peer.uid) }
            try expectDescriptors(error)
            return nil
        }
        return try read(pid: peer.pid, uid: peer.uid) { handle.identity(of: peer.pid) }
    }

    /// Stands for one process, and for no later one with its pid.
    private final class Handle {
        private let descriptor: FileDescriptor

        init(_ descriptor: consuming FileDescriptor) {
            self.descriptor = descriptor
        }

        func identity(of pid: Int32) -> Identity {
            guard (try? Readiness.wait(descriptor, for: .read, timeout: .zero)) == true else { return .same }
            // It has ended. Until it is reaped, its pid is nobody else's.
            let fields = (try? FileSystem.read("/proc/self/fdinfo/\(descriptor.rawValue)", limit: 4096)) ?? []
            return fields.split(separator: UInt8(ascii: "\n")).contains { $0.elementsEqual("Pid:\t\(pid)".utf8) }
                ? .same : .gone
        }
    }

    /// Reads the facts of a process, or returns nil when it is gone.
    ///
    /// All are read by one descriptor of its folder, which leads to no later process with the same pid.
    ///
    /// - Parameters:
    ///   - uid: Whose process it has to be where the kernel cannot tell more; nil for anybody's.
    ///   - identity: Asked once the folder is open, and again at the end.
    package static func read(
        pid: Int32, uid: UInt32? = nil, root: String = "/proc", identity: () -> Identity = { .unknown }
    ) throws(Errno) -> ProcessFacts? {
        guard pid > 0 else { return nil }
        let folder: FileDescriptor
        do throws(Errno) {
            folder = try FileDescriptor.open("\(root)/\(pid)", [.pathOnly, .directory, .noFollow])
        } catch {
            try expectDescriptors(error)
            return nil
        }
        switch identity() {
        case .same: break
        case .gone: return nil
        case .unknown:
            if let uid { guard (try? folder.status().uid) == uid else { return nil } }
        }
        guard let startTime = try content("stat", in: folder, limit: 4096).flatMap({ startTime(inStat: $0) }) else {
            return nil
        }
        let command = try content("comm", in: folder, limit: 256).map { Self.command(inComm: $0) }
        let cgroup = try content("cgroup", in: folder, limit: 65_536)
        let executable = try? folder.readLink("exe")
        guard try content("stat", in: folder, limit: 4096).flatMap({ Self.startTime(inStat: $0) }) == startTime,
            identity() != .gone
        else { return nil }
        return ProcessFacts(
            pid: pid,
            command: command ?? "",
            executable: executable.map { Self.executable(inLink: $0) },
            unit: cgroup.flatMap { unit(inCgroup: $0) },
            startTime: startTime)
    }

    /// What stands in a file, or nil where it can't be read for another reason than that of the reader.
    private static func content(
        _ name: String, in folder: borrowing FileDescriptor, limit: Int
    ) throws(Errno) -> [UInt8]? {
        do throws(Errno) {
            return try FileSystem.read(try folder.open(name), limit: limit)
        } catch {
            try expectDescriptors(error)
            return nil
        }
    }

    private static func expectDescriptors(_ error: Errno) throws(Errno) {
        if error == .tooManyFiles || error == .tooManyFilesInSystem { throw error }
    }
}
