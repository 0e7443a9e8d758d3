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
