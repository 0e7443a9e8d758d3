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

    /// Reads the facts of a process, or returns nil when it is gone.
    ///
    /// - Throws: `tooManyFiles` or `tooManyFilesInSystem` where no descriptor can be had to read them by.
    package static func read(pid: Int32) throws(Errno) -> ProcessFacts? {
        let folder = "/proc/\(pid)"
        guard
            let stat = try content("\(folder)/stat", limit: 4096),
            let startTime = startTime(inStat: stat)
        else { return nil }

        let command = try content("\(folder)/comm", limit: 256).map { Self.command(inComm: $0) }
        let cgroup = try content("\(folder)/cgroup", limit: 65_536)
        let executable = try? FileSystem.readLink("\(folder)/exe")
        return ProcessFacts(
            pid: pid,
            command: command ?? "",
            executable: executable.map { Self.executable(inLink: $0) },
            unit: cgroup.flatMap { unit(inCgroup: $0) },
            startTime: startTime)
    }

    /// What stands in a file, or nothing where it can't be read for another reason than that of the reader.
    private static func content(_ path: String, limit: Int) throws(Errno) -> [UInt8]? {
        do throws(Errno) {
            return try FileSystem.read(path, limit: limit)
        } catch {
            guard error != .tooManyFiles, error != .tooManyFilesInSystem else { throw error }
            return nil
        }
    }
}
