import CLinux
import Glibc

/// A folder that belongs to this process's user alone, and is used by its descriptor.
///
/// The path is walked one component at a time, and no other user may be able to
/// replace a component. Later operations use the folder that was checked, even if
/// its path leads elsewhere by then.
package struct PrivateFolder: ~Copyable, Sendable {
    private let folder: FileDescriptor

    // As many as the kernel follows.
    private static let maxLinks = 40
    private static let pathBytes = 4096

    /// Opens the folder at an absolute path.
    ///
    /// Throws `notPermitted` if the folder is open to others, or if another
    /// user could replace a part of its path.
    ///
    /// - Parameter makesMissing: Whether what is missing of the path is made, for this user alone.
    package init(_ path: String, makesMissing: Bool = false) throws(Errno) {
        let found = try Self.walk(path, makesMissing: makesMissing)
        let status = try found.status()
        guard status.uid == CurrentProcess.userID, status.mode & 0o077 == 0 else { throw .notPermitted }
        // The walk needs no right to read; to list the names, and to sync them, does.
        let flags: OpenFlags = [.readOnly, .directory]
        folder = FileDescriptor(
            owning: try retrying { unsafe clinux_open_at(found.rawValue, ".", flags.rawValue, 0) })
    }

    // MARK: Walking

    private static func walk(_ path: String, makesMissing: Bool) throws(Errno) -> FileDescriptor {
        guard path.hasPrefix("/"), path.utf8.count < pathBytes, !path.utf8.contains(0) else { throw .invalidArgument }
        let owners = TrustedOwners()
        var folder = try root(owners)
        var rest = components(of: path)
        var links = 0
        while let name = rest.popLast() {
            do throws(Errno) {
                folder = try step(folder, to: name, owners)
            } catch .noSuchFile where makesMissing {
                do throws(Errno) {
                    try calling { unsafe mkdirat(folder.rawValue, name, 0o700) }
                } catch .alreadyExists {
                    // Another process made it first. Its owner is checked like any other.
                }
                folder = try step(folder, to: name, owners)
            } catch .notDirectory {
                // A link made by root or this user, in a folder that no other user can change, is as safe as the path.
                let link = try status(of: name, in: folder)
                guard link.kind == .symbolicLink else { throw .notDirectory }
                guard owners.contains(link.uid) else { throw .notPermitted }
                links += 1
                guard links <= maxLinks else { throw .tooManyLinks }
                let target = try target(of: name, in: folder)
                if target.hasPrefix("/") { folder = try root(owners) }
                rest += components(of: target)
                guard rest.count <= pathBytes else { throw .nameTooLong }
            }
        }
        return folder
    }

    private static func root(_ owners: TrustedOwners) throws(Errno) -> FileDescriptor {
        let root = FileDescriptor(owning: try retrying { unsafe clinux_find_folder_at(AT_FDCWD, "/") })
        guard owners.keep(try root.status()) else { throw .notPermitted }
        return root
    }

    private static func step(
        _ folder: borrowing FileDescriptor, to name: String, _ owners: TrustedOwners
    ) throws(Errno) -> FileDescriptor {
        let next = FileDescriptor(
            owning: try retrying { unsafe clinux_find_folder_at(folder.rawValue, name) })
        guard owners.keep(try next.status()) else { throw .notPermitted }
        return next
    }

    /// The names in a path, the last one first.
    private static func components(of path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.reversed().map(String.init)
    }

    private static func status(of name: String, in folder: borrowing FileDescriptor) throws(Errno) -> FileStatus {
        var status = Glibc.stat()
        try retrying { unsafe fstatat(folder.rawValue, name, &status, AT_SYMLINK_NOFOLLOW) }
        return FileStatus(status)
    }

    private static func target(of name: String, in folder: borrowing FileDescriptor) throws(Errno) -> String {
        var bytes = [CChar](repeating: 0, count: pathBytes)
        let count = try calling { unsafe readlinkat(folder.rawValue, name, &bytes, bytes.count) }
        guard count < bytes.count else { throw .nameTooLong }
        return String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: What is in it

    /// The names in the folder, without `.` and `..`, in no order.
    package borrowing func names() throws(Errno) -> [String] {
        // Of its own, since reading moves the place in the folder.
        let flags: OpenFlags = [.readOnly, .directory]
        let copy = try retrying { unsafe clinux_open_at(folder.rawValue, ".", flags.rawValue, 0) }
        guard let stream = unsafe fdopendir(copy) else {
            let error = Errno.current
            _ = close(copy)
            throw error
        }
        defer { unsafe _ = closedir(stream) }
        return try unsafe FileSystem.names(of: stream)
    }

    /// Returns the status of a file; a symbolic link is not followed.
    package borrowing func status(of name: String) throws(Errno) -> FileStatus {
        try Self.status(of: name, in: folder)
    }

    /// Opens a regular file; a symbolic link is not followed.
    package borrowing func open(
        _ name: String, _ flags: OpenFlags = .readOnly, mode: UInt32 = 0o600
    ) throws(Errno) -> FileDescriptor {
        // A pipe would otherwise be waited for.
        let flags = flags.union(.nonBlocking)
        let file = FileDescriptor(
            owning: try retrying { unsafe clinux_open_at(folder.rawValue, name, flags.rawValue, mode) })
        guard try file.status().kind == .regular else { throw .notSupported }
        return file
    }

    /// Reads a whole regular file, or throws `fileTooLarge` beyond the limit.
    package borrowing func read(_ name: String, limit: Int) throws(Errno) -> [UInt8] {
        let file = try open(name)
        let size = try file.status().size
        guard size <= limit else { throw .fileTooLarge }
        var content: [UInt8] = []
        while try file.read(appendingTo: &content, atMost: min(1 << 20, limit - content.count + 1)) > 0 {
            guard content.count <= limit else { throw .fileTooLarge }
        }
        return content
    }

    /// Writes a file so that a reader sees the whole of it or nothing, and so that it is on the disk when this returns.
    package borrowing func writeAtomically(_ content: [UInt8], to name: String) throws(Errno) {
        let temporary = "\(name).\(String(Randomness.uint64(), radix: 36)).tmp"
        do throws(Errno) {
            let file = try open(temporary, [.writeOnly, .create, .exclusive])
            try file.setMode(0o600)
            try file.writeAll(content)
            try file.synchronize()
            try file.close()
            try rename(temporary, to: name)
        } catch {
            try? remove(temporary)
            throw error
        }
        try folder.synchronize()
    }

    package borrowing func rename(_ name: String, to other: String) throws(Errno) {
        try calling { unsafe renameat(folder.rawValue, name, folder.rawValue, other) }
    }

    package borrowing func remove(_ name: String) throws(Errno) {
        try calling { unsafe unlinkat(folder.rawValue, name, 0) }
    }
}
