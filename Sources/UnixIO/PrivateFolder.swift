import CLinux
import Glibc

/// A folder that only this process's user can access, held as a descriptor.
///
/// The path is resolved one component at a time, and other users must not be able to replace any component. All
/// operations use the folder that was checked, even if its path refers to another folder later.
package struct PrivateFolder: ~Copyable, Sendable {
    private let folder: TargetFolder

    // The kernel's own limits: the number of symbolic links in a path, and PATH_MAX.
    private static let maxLinks = 40
    private static let pathBytes = 4096

    /// Opens the folder at an absolute path.
    ///
    /// - Parameter makesMissing: `true` to create missing folders, accessible to this user only.
    /// - Throws: `notPermitted` if the folder belongs to another user, or if other users can access it or could replace
    ///   a part of its path; `invalidArgument` if the path is not absolute, is too long or contains NUL.
    package init(_ path: String, makesMissing: Bool = false) throws(Errno) {
        guard path.hasPrefix("/") else { throw .invalidArgument }
        let owners = TrustedOwners()
        let found = try Self.find(path, makesMissing: makesMissing, accepting: owners.protects)
        let status = try found.status()
        guard status.uid == CurrentProcess.userID, status.mode & 0o077 == 0 else { throw .notPermitted }
        // Opened again for reading, because `found` is for lookups only.
        let flags: OpenFlags = [.readOnly, .directory]
        folder = TargetFolder(
            FileDescriptor(owning: try retrying { unsafe clinux_open_at(found.rawValue, ".", flags.rawValue, 0) }))
    }

    // MARK: Path resolution

    /// Opens a folder for lookups. Resolves its path one component at a time.
    ///
    /// - Parameters:
    ///   - path: The path. A relative one starts at the current folder.
    ///   - makesMissing: `true` to create missing folders, accessible to this user only.
    ///   - isAccepted: Returns `true` if a folder may be part of the path.
    /// - Throws: `notPermitted` if a folder is not accepted, or if the path contains a symbolic link owned by a user
    ///   who is not trusted (`TrustedOwners`).
    static func find(
        _ path: String, makesMissing: Bool = false, accepting isAccepted: (FileStatus) -> Bool
    ) throws(Errno) -> FileDescriptor {
        guard path.utf8.count < pathBytes, !path.utf8.contains(0) else { throw .invalidArgument }
        let owners = TrustedOwners()
        var folder = try start(path.hasPrefix("/") ? "/" : ".", isAccepted)
        var rest = components(of: path)
        var links = 0
        while let name = rest.popLast() {
            do throws(Errno) {
                folder = try step(folder, to: name, isAccepted)
            } catch .noSuchFile where makesMissing {
                do throws(Errno) {
                    try calling { unsafe mkdirat(folder.rawValue, name, 0o700) }
                } catch .alreadyExists {
                    // Another process created the folder first. `isAccepted` checks it like any other folder.
                }
                folder = try step(folder, to: name, isAccepted)
            } catch .notDirectory {
                // Only a link of a trusted user is followed. It is as trustworthy as the path if other users cannot
                // change its folder.
                let link = try status(of: name, in: folder)
                guard link.kind == .symbolicLink else { throw .notDirectory }
                guard owners.contains(link.uid) else { throw .notPermitted }
                links += 1
                guard links <= maxLinks else { throw .tooManyLinks }
                let target = try target(of: name, in: folder)
                if target.hasPrefix("/") { folder = try start("/", isAccepted) }
                rest += components(of: target)
                guard rest.count <= pathBytes else { throw .nameTooLong }
            }
        }
        return folder
    }

    private static func start(
        _ path: String, _ isAccepted: (FileStatus) -> Bool
    ) throws(Errno) -> FileDescriptor {
        let folder = FileDescriptor(owning: try retrying { unsafe clinux_find_folder_at(AT_FDCWD, path) })
        guard isAccepted(try folder.status()) else { throw .notPermitted }
        return folder
    }

    private static func step(
        _ folder: borrowing FileDescriptor, to name: String, _ isAccepted: (FileStatus) -> Bool
    ) throws(Errno) -> FileDescriptor {
        let next = FileDescriptor(
            owning: try retrying { unsafe clinux_find_folder_at(folder.rawValue, name) })
        guard isAccepted(try next.status()) else { throw .notPermitted }
        return next
    }

    /// Returns the components of a path in reverse order.
    private static func components(of path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.reversed().map(String.init)
    }

    private static func status(of name: String, in folder: borrowing FileDescriptor) throws(Errno) -> FileStatus {
        var status = Glibc.stat()
        try retrying { unsafe fstatat(folder.rawValue, name, &status, AT_SYMLINK_NOFOLLOW) }
        return FileStatus(status)
    }

    private static func target(of name: String, in folder: borrowing FileDescriptor) throws(Errno) -> String {
        let target = try folder.readLink(name)
        guard target.count < pathBytes else { throw .nameTooLong }
        return String(decoding: target, as: UTF8.self)
    }

    // MARK: Contents

    /// Returns the names in the folder, without `.` and `..`, in no particular order.
    package borrowing func names() throws(Errno) -> [String] {
        // Uses a new open file, because reading moves the position in the folder.
        let flags: OpenFlags = [.readOnly, .directory]
        let copy = try retrying { unsafe clinux_open_at(folder.descriptor.rawValue, ".", flags.rawValue, 0) }
        guard let stream = unsafe fdopendir(copy) else {
            let error = Errno.current
            _ = close(copy)
            throw error
        }
        defer { unsafe _ = closedir(stream) }
        return try unsafe FileSystem.names(of: stream)
    }

    /// Returns the status of a file. A symbolic link is not followed.
    package borrowing func status(of name: String) throws(Errno) -> FileStatus {
        try Self.status(of: name, in: folder.descriptor)
    }

    /// Opens a regular file.
    ///
    /// - Throws: `tooManyLinks` if the file is a symbolic link, or an error such as `notSupported` if it is not a
    ///   regular one for another reason.
    package borrowing func open(
        _ name: String, _ flags: OpenFlags = .readOnly, mode: UInt32 = 0o600
    ) throws(Errno) -> FileDescriptor {
        // Without this flag, opening a named pipe could block.
        let flags = flags.union(.nonBlocking)
        let file = FileDescriptor(
            owning: try retrying { unsafe clinux_open_at(folder.descriptor.rawValue, name, flags.rawValue, mode) })
        guard try file.status().kind == .regular else { throw .notSupported }
        return file
    }

    /// Reads a whole regular file.
    ///
    /// - Parameter limit: The maximum size, in bytes.
    /// - Throws: `fileTooLarge` if the file is larger.
    package borrowing func read(_ name: String, limit: Int) throws(Errno) -> [UInt8] {
        try FileSystem.read(try open(name), limit: limit)
    }

    /// Writes a file atomically: readers see either the old or the new content. The new content is on disk when this
    /// returns.
    package borrowing func writeAtomically(_ content: [UInt8], to name: String) throws(Errno) {
        try folder.replace(name, by: content, mode: 0o600)
    }

    /// Renames a file in the folder, replacing an existing one.
    package borrowing func rename(_ name: String, to other: String) throws(Errno) {
        try folder.rename(name, to: other)
    }

    /// Removes a file from the folder.
    package borrowing func remove(_ name: String) throws(Errno) {
        try folder.remove(name)
    }
}

/// The users that may own the files and folders this process relies on: root and the user of this process.
///
/// In a user namespace without the host's root user, such as a rootless container or a sandbox, files of root appear to
/// belong to the overflow user, which represents all users outside the namespace. That user is then trusted too.
package struct TrustedOwners: Hashable, Sendable {
    package let userID: UInt32
    /// The overflow user of the namespace; nil if the namespace contains that user or has no map, or if the user is
    /// unknown.
    package let overflowUserID: UInt32?

    /// Creates the trusted owners of this process.
    package init() {
        self.init(userID: CurrentProcess.userID, overflowUserID: Self.overflowUserIDHere)
    }

    package init(userID: UInt32, overflowUserID: UInt32? = nil) {
        self.userID = userID
        self.overflowUserID = overflowUserID
    }

    /// Returns `true` if the user with an id is trusted.
    package func contains(_ owner: UInt32) -> Bool {
        owner == 0 || owner == userID || owner == overflowUserID
    }

    /// Returns `true` if a file is a folder in which users who are not trusted can replace only their own entries.
    package func protects(_ folder: FileStatus) -> Bool {
        folder.kind == .directory && contains(folder.uid) && !isWritableByOthers(folder)
    }

    /// Returns `true` if users other than the owner of a folder can replace entries that are not their own.
    package func isWritableByOthers(_ folder: FileStatus) -> Bool {
        if folder.mode & 0o022 == 0 { return false }
        // In a sticky folder, only the owners of the entries and of the folder can move or remove entries.
        if folder.mode & 0o1000 != 0 { return false }
        // Many distributions create a group for each user, with the same number as the user, and make folders writable
        // for this group.
        return folder.mode & 0o002 != 0 || folder.gid != userID || folder.uid != userID
    }

    // Read at each use, because a process can enter a namespace.
    private static var overflowUserIDHere: UInt32? {
        guard let map = IdentityMap.current, let user = map.overflowUserID, !map.contains(user) else { return nil }
        return user
    }
}

/// The users that a user namespace contains; see user_namespaces(7).
package struct IdentityMap: Hashable, Sendable {
    /// For each range: the first id in the namespace, the first id outside of it, and the length.
    private var ranges: [[UInt64]]
    /// The overflow user of the namespace; nil if the namespace contains all users or has no map, or if the user is
    /// unknown.
    package let overflowUserID: UInt32?

    /// The map of this process; nil if `/proc` is not available.
    package static var current: IdentityMap? {
        guard let map = try? FileSystem.read("/proc/self/uid_map", limit: 64 << 10),
            let overflow = try? FileSystem.read("/proc/sys/kernel/overflowuid", limit: 64)
        else { return nil }
        return IdentityMap(map: map, overflow: overflow)
    }

    /// Parses the contents of `/proc/self/uid_map` and `/proc/sys/kernel/overflowuid`.
    package init(map: [UInt8], overflow: [UInt8]) {
        ranges = String(decoding: map, as: UTF8.self).split(separator: "\n").compactMap { line in
            let numbers = line.split(separator: " ").compactMap { UInt64($0) }
            return numbers.count == 3 ? numbers : nil
        }
        let isWhole = ranges.isEmpty || ranges.contains([0, 0, UInt64(UInt32.max)])
        let digits = String(decoding: overflow.prefix { (0x30...0x39).contains($0) }, as: UTF8.self)
        overflowUserID = isWhole ? nil : UInt32(digits)
    }

    /// Returns `true` if the namespace contains a user id.
    package func contains(_ userID: UInt32) -> Bool {
        ranges.contains { range in UInt64(userID) >= range[0] && UInt64(userID) - range[0] < range[2] }
    }
}

/// The folder of a file that is about to be written, held as a descriptor.
///
/// Another user may be able to replace the folder or one of its parents at any time. All operations use the folder that
/// was opened, so the file and its temporary file are in the same folder. If the process runs as root, symbolic links
/// of other users are not followed. They could lead to a folder that only root may write to.
package struct TargetFolder: ~Copyable, Sendable {
    fileprivate let descriptor: FileDescriptor

    fileprivate init(_ folder: consuming FileDescriptor) {
        descriptor = folder
    }

    /// Opens a folder.
    ///
    /// - Throws: `notPermitted` if this process runs as root and the path contains a symbolic link of another user.
    package init(_ path: String) throws(Errno) {
        guard CurrentProcess.userID == 0 else {
            descriptor = try FileDescriptor.open(path, [.pathOnly, .directory])
            return
        }
        descriptor = try PrivateFolder.find(path) { _ in true }
    }

    /// Creates a file.
    ///
    /// - Throws: `alreadyExists` if the folder has a file or symbolic link with that name.
    package borrowing func create(_ name: String, mode: UInt32 = 0o600) throws(Errno) -> FileDescriptor {
        let flags: OpenFlags = [.writeOnly, .create, .exclusive, .noFollow]
        return FileDescriptor(
            owning: try retrying { unsafe clinux_open_at(descriptor.rawValue, name, flags.rawValue, mode) })
    }

    /// Replaces or creates a file atomically. The new content is on disk when this returns.
    package borrowing func replace(_ name: String, by content: [UInt8], mode: UInt32) throws(Errno) {
        let temporary = "\(name).\(String(Randomness.uint64(), radix: 36)).tmp"
        do throws(Errno) {
            let file = try create(temporary, mode: mode)
            try file.setMode(mode)
            try file.writeAll(content)
            try file.synchronize()
            try file.close()
            try rename(temporary, to: name)
        } catch {
            try? remove(temporary)
            throw error
        }
        // The rename is durable only after the folder is synchronized.
        try synchronize()
    }

    /// Returns `true` if the folder has a file with that name, or a symbolic link, even a broken one.
    package borrowing func contains(_ name: String) -> Bool {
        var status = Glibc.stat()
        return unsafe fstatat(descriptor.rawValue, name, &status, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// Renames a file in the folder, replacing an existing one.
    package borrowing func rename(_ name: String, to other: String) throws(Errno) {
        try calling { unsafe renameat(descriptor.rawValue, name, descriptor.rawValue, other) }
    }

    /// Creates another hard link to a file in the folder.
    ///
    /// - Throws: `alreadyExists` if the folder has a file with the name `other`.
    package borrowing func link(_ name: String, to other: String) throws(Errno) {
        try calling { unsafe linkat(descriptor.rawValue, name, descriptor.rawValue, other, 0) }
    }

    /// Removes a file from the folder.
    package borrowing func remove(_ name: String) throws(Errno) {
        try calling { unsafe unlinkat(descriptor.rawValue, name, 0) }
    }

    /// Flushes the folder to the disk (fsync), so that created, renamed and removed names are durable.
    package borrowing func synchronize() throws(Errno) {
        // The descriptor may be for lookups only (O_PATH), which fsync(2) does not accept.
        try descriptor.open(".", [.readOnly, .directory]).synchronize()
    }

    /// The free space, in bytes, that unprivileged users can use on the file system of the folder.
    package var freeBytes: UInt64 {
        get throws(Errno) {
            var status = statvfs()
            try retrying { unsafe fstatvfs(descriptor.rawValue, &status) }
            return FileSystem.freeBytes(status)
        }
    }
}

extension FileSystem {
    /// Returns the last component of a path; empty if it has none.
    package static func name(of path: String) -> String {
        String(path.split(separator: "/", omittingEmptySubsequences: true).last ?? "")
    }
}

extension FileSystem {
    /// Returns the folder for the sockets of a user's own programs; nil if none can be used.
    ///
    /// - Parameters:
    ///   - userID: The id of the user.
    ///   - variable: The value of `XDG_RUNTIME_DIR`; nil if it is not set. It is ignored if it is relative or another
    ///     user's folder.
    ///   - parent: The parent of the users' default runtime folders.
    package static func runtimeFolder(of userID: UInt32, variable: String?, parent: String) -> String? {
        // The XDG specification says that relative paths are ignored and that the folder belongs to the user. After `su`
        // or `sudo -E` the variable names the folder of the previous user, who could listen there.
        if let variable, variable.hasPrefix("/"), (try? status(of: variable)).map({ $0.uid == userID }) ?? true {
            return variable
        }
        let folder = "\(parent)/\(userID)"
        return isPrivateFolder(folder, of: userID) ? folder : nil
    }

    /// Returns `true` if a folder exists, belongs to the user, and no other user can write to it. A symbolic link
    /// is not a folder.
    package static func isPrivateFolder(_ path: String, of userID: UInt32) -> Bool {
        guard let status = try? status(of: path, followingLinks: false) else { return false }
        return status.kind == .directory && status.uid == userID && status.mode & 0o022 == 0
    }
}
