import IssueProtocol
package import UnixIO

/// Functions that run programs and access files of the host. Tests replace them.
package struct HostTools {
    /// The output of a program, or the reason why it failed.
    package enum Output: Equatable, Sendable {
        case printed(String)
        /// The reason, and the program's output. The output is empty if the program did not run or took too long.
        case failed(String, printed: String = "")
    }

    /// The reason why a folder can't be listed or a file can't be written.
    package struct Failure: Error, Equatable, Sendable {
        package var reason: String
        /// Whether the file exists and must not be replaced.
        package var isExisting = false
    }

    /// Runs a program by its name, such as `journalctl`. Only the end of a long output is kept.
    package var run: (_ program: String, _ arguments: [String]) -> Output
    /// Reads a small text file; nil if it can't be read or is too large.
    package var read: (_ path: String) -> String?
    /// Returns a line with type, permissions, owner, size and name for each file in a folder, or with `?` and the name
    /// if the file's properties can't be read. If there are many files, the last line states how many are left out.
    package var list: (_ folder: String) throws(Failure) -> [String]
    /// Writes a file that only its owner may read. Replaces an existing one only if `replacing` is `true`.
    package var save: (_ content: [UInt8], _ path: String, _ replacing: Bool) throws(Failure) -> Void
    /// Returns the name of a user; nil if the name can't be found.
    package var userName: (_ userID: UInt32) -> String? = { _ in nil }
}

extension HostTools {
    /// The number of bytes that are kept from the end of a program's output.
    private static let maxOutput = 2 << 20
    /// The maximum size of a file to read, in bytes.
    private static let maxFile = 256 << 10
    /// The maximum duration of a program.
    private static let timeout: Duration = .seconds(20)
    /// The maximum number of files of a folder that are listed.
    private static let maxFiles = 200

    /// The environment variables that are passed on to programs.
    private static let variables = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "ISSUED_SOCKET"]
    private static let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/sbin", "/bin"]

    /// The tools of this host.
    package static var process: HostTools {
        HostTools(
            run: run,
            read: { path in
                (try? FileSystem.read(path, limit: maxFile)).map { String(decoding: $0, as: UTF8.self) }
            },
            list: { (folder) throws(Failure) in
                do throws(Errno) { return try list(folder) } catch { throw Failure(reason: "\(error)") }
            },
            save: { (content, path, isReplacing) throws(Failure) in
                do throws(Errno) {
                    guard !isReplacing else { return try FileSystem.writeAtomically(content, to: path, mode: 0o600) }
                    try create(path, content)
                } catch {
                    throw Failure(reason: "\(error)", isExisting: error == .alreadyExists)
                }
            },
            userName: { userID in
                // `user(named:)` prefers a user whose name consists of these digits. That user may have another id.
                UserDatabase.user(named: "\(userID)").flatMap { $0.userID == userID ? $0.name : nil }
            })
    }

    private static func run(_ name: String, _ arguments: [String]) -> Output {
        let own = CurrentProcess.executable.map { FileSystem.parentFolder(of: $0) }
        let environment =
            ["PATH=\(folders.joined(separator: ":"))", "LC_ALL=C.UTF-8"]
            + variables.compactMap { name in ProcessEnvironment[name].map { "\(name)=\($0)" } }
        for folder in [own].compactMap({ $0 }) + folders {
            do throws(Errno) {
                let run = try CommandRun(
                    ["\(folder)/\(name)"] + arguments, environment: environment, keeping: maxOutput, limit: nil,
                    timeout: timeout)
                return output(of: run, name)
            } catch .noSuchFile {
                continue
            } catch {
                return .failed("cannot run \(folder)/\(name): \(error)")
            }
        }
        return .failed("the program \(name) is not installed")
    }

    /// Returns the text that a program printed, or how it failed.
    static func output(of run: CommandRun, _ name: String) -> Output {
        var text = String(decoding: run.output, as: UTF8.self)
        // The first line of a truncated output may be incomplete.
        if run.isCut { text = "…\n" + text.drop { !$0.isNewline }.dropFirst() }
        let problem: String
        switch run.end {
        case .exit(0): return .printed(text)
        case .exit(let code): problem = "exited with \(code)"
        case .signal(let signal): problem = "was killed by signal \(signal)"
        case .timeout: return .failed("\(name) took longer than \(timeout.components.seconds) s")
        case .tooMuchOutput, .cancelled: problem = "was killed"
        }
        let reason = text.split(separator: "\n").prefix(20).joined(separator: "\n")
        return .failed("\(name) \(problem)\(reason.isEmpty ? "" : ":\n\(reason)")", printed: text)
    }

    private static func list(_ folder: String) throws(Errno) -> [String] {
        let names = try FileSystem.names(in: folder).sorted()
        let lines = names.prefix(maxFiles).map { name in
            guard let status = try? FileSystem.status(of: "\(folder)/\(name)", followingLinks: false) else {
                return "? \(TerminalSanitizer.line(name))"
            }
            return "\(status.kind) mode=\(String(status.mode & 0o7777, radix: 8)) uid=\(status.uid) "
                + "bytes=\(status.size) \(TerminalSanitizer.line(name))"
        }
        return lines + (names.count > maxFiles ? ["and \(names.count - maxFiles) more"] : [])
    }

    private static func create(_ path: String, _ content: [UInt8]) throws(Errno) {
        let folder = try TargetFolder(FileSystem.parentFolder(of: path))
        let name = FileSystem.name(of: path)
        let file = try folder.create(name)
        do throws(Errno) {
            try file.writeAll(content)
            try file.synchronize()
        } catch {
            try? folder.remove(name)
            throw error
        }
    }
}

/// Saves a copy of a file whose descriptor the daemon has passed, under a new path or in a folder. `replace` writes
/// other files.
package struct FileSaving {
    /// Throws if the destination is an existing file, its folder does not exist, or its file system has no free space.
    package var check: (_ destination: String) throws(CommandFailure) -> Void
    /// Saves the file and returns its path. If the destination is a folder, the file is called `name` there.
    package var save: (_ file: PassedFile, _ destination: String, _ name: String) throws(CommandFailure) -> String
    /// Writes a file that all users may read. Readers of an existing file see either the old or the new content.
    package var replace: (_ path: String, _ content: [UInt8]) throws(Errno) -> Void = {
        (path, content) throws(Errno) in try FileSystem.writeAtomically(content, to: path, mode: 0o644)
    }
}

extension FileSaving {
    /// Saves to the file system. Only `replace` overwrites an existing file; for an exception, see `rename`.
    ///
    /// The peer that passes the file is not trusted. Only the passed descriptor is read, up to the initial size of its
    /// file, which must be a regular file with a database header. No path named by the peer is opened, moved or
    /// removed.
    static var process: FileSaving {
        FileSaving(
            check: { (destination) throws(CommandFailure) in
                let folder = try target(destination, name: "backup").folder
                // Pseudo file systems, such as /proc, have no free space.
                guard FileSystem.freeSpace(in: folder) != 0 else {
                    throw CommandFailure(
                        .refused, "the file system of \(folder) has no free space: nothing was copied")
                }
            },
            save: { (file, destination, name) throws(CommandFailure) in
                let (folder, path) = try target(destination, name: name)
                do throws(Errno) {
                    try save(file.descriptor, into: folder, as: FileSystem.name(of: path))
                } catch .invalidArgument {
                    throw CommandFailure(
                        .refused, "the daemon passed a file that is not a database: nothing was copied")
                } catch {
                    throw CommandFailure(
                        .refused, "the backup cannot be written to \(path) (\(error)): nothing was copied")
                }
                return path
            })
    }

    /// The first bytes of every SQLite database (sqlite.org/fileformat2.html, 1.3.1).
    private static let header = Array("SQLite format 3\0".utf8)

    /// Returns the folder and the path of the new file.
    ///
    /// - Throws: `CommandFailure` if the destination is an existing file, or if its folder does not exist.
    private static func target(
        _ destination: String, name: String
    ) throws(CommandFailure) -> (folder: String, path: String) {
        let path = try path(at: destination, named: name, otherwise: "nothing was copied")
        let folder = FileSystem.parentFolder(of: path)
        guard path == destination else { return (folder, path) }
        guard (try? FileSystem.status(of: folder))?.kind == .directory else {
            throw CommandFailure(.refused, "the folder \(folder) does not exist: nothing was copied")
        }
        guard (try? FileSystem.status(of: path, followingLinks: false)) == nil else {
            throw CommandFailure(.refused, "\(path) already exists: nothing was copied")
        }
        return (folder, path)
    }

    /// Returns the path of a new file: the destination, or `name` in it if the destination is an existing folder.
    ///
    /// - Parameter consequence: A clause for the error if the folder does not exist, such as `nothing was copied`.
    static func path(
        at destination: String, named name: String, otherwise consequence: String
    ) throws(CommandFailure) -> String {
        let isFolder = (try? FileSystem.status(of: destination))?.kind == .directory
        guard isFolder || !destination.hasSuffix("/") else {
            throw CommandFailure(.refused, "\(destination) is not an existing folder: \(consequence)")
        }
        return isFolder ? destination + (destination.hasSuffix("/") ? "" : "/") + name : destination
    }

    private static func save(
        _ source: borrowing FileDescriptor, into path: String, as name: String
    ) throws(Errno) {
        let folder = try TargetFolder(path)
        let status = try source.status()
        guard status.kind == .regular, status.size > 0 else { throw .invalidArgument }
        guard try folder.freeBytes > UInt64(clamping: status.size) else { throw .deviceFull }
        let temporary = ".issued-backup-\(String(Randomness.uint64(), radix: 36)).tmp"
        let target = try folder.create(temporary)
        do throws(Errno) {
            try copy(source, bytes: status.size, to: target)
            try target.synchronize()
            try rename(temporary, to: name, in: folder)
        } catch {
            try? folder.remove(temporary)
            throw error
        }
        try folder.synchronize()
    }

    private static func copy(
        _ source: borrowing FileDescriptor, bytes: Int64, to target: borrowing FileDescriptor
    ) throws(Errno) {
        var chunk: [UInt8] = []
        var left = bytes
        while left > 0 {
            chunk.removeAll(keepingCapacity: true)
            // Each chunk is filled completely, so that the whole header is in the first one.
            let wanted = Int(min(1 << 20, left))
            while chunk.count < wanted {
                guard try source.read(appendingTo: &chunk, atMost: wanted - chunk.count) > 0 else {
                    throw .invalidArgument
                }
            }
            if left == bytes { guard chunk.starts(with: header) else { throw .invalidArgument } }
            try target.writeAll(chunk)
            left -= Int64(chunk.count)
        }
    }

    /// Renames the finished file without overwriting an existing file. Where hard links are not possible, a file that
    /// is created at the same moment may be overwritten.
    ///
    /// - Parameters:
    ///   - temporary: The current name of the file.
    ///   - name: The new name of the file.
    ///   - folder: The folder of the file.
    ///   - link: Creates a hard link in the folder.
    /// - Throws: `alreadyExists` if there is a file with the new name, or another `Errno` if renaming fails.
    package static func rename(
        _ temporary: String, to name: String, in folder: borrowing TargetFolder,
        link: (borrowing TargetFolder, String, String) throws(Errno) -> Void = {
            (folder, name, other) throws(Errno) in try folder.link(name, to: other)
        }
    ) throws(Errno) {
        do throws(Errno) {
            try link(folder, temporary, name)
        } catch .alreadyExists {
            throw .alreadyExists
        } catch {
            // File systems without hard links return EPERM, EOPNOTSUPP, ENOSYS or EMLINK.
            guard !folder.contains(name) else { throw .alreadyExists }
            return try folder.rename(temporary, to: name)
        }
        try folder.remove(temporary)
    }
}
