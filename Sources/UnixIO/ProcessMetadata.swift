import CLinux
import Glibc

/// Information about a process, apart from its credentials.
///
/// A process may end at any time, and its pid may be reused. Two values describe the same process only if both pid and
/// start time are equal.
package struct ProcessMetadata: Hashable, Sendable {
    package var pid: Int32
    /// The short name of at most 15 bytes; empty if it cannot be read. The process can set it freely.
    package var command: String
    /// The path of the executable; nil if it cannot be read.
    package var executable: String?
    /// The systemd unit of the process; nil if the process has none, or if the unit cannot be read.
    package var unit: String?
    /// The time from the start of the host to the start of the process, in clock ticks.
    package var startTime: UInt64

    /// The result of checking that a pid still belongs to the expected process.
    package enum Identity: Sendable {
        case same
        /// The process has been reaped. Its pid may belong to another process.
        case gone
        /// The kernel cannot tell.
        case unknown
    }

    /// Reads the information about the process that created the other end of a connection.
    ///
    /// If that process passed the connection to another process, the latter is not considered.
    ///
    /// - Parameters:
    ///   - peer: The credentials of the peer.
    ///   - connection: The connection to the peer.
    /// - Returns: Nil if the process has been reaped or cannot be read. Before Linux 6.5, the result may describe a
    ///   later process of the same user with the same pid.
    /// - Throws: `tooManyFiles` or `tooManyFilesInSystem` if no file descriptor is available for reading.
    package static func read(
        of peer: PeerCredentials, on connection: borrowing FileDescriptor
    ) throws(Errno) -> ProcessMetadata? {
        let handle: Handle
        do throws(Errno) {
            handle = Handle(try connection.peerProcess())
        } catch {
            if error == .protocolOptionMissing { return try read(pid: peer.pid, uid: peer.uid) }
            try rethrowDescriptorShortage(error)
            return nil
        }
        return try read(pid: peer.pid, uid: peer.uid) { handle.identity(of: peer.pid) }
    }

    /// A handle of one process. It never refers to a later process with the same pid.
    private final class Handle {
        private let descriptor: FileDescriptor

        init(_ descriptor: consuming FileDescriptor) {
            self.descriptor = descriptor
        }

        func identity(of pid: Int32) -> Identity {
            guard (try? Readiness.wait(descriptor, for: .read, timeout: .zero)) == true else { return .same }
            // The process has ended. Its pid is not reused until the process is reaped.
            let fields = (try? FileSystem.read("/proc/self/fdinfo/\(descriptor.rawValue)", limit: 4096)) ?? []
            return fields.split(separator: UInt8(ascii: "\n")).contains { $0.elementsEqual("Pid:\t\(pid)".utf8) }
                ? .same : .gone
        }
    }

    /// Reads the information about a process.
    ///
    /// All files are opened relative to a descriptor of the process's folder, which never refers to a later process
    /// with the same pid.
    ///
    /// - Parameters:
    ///   - pid: The process id.
    ///   - uid: The required owner of the process; nil for any. Checked only if `identity` returns `.unknown`.
    ///   - root: The path of the proc file system.
    ///   - identity: Checks whether the pid still belongs to the process. Called after the folder was opened, and again
    ///     at the end.
    /// - Returns: Nil if the process has been reaped, does not belong to `uid`, or cannot be read.
    /// - Throws: `tooManyFiles` or `tooManyFilesInSystem` if no file descriptor is available for reading.
    package static func read(
        pid: Int32, uid: UInt32? = nil, root: String = "/proc", identity: () -> Identity = { .unknown }
    ) throws(Errno) -> ProcessMetadata? {
        guard pid > 0 else { return nil }
        let folder: FileDescriptor
        do throws(Errno) {
            folder = try FileDescriptor.open("\(root)/\(pid)", [.pathOnly, .directory, .noFollow])
        } catch {
            try rethrowDescriptorShortage(error)
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

    /// The maximum number of bytes of a command line that are read. A path has at most 4,096.
    private static let maxCommandLine = 8192

    /// Returns the first arguments of a process, beginning with its own name; empty if they cannot be read. The process
    /// can change them freely.
    package static func firstArguments(of pid: Int32) -> [String] {
        var bytes: [UInt8] = []
        guard let file = try? FileDescriptor.open("/proc/\(pid)/cmdline"),
            (try? file.read(appendingTo: &bytes, atMost: maxCommandLine)) != nil
        else { return [] }
        // Each argument ends with NUL. The last one may be incomplete.
        return bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the contents of a file; nil if it cannot be read. Throws if no file descriptor is available.
    private static func content(
        _ name: String, in folder: borrowing FileDescriptor, limit: Int
    ) throws(Errno) -> [UInt8]? {
        do throws(Errno) {
            return try FileSystem.read(try folder.open(name), limit: limit)
        } catch {
            try rethrowDescriptorShortage(error)
            return nil
        }
    }

    /// Throws the error if it states that no file descriptor is available.
    private static func rethrowDescriptorShortage(_ error: Errno) throws(Errno) {
        if error == .tooManyFiles || error == .tooManyFilesInSystem { throw error }
    }
}

// The files under /proc contain names that the process has chosen itself, so they are parsed as untrusted input.
extension ProcessMetadata {
    /// Returns the 22nd field of `/proc/PID/stat`, the start time in clock ticks; nil if it is malformed.
    ///
    /// The second field is the command in parentheses. The command may contain spaces and parentheses, so the field
    /// ends at the last closing parenthesis.
    package static func startTime(inStat stat: [UInt8]) -> UInt64? {
        guard let close = stat.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = stat[(close + 1)...].split(whereSeparator: { isSpace($0) })
        // The text after the parenthesis starts with field 3.
        guard fields.count > 19 else { return nil }
        return number(fields[19])
    }

    /// Returns the contents of `/proc/PID/comm` without the line end that the kernel adds.
    package static func command(inComm comm: [UInt8]) -> String {
        let name = comm.last == UInt8(ascii: "\n") ? comm.dropLast() : comm[...]
        return String(decoding: name, as: UTF8.self)
    }

    /// Returns the target of `/proc/PID/exe` without the suffix of a deleted file, so that an application keeps its
    /// identity while its package is upgraded.
    package static func executable(inLink link: [UInt8]) -> String {
        let suffix = Array(" (deleted)".utf8)
        let path =
            link.count > suffix.count && link.suffix(suffix.count).elementsEqual(suffix)
            ? link.dropLast(suffix.count) : link[...]
        return String(decoding: path, as: UTF8.self)
    }

    /// Returns the system unit in `/proc/PID/cgroup`; nil if there is none. It is read from the line of cgroup version
    /// 2 or, if that line names none, from the line of systemd's hierarchy of version 1.
    ///
    /// Like journald's `_SYSTEMD_UNIT=`, this is the first unit of the path that is not a slice. The unit controls the
    /// rest of the path: the manager of a user (`user@1000.service`) can choose any names for its own units.
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
        // systemd adds an underscore to names that could conflict with the kernel's own files.
        return String(decoding: first.first == UInt8(ascii: "_") ? first.dropFirst() : first, as: UTF8.self)
    }

    private static func hasName(_ component: ArraySlice<UInt8>, endingIn suffix: String) -> Bool {
        // The maximum length of a unit name in systemd is 255.
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

/// The credentials that the peer of a Unix socket had when it connected or, if it is the server, when it began to
/// listen.
///
/// They come from the kernel, so a peer cannot forge them.
package struct PeerCredentials: Hashable, Sendable {
    package var pid: Int32
    package var uid: UInt32
    package var gid: UInt32
}

extension FileDescriptor {
    /// Returns the credentials of the peer.
    package borrowing func peerCredentials() throws(Errno) -> PeerCredentials {
        var credentials = PeerCredentials(pid: 0, uid: 0, gid: 0)
        try calling {
            unsafe clinux_peer_credentials(rawValue, &credentials.pid, &credentials.uid, &credentials.gid)
        }
        return credentials
    }

    /// Returns a descriptor (pidfd) of the process that created the other end of this connection. It never refers to a
    /// later process with the same pid.
    ///
    /// - Throws: `protocolOptionMissing` before Linux 6.5, or another error if the process has been reaped.
    package borrowing func peerProcess() throws(Errno) -> FileDescriptor {
        FileDescriptor(owning: try calling { clinux_peer_process(rawValue) })
    }

    /// Returns the supplementary groups that the peer had when it connected or began to listen.
    package borrowing func peerGroups() throws(Errno) -> [UInt32] {
        var groups = [UInt32](repeating: 0, count: 32)
        while true {
            let count = try calling { unsafe clinux_peer_groups(rawValue, &groups, groups.count) }
            guard count > groups.count else { return Array(groups.prefix(count)) }
            groups = [UInt32](repeating: 0, count: count)
        }
    }
}
