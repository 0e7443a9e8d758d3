import CLinux
import Glibc

/// What the kernel tells about a process, apart from its credentials.
///
/// A process may end and its number be given to another at any time: two
/// readings are of the same process only if pid and start time are the same.
package struct ProcessMetadata: Hashable, Sendable {
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
    ) throws(Errno) -> ProcessMetadata? {
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
    ) throws(Errno) -> ProcessMetadata? {
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
        return ProcessMetadata(
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

// The texts under /proc hold names that the process itself has chosen, so
// nothing in them is taken on trust.
extension ProcessMetadata {
    /// The 22nd field of `/proc/PID/stat`.
    ///
    /// The second one is the command in parentheses, and may hold spaces and
    /// parentheses itself; the last closing one ends it.
    package static func startTime(inStat stat: [UInt8]) -> UInt64? {
        guard let close = stat.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = stat[(close + 1)...].split(whereSeparator: { isSpace($0) })
        // What stands behind the parenthesis starts with field 3.
        guard fields.count > 19 else { return nil }
        return number(fields[19])
    }

    /// The content of `/proc/PID/comm`, without the line end the kernel adds.
    package static func command(inComm comm: [UInt8]) -> String {
        let name = comm.last == UInt8(ascii: "\n") ? comm.dropLast() : comm[...]
        return String(decoding: name, as: UTF8.self)
    }

    /// The target of `/proc/PID/exe`, without the mark of a replaced file.
    ///
    /// An application keeps its identity while its package is upgraded.
    package static func executable(inLink link: [UInt8]) -> String {
        let mark = Array(" (deleted)".utf8)
        let path =
            link.count > mark.count && link.suffix(mark.count).elementsEqual(mark)
            ? link.dropLast(mark.count) : link[...]
        return String(decoding: path, as: UTF8.self)
    }

    /// The system's unit in `/proc/PID/cgroup`: from the one line of version 2, or else from systemd's own hierarchy of
    /// version 1.
    ///
    /// As journald's `_SYSTEMD_UNIT=`: the first unit on the path, below slices.
    /// What stands behind it is made by that unit itself: a user's own manager
    /// (`user@1000.service`) can call its units by any name.
    package static func unit(inCgroup cgroup: [UInt8]) -> String? {
        var legacy: String?
        for line in cgroup.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            if parts[0].elementsEqual("0".utf8) && parts[1].isEmpty {
                if let unit = unit(inPath: parts[2]) { return unit }
            } else if parts[1].elementsEqual("name=systemd".utf8), legacy == nil {
                legacy = unit(inPath: parts[2])
            }
        }
        return legacy
    }

    private static func unit(inPath path: ArraySlice<UInt8>) -> String? {
        let components = path.split(separator: UInt8(ascii: "/"))
        guard let first = components.first(where: { !hasName($0, endingIn: ".slice") }),
            [".service", ".scope", ".socket", ".mount", ".swap"].contains(where: { hasName(first, endingIn: $0) })
        else { return nil }
        // systemd puts an underscore before a name that the kernel could take
        // for one of its own files.
        return String(decoding: first.first == UInt8(ascii: "_") ? first.dropFirst() : first, as: UTF8.self)
    }

    private static func hasName(_ component: ArraySlice<UInt8>, endingIn suffix: String) -> Bool {
        // systemd allows no longer names than this.
        component.count <= 255 && component.count > suffix.utf8.count
            && component.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n")
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt64(String(decoding: digits, as: UTF8.self))
    }
}

/// Who was on the other end of a Unix socket when it was connected.
///
/// The kernel says so; a peer cannot pretend to be another.
package struct PeerCredentials: Hashable, Sendable {
    package var pid: Int32
    package var uid: UInt32
    package var gid: UInt32

    package init(pid: Int32, uid: UInt32, gid: UInt32) {
        self.pid = pid
        self.uid = uid
        self.gid = gid
    }
}

extension FileDescriptor {
    /// The process, user and group that made the other end of this connection.
    package borrowing func peerCredentials() throws(Errno) -> PeerCredentials {
        var credentials = PeerCredentials(pid: 0, uid: 0, gid: 0)
        try calling {
            unsafe clinux_peer_credentials(rawValue, &credentials.pid, &credentials.uid, &credentials.gid)
        }
        return credentials
    }

    /// A descriptor of the process that made the other end of this connection; it stands for no later process with
    /// the same pid.
    ///
    /// - Throws: `Errno.protocolOptionMissing` before Linux 6.5; another error
    ///   where that process has been reaped.
    package borrowing func peerProcess() throws(Errno) -> FileDescriptor {
        FileDescriptor(owning: try calling { clinux_peer_process(rawValue) })
    }

    /// The supplementary groups of the peer, at the time it connected.
    package borrowing func peerGroups() throws(Errno) -> [UInt32] {
        var groups = [UInt32](repeating: 0, count: 32)
        while true {
            let count = try calling { unsafe clinux_peer_groups(rawValue, &groups, groups.count) }
            guard count > groups.count else { return Array(groups.prefix(count)) }
            groups = [UInt32](repeating: 0, count: count)
        }
    }
}
