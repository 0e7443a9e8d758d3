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

/// The users who may own what this process relies on: root and its own.
///
/// In a user namespace that does not have the host's root (a rootless
/// container, a sandbox) files of root belong to the user that represents all
/// users outside the namespace.
package struct TrustedOwners: Hashable, Sendable {
    package let userID: UInt32
    /// The user id that represents users outside the namespace; nil if it has all users.
    package let outsider: UInt32?

    /// Those of this process.
    package init() {
        self.init(userID: CurrentProcess.userID, outsider: Self.outsiderHere)
    }

    package init(userID: UInt32, outsider: UInt32? = nil) {
        self.userID = userID
        self.outsider = outsider
    }

    package func contains(_ owner: UInt32) -> Bool {
        owner == 0 || owner == userID || owner == outsider
    }

    /// Whether the names in a folder are out of other users' reach.
    package func keep(_ folder: FileStatus) -> Bool {
        folder.kind == .directory && contains(folder.uid) && !isWritableByOthers(folder)
    }

    /// Whether other users can replace the entries of a folder.
    package func isWritableByOthers(_ folder: FileStatus) -> Bool {
        if folder.mode & 0o022 == 0 { return false }
        // In a sticky folder, only their owners can move or remove entries.
        if folder.mode & 0o1000 != 0 { return false }
        // Many distributions give each user a group with the user's own number, and let it write.
        return folder.mode & 0o002 != 0 || folder.gid != userID || folder.uid != userID
    }

    // Asked at each use, since a process may enter a namespace.
    private static var outsiderHere: UInt32? {
        guard let map = IdentityMap.current, let user = map.outsider, !map.contains(user) else { return nil }
        return user
    }
}

/// Which users a user namespace has; see user_namespaces(7).
package struct IdentityMap: Hashable, Sendable {
    /// The first number inside, the first outside, and how many.
    private var ranges: [[UInt64]]
    /// The user id that represents users outside the namespace; nil if it has all users.
    package let outsider: UInt32?

    /// That of this process; nil where `/proc` is not there to ask.
    package static var current: IdentityMap? {
        guard let map = try? FileSystem.read("/proc/self/uid_map", limit: 64 << 10),
            let overflow = try? FileSystem.read("/proc/sys/kernel/overflowuid", limit: 64)
        else { return nil }
        return IdentityMap(map: map, overflow: overflow)
    }

    /// Reads what `/proc/self/uid_map` and `/proc/sys/kernel/overflowuid` say.
    package init(map: [UInt8], overflow: [UInt8]) {
        ranges = String(decoding: map, as: UTF8.self).split(separator: "\n").compactMap { line in
            let numbers = line.split(separator: " ").compactMap { UInt64($0) }
            return numbers.count == 3 ? numbers : nil
        }
        let isWhole = ranges.isEmpty || ranges.contains([0, 0, UInt64(UInt32.max)])
        let digits = String(decoding: overflow.prefix { (0x30...0x39).contains($0) }, as: UTF8.self)
        outsider = isWhole ? nil : UInt32(digits)
    }

    /// Whether the namespace has a user of that number.
    package func contains(_ userID: UInt32) -> Bool {
        ranges.contains { range in UInt64(userID) >= range[0] && UInt64(userID) - range[0] < range[2] }
    }
}
