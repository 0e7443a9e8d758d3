import CLinux
import Glibc

/// System calls for files and folders.
package enum FileSystem {
    /// Returns the status of a file.
    ///
    /// - Parameter followingLinks: `false` for the status of a symbolic link itself.
    package static func status(of path: String, followingLinks: Bool = true) throws(Errno) -> FileStatus {
        var status = Glibc.stat()
        try retrying { unsafe followingLinks ? stat(path, &status) : lstat(path, &status) }
        return FileStatus(status)
    }

    /// Renames a file, replacing an existing one.
    package static func rename(_ source: String, to destination: String) throws(Errno) {
        try calling { unsafe Glibc.rename(source, destination) }
    }

    /// Creates another hard link to a file.
    package static func link(_ source: String, to destination: String) throws(Errno) {
        try calling { unsafe Glibc.link(source, destination) }
    }

    /// The folders of the system's systemd units, in decreasing order of precedence.
    package static let unitFolders = [
        "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
        "/lib/systemd/system",
    ]

    /// Removes a file or socket. Throws for a folder.
    package static func remove(_ path: String) throws(Errno) {
        try calling { unsafe unlink(path) }
    }

    /// Sets the permissions of a file.
    package static func setMode(_ mode: UInt32, of path: String) throws(Errno) {
        try retrying { unsafe chmod(path, mode) }
    }

    /// Creates a folder and its missing parents. Existing folders stay unchanged.
    ///
    /// - Parameter mode: The permissions of all created folders. The umask does not apply if these include permissions
    ///   for the group or for others.
    package static func makeFolders(_ path: String, mode: UInt32 = 0o755) throws(Errno) {
        do throws(Errno) {
            try makeFolder(path, mode: mode)
        } catch .alreadyExists {
            guard try status(of: path).kind == .directory else { throw .notDirectory }
        } catch .noSuchFile {
            let parent = parentFolder(of: path)
            guard parent != path else { throw .noSuchFile }
            try makeFolders(parent, mode: mode)
            // Tried only once more, because file systems that cannot contain folders return the same error.
            do throws(Errno) {
                try makeFolder(path, mode: mode)
            } catch .alreadyExists {
                // The path ends in a dot, or another process has created the folder.
                guard try status(of: path).kind == .directory else { throw .notDirectory }
            }
        }
    }

    private static func makeFolder(_ path: String, mode: UInt32) throws(Errno) {
        try calling { unsafe mkdir(path, mode) }
        // mkdir() has applied the umask.
        if mode & 0o077 != 0 { try setMode(mode, of: path) }
    }

    /// Returns the target of a symbolic link, as bytes.
    package static func readLink(_ path: String) throws(Errno) -> [UInt8] {
        try readLink(path, in: AT_FDCWD)
    }

    /// Returns the target of a symbolic link. The path of the link is relative to an open folder.
    static func readLink(_ path: String, in folder: CInt) throws(Errno) -> [UInt8] {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = try calling { unsafe readlinkat(folder, path, &bytes, bytes.count) }
        return bytes.prefix(count).map { UInt8(bitPattern: $0) }
    }

    /// Returns the free space, in bytes, that unprivileged users can use on the file system of `path`.
    package static func freeBytes(at path: String) throws(Errno) -> UInt64 {
        var status = statvfs()
        try retrying { unsafe statvfs(path, &status) }
        return freeBytes(status)
    }

    /// Returns the free space, as ``freeBytes(at:)`` does; nil if it is unknown.
    package static func freeSpace(in folder: String) -> Int64? {
        (try? freeBytes(at: folder)).map { Int64(clamping: $0) }
    }

    /// Returns the size of the file system that a path is on, in bytes; nil if it is unknown. If the path does not
    /// exist, its nearest existing parent folder is used.
    package static func size(ofFileSystemOf path: String) -> Int64? {
        var path = path
        while true {
            var status = statvfs()
            do throws(Errno) {
                try retrying { unsafe statvfs(path, &status) }
                let (bytes, overflow) = UInt64(status.f_blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize))
                // Some virtual file systems report no size.
                guard bytes > 0 || overflow else { return nil }
                return overflow ? Int64.max : Int64(clamping: bytes)
            } catch {
                let parent = parentFolder(of: path)
                guard error == .noSuchFile, parent != path else { return nil }
                path = parent
            }
        }
    }

    static func freeBytes(_ status: statvfs) -> UInt64 {
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? .max : bytes
    }

    /// Returns the names in a folder, without `.` and `..`, in no particular order.
    package static func names(in path: String) throws(Errno) -> [String] {
        guard let folder = unsafe opendir(path) else { throw .current }
        defer { unsafe _ = closedir(folder) }
        return try unsafe names(of: folder)
    }

    static func names(of folder: OpaquePointer) throws(Errno) -> [String] {
        var names: [String] = []
        while true {
            // readdir() returns NULL at the end and after errors. Only errno distinguishes them.
            errno = 0
            guard let entry = unsafe readdir(folder) else {
                let error = Errno.current
                guard error.rawValue == 0 else { throw error }
                return names
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    /// Returns the path with all symbolic links resolved. All of it must exist.
    package static func resolvedPath(_ path: String) throws(Errno) -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw .current }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// Throws unless this process may create, rename and remove files in a folder.
    package static func checkWritable(folder path: String) throws(Errno) {
        try calling { unsafe faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) }
    }

    /// Returns `true` if no file can be created in a folder because its file system is read-only. Returns `false` if
    /// this can't be determined.
    ///
    /// After an error, the kernel may treat a file system as read-only although it is not mounted as such
    /// (`emergency_ro` of ext4). Only an attempt to write shows this, so an unnamed file is created, which leaves no
    /// trace.
    package static func isReadOnly(folder path: String) -> Bool {
        do throws(Errno) {
            _ = try FileDescriptor.open(path, [.unnamed, .writeOnly])
        } catch .readOnlyFileSystem {
            return true
        } catch {
            // Some file systems have no unnamed files.
            return unsafe faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 && errno == EROFS
        }
        return false
    }

    /// Returns `true` if a path is a regular file that this process may run as a program.
    package static func isExecutable(_ path: String) -> Bool {
        guard let status = try? status(of: path), status.kind == .regular else { return false }
        return unsafe faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0
    }

    /// Returns the path of the folder that contains a file: `.` for a name without a slash, and `/` for the root
    /// folder.
    package static func parentFolder(of path: String) -> String {
        var parts = path[...]
        while parts.count > 1 && parts.last == "/" { parts.removeLast() }
        guard let slash = parts.lastIndex(of: "/") else { return "." }
        let parent = parts[..<slash]
        return parent.allSatisfy({ $0 == "/" }) ? "/" : String(parent)
    }
}

extension FileSystem {
    /// Reads a whole file.
    ///
    /// - Parameter limit: The maximum size, in bytes.
    /// - Throws: `fileTooLarge` if the file is larger.
    package static func read(_ path: String, limit: Int) throws(Errno) -> [UInt8] {
        try read(try FileDescriptor.open(path), limit: limit)
    }

    /// Reads an open file from its current position to the end.
    ///
    /// - Parameter limit: The maximum size, in bytes.
    /// - Throws: `fileTooLarge` if the file is larger.
    package static func read(_ file: borrowing FileDescriptor, limit: Int) throws(Errno) -> [UInt8] {
        // Files under /proc report a size of 0, so the size is only a hint.
        let size = try file.status().size
        guard size <= limit else { throw .fileTooLarge }
        var content: [UInt8] = []
        var step = max(512, Int(size) + 1)
        while try file.read(appendingTo: &content, atMost: min(step, limit - content.count + 1)) > 0 {
            guard content.count <= limit else { throw .fileTooLarge }
            step = max(512, content.count)
        }
        return content
    }

    /// Writes a file atomically: readers see either the old or the new content. The new content is on disk when this
    /// returns.
    package static func writeAtomically(_ content: [UInt8], to path: String, mode: UInt32 = 0o600) throws(Errno) {
        try TargetFolder(parentFolder(of: path)).replace(name(of: path), by: content, mode: mode)
    }

    /// Copies the content of a file to a new file that only this user can access. Removes the new file if copying
    /// fails.
    ///
    /// - Parameter checkCancellation: Called repeatedly; throws to cancel.
    /// - Throws: `alreadyExists` if the target exists already, another `Errno`, or the error of `checkCancellation`.
    package static func copy(_ source: String, to target: String, checkCancellation: () throws -> Void = {}) throws {
        let from = try FileDescriptor.open(source)
        let to = try FileDescriptor.open(target, [.writeOnly, .create, .exclusive, .noFollow])
        do {
            var chunk: [UInt8] = []
            try checkCancellation()
            while try from.read(appendingTo: &chunk, atMost: 1 << 20) > 0 {
                try to.writeAll(chunk)
                chunk.removeAll(keepingCapacity: true)
                try checkCancellation()
            }
        } catch {
            try? remove(target)
            throw error
        }
    }

    /// Flushes a folder to the disk (fsync), so that created, renamed and removed names are durable.
    package static func synchronizeFolder(_ path: String) throws(Errno) {
        let folder = try FileDescriptor.open(path, .directory)
        try folder.synchronize()
    }
}

/// The status of a file.
package struct FileStatus: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case regular, directory, symbolicLink, socket, pipe, device, unknown
    }

    package var kind: Kind
    /// The permission bits, including setuid, setgid and sticky.
    package var mode: UInt32
    /// The size, in bytes.
    package var size: Int64
    package var uid: UInt32
    package var gid: UInt32
    package var device: UInt64
    package var inode: UInt64
    /// The time of the last modification, in nanoseconds since 1970.
    package var modifiedNanoseconds: Int64

    /// Returns `true` if both describe the same file, even under different names.
    package func isSameFile(as other: FileStatus) -> Bool { inode == other.inode && device == other.device }

    init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            case S_IFSOCK: .socket
            case S_IFIFO: .pipe
            case S_IFCHR, S_IFBLK: .device
            case _: .unknown
            }
        mode = status.st_mode & 0o7777
        size = Int64(status.st_size)
        uid = status.st_uid
        gid = status.st_gid
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        modifiedNanoseconds =
            Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    }
}

/// An advisory file lock (flock) that is held for the lifetime of this value.
package struct FileLock: ~Copyable, Sendable {
    private let file: FileDescriptor
    private let owner = CurrentProcess.pid

    /// Locks a file. Creates the file if it does not exist.
    ///
    /// - Throws: `wouldBlock` if the file is already locked, even by this process.
    package init(_ path: String, mode: UInt32 = 0o600) throws(Errno) {
        try self.init(try FileDescriptor.open(path, [.readWrite, .create, .noFollow], mode: mode))
    }

    /// Locks an open file.
    ///
    /// - Throws: `wouldBlock` if the file is locked through a separately opened descriptor, even by this process.
    package init(_ file: consuming FileDescriptor) throws(Errno) {
        try retrying { flock(file.rawValue, LOCK_EX | LOCK_NB) }
        self.file = file
    }

    deinit {
        // Closing is not enough: a child process that another thread is starting has a copy of the descriptor until it
        // calls execve, and the copy holds the lock; see flock(2). A child of fork must not release its parent's lock.
        if owner == CurrentProcess.pid { flock(file.rawValue, LOCK_UN) }
    }

    /// Locks the folder of a file. Waits up to a second for other processes. Returns nil if the folder cannot be
    /// locked.
    init?(waitingForFolderOf path: String) {
        guard let folder = try? FileDescriptor.open(FileSystem.parentFolder(of: path), .directory) else {
            return nil
        }
        // Other processes hold the lock only briefly. A process that holds it forever must not prevent this one from
        // starting.
        let deadline = MonotonicClock.now.advanced(by: .seconds(1))
        while true {
            do throws(Errno) {
                try retrying { flock(folder.rawValue, LOCK_EX | LOCK_NB) }
                break
            } catch .wouldBlock where MonotonicClock.now < deadline {
                usleep(2_000)
            } catch {
                return nil
            }
        }
        file = folder
    }
}

/// Reports that entries of a folder were removed, or moved into or out of it, or that the folder itself was removed or
/// renamed (inotify).
package final class FolderWatch: Sendable {
    /// Readable while an event is pending; see ``clear()``.
    package let descriptor: FileDescriptor

    /// Watches a folder.
    package init(_ folder: String) throws(Errno) {
        let watch = FileDescriptor(owning: try calling { clinux_folder_watch_create() })
        try calling { unsafe clinux_folder_watch_add(watch.rawValue, folder) }
        descriptor = watch
    }

    /// Discards the pending events. The caller must then examine the folder.
    package func clear() {
        var events: [UInt8] = []
        while case .bytes = descriptor.attemptRead(appendingTo: &events, atMost: 4096) {
            events.removeAll(keepingCapacity: true)
        }
    }
}
