import CLinux
import Glibc

/// Files and folders, in the words of the kernel.
package enum FileSystem {
    package static func status(of path: String, followingLinks: Bool = true) throws(Errno) -> FileStatus {
        var status = Glibc.stat()
        try retrying { unsafe followingLinks ? stat(path, &status) : lstat(path, &status) }
        return FileStatus(status)
    }

    package static func rename(_ source: String, to destination: String) throws(Errno) {
        try calling { unsafe Glibc.rename(source, destination) }
    }

    /// Gives a file a second name.
    package static func link(_ source: String, to destination: String) throws(Errno) {
        try calling { unsafe Glibc.link(source, destination) }
    }

    /// Removes a file or a socket, not a folder.
    package static func remove(_ path: String) throws(Errno) {
        try calling { unsafe unlink(path) }
    }

    package static func removeEmptyFolder(_ path: String) throws(Errno) {
        try calling { unsafe rmdir(path) }
    }

    package static func setMode(_ mode: UInt32, of path: String) throws(Errno) {
        try retrying { unsafe chmod(path, mode) }
    }

    /// Makes a file belong to others; nil leaves that part as it is.
    package static func setOwner(_ user: UInt32?, group: UInt32?, of path: String) throws(Errno) {
        try retrying { unsafe chown(path, user ?? .max, group ?? .max) }
    }

    /// Makes a folder and all above it that are missing; existing ones stay.
    package static func makeFolders(_ path: String, mode: UInt32 = 0o755) throws(Errno) {
        do throws(Errno) {
            try calling { unsafe mkdir(path, mode) }
        } catch .alreadyExists {
            guard try status(of: path).kind == .directory else { throw .notDirectory }
        } catch .noSuchFile {
            let parent = parentFolder(of: path)
            guard parent != path else { throw .noSuchFile }
            try makeFolders(parent, mode: mode)
            // Once more and no further: some file systems have no room for folders and say so in the same words.
            try calling { unsafe mkdir(path, mode) }
        }
    }

    /// The target of a symbolic link, byte for byte.
    package static func readLink(_ path: String) throws(Errno) -> [UInt8] {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = try calling { unsafe readlink(path, &bytes, bytes.count) }
        return bytes.prefix(count).map { UInt8(bitPattern: $0) }
    }

    /// How many bytes an ordinary user may still write there.
    package static func freeBytes(at path: String) throws(Errno) -> UInt64 {
        var status = statvfs()
        try retrying { unsafe statvfs(path, &status) }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? .max : bytes
    }

    /// The names in a folder, without `.` and `..`, in no order.
    package static func names(in path: String) throws(Errno) -> [String] {
        guard let folder = unsafe opendir(path) else { throw .current }
        defer { unsafe _ = closedir(folder) }
        return try unsafe names(of: folder)
    }

    static func names(of folder: OpaquePointer) throws(Errno) -> [String] {
        var names: [String] = []
        while true {
            // The end and an error look alike but for errno.
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

    /// The path without symbolic links. All of it must exist.
    package static func resolvedPath(_ path: String) throws(Errno) -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw .current }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// Throws unless this process may create, rename and remove files in a folder.
    package static func checkWritable(folder path: String) throws(Errno) {
        try calling { unsafe faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) }
    }

    /// The folder that holds a file.
    package static func parentFolder(of path: String) -> String {
        var parts = path[...]
        while parts.count > 1 && parts.last == "/" { parts.removeLast() }
        guard let slash = parts.lastIndex(of: "/") else { return "." }
        let parent = parts[..<slash]
        return parent.allSatisfy({ $0 == "/" }) ? "/" : String(parent)
    }
}

extension FileSystem {
    /// Reads a whole file, or throws `fileTooLarge` beyond the limit.
    package static func read(_ path: String, limit: Int) throws(Errno) -> [UInt8] {
        try read(try FileDescriptor.open(path), limit: limit)
    }

    /// Reads a file that is open, from where it stands to its end.
    package static func read(_ file: borrowing FileDescriptor, limit: Int) throws(Errno) -> [UInt8] {
        // Files under /proc say that they are empty, so the size is a hint.
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

    /// Writes a file so that a reader sees the old content or the new, and so
    /// that the new is on the disk when this returns.
    package static func writeAtomically(_ content: [UInt8], to path: String, mode: UInt32 = 0o600) throws(Errno) {
        let folder = parentFolder(of: path)
        let temporary = "\(path).\(String(Randomness.uint64(), radix: 36)).tmp"
        do throws(Errno) {
            let file = try FileDescriptor.open(temporary, [.writeOnly, .create, .exclusive, .noFollow], mode: mode)
            try file.setMode(mode)
            try file.writeAll(content)
            try file.synchronize()
            try file.close()
            try rename(temporary, to: path)
        } catch {
            try? remove(temporary)
            throw error
        }
        // The rename itself is durable only with the folder.
        try synchronizeFolder(folder)
    }

    /// Copies a file to where nothing is yet; what fails leaves nothing there.
    ///
    /// - Parameter goOn: Called before each step, and throws when there is to be none.
    package static func copy(_ source: String, to target: String, goOn: () throws -> Void = {}) throws {
        let from = try FileDescriptor.open(source)
        let to = try FileDescriptor.open(target, [.writeOnly, .create, .exclusive, .noFollow])
        do {
            var chunk: [UInt8] = []
            try goOn()
            while try from.read(appendingTo: &chunk, atMost: 1 << 20) > 0 {
                try to.writeAll(chunk)
                chunk.removeAll(keepingCapacity: true)
                try goOn()
            }
        } catch {
            try? remove(target)
            throw error
        }
    }

    /// Returns once the names in a folder are on the disk.
    package static func synchronizeFolder(_ path: String) throws(Errno) {
        let folder = try FileDescriptor.open(path, .directory)
        try folder.synchronize()
    }
}

/// What the kernel says about a file.
package struct FileStatus: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case regular, directory, symbolicLink, socket, pipe, device, unknown
    }

    package var kind: Kind
    /// The permissions, without the kind.
    package var mode: UInt32
    package var size: Int64
    package var uid: UInt32
    package var gid: UInt32
    package var device: UInt64
    package var inode: UInt64
    /// The last change of the content, in nanoseconds since 1970.
    package var modifiedNanoseconds: Int64

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

/// A lock that other processes respect, held as long as this value lives.
package struct FileLock: ~Copyable, Sendable {
    private let file: FileDescriptor

    /// Locks a file, made if need be, or throws `wouldBlock` when another
    /// process holds it.
    package init(_ path: String, mode: UInt32 = 0o600) throws(Errno) {
        try self.init(try FileDescriptor.open(path, [.readWrite, .create, .noFollow], mode: mode))
    }

    /// Locks an open file, or throws `wouldBlock` when another process holds it.
    package init(_ file: consuming FileDescriptor) throws(Errno) {
        try retrying { flock(file.rawValue, LOCK_EX | LOCK_NB) }
        self.file = file
    }

    /// Locks the folder of a file, waiting a while for others; nil where that
    /// is not possible.
    init?(waitingForFolderOf path: String) {
        guard let folder = try? FileDescriptor.open(FileSystem.parentFolder(of: path), .directory) else {
            return nil
        }
        // Others hold it for a moment only. A stranger who holds it for good
        // must not keep us from starting.
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

/// Tells that something was taken out of a folder, or that the folder itself is gone.
package final class FolderWatch: Sendable {
    /// Readable when something has happened since the last look.
    package let descriptor: FileDescriptor

    package init(_ folder: String) throws(Errno) {
        let watch = FileDescriptor(owning: try calling { clinux_folder_watch_create() })
        try calling { unsafe clinux_folder_watch_add(watch.rawValue, folder) }
        descriptor = watch
    }

    /// Forgets what has happened; who asks then looks for himself.
    package func clear() {
        var events: [UInt8] = []
        while case .bytes = descriptor.attemptRead(appendingTo: &events, atMost: 4096) {
            events.removeAll(keepingCapacity: true)
        }
    }
}
