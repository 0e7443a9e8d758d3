import CLinux
import Glibc

/// The folder of a file that is about to be written, held as a descriptor.
///
/// The folder may belong to another user, who can replace it or a folder above it at any time. All operations use the
/// folder that was opened, so the file and its temporary file are in the same folder. Root does not follow symbolic
/// links of other users, which could lead into a folder that only root may write to.
package struct TargetFolder: ~Copyable, Sendable {
    private let folder: FileDescriptor

    /// Opens a folder.
    ///
    /// - Throws: `notPermitted` if this process runs as root and the path has a symbolic link of another user.
    package init(_ path: String) throws(Errno) {
        guard CurrentProcess.userID == 0 else {
            folder = try FileDescriptor.open(path, [.pathOnly, .directory])
            return
        }
        folder = try PrivateFolder.find(path) { _ in true }
    }

    /// Creates a file.
    ///
    /// - Throws: `alreadyExists` if the folder has a file or symbolic link with that name.
    package borrowing func create(_ name: String, mode: UInt32 = 0o600) throws(Errno) -> FileDescriptor {
        let flags: OpenFlags = [.writeOnly, .create, .exclusive, .noFollow]
        return FileDescriptor(
            owning: try retrying { unsafe clinux_open_at(folder.rawValue, name, flags.rawValue, mode) })
    }

    /// Replaces a file atomically. The new content is on disk when this returns.
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
        // The rename itself is durable only after the folder is synchronized.
        try synchronize()
    }

    /// Returns `true` if the folder has a file with that name, or a symbolic link, even a broken one.
    package borrowing func contains(_ name: String) -> Bool {
        var status = Glibc.stat()
        return unsafe fstatat(folder.rawValue, name, &status, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// Renames a file in the folder, replacing an existing one.
    package borrowing func rename(_ name: String, to other: String) throws(Errno) {
        try calling { unsafe renameat(folder.rawValue, name, folder.rawValue, other) }
    }

    /// Creates another hard link to a file in the folder.
    ///
    /// - Throws: `alreadyExists` if the folder has a file with the other name.
    package borrowing func link(_ name: String, to other: String) throws(Errno) {
        try calling { unsafe linkat(folder.rawValue, name, folder.rawValue, other, 0) }
    }

    /// Removes a file from the folder.
    package borrowing func remove(_ name: String) throws(Errno) {
        try calling { unsafe unlinkat(folder.rawValue, name, 0) }
    }

    /// Flushes the names in the folder to the disk.
    package borrowing func synchronize() throws(Errno) {
        // The descriptor is for look-ups only, which need no permission to read the folder.
        try folder.open(".", [.readOnly, .directory]).synchronize()
    }

    /// The number of bytes available to unprivileged users on the file system of the folder.
    package var freeBytes: UInt64 {
        get throws(Errno) {
            var status = statvfs()
            try retrying { unsafe fstatvfs(folder.rawValue, &status) }
            let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
            return overflow ? .max : bytes
        }
    }
}

extension FileSystem {
    /// Returns the last component of a path; empty if it has none.
    package static func name(of path: String) -> String {
        String(path.split(separator: "/", omittingEmptySubsequences: true).last ?? "")
    }
}
