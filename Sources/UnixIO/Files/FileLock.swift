import Glibc

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
