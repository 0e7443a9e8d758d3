import CLinux
import Glibc

extension FileDescriptor {
    /// Opens a file; `mode` counts only where the flags create one.
    package static func open(
        _ path: String, _ flags: OpenFlags = .readOnly, mode: UInt32 = 0o600
    ) throws(Errno) -> FileDescriptor {
        let rawValue = try retrying { unsafe clinux_open(path, flags.rawValue, mode) }
        return FileDescriptor(owning: rawValue)
    }

    /// Opens a file by its name in this folder.
    package borrowing func open(_ name: String, _ flags: OpenFlags = .readOnly) throws(Errno) -> FileDescriptor {
        let rawValue = try retrying { unsafe clinux_open_at(self.rawValue, name, flags.rawValue, 0) }
        return FileDescriptor(owning: rawValue)
    }

    /// The target of a symbolic link in this folder, byte for byte.
    package borrowing func readLink(_ name: String) throws(Errno) -> [UInt8] {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = try calling { unsafe readlinkat(rawValue, name, &bytes, bytes.count) }
        return bytes.prefix(count).map { UInt8(bitPattern: $0) }
    }

    /// Returns once data and metadata are on the disk.
    package borrowing func synchronize() throws(Errno) {
        try retrying { fsync(rawValue) }
    }

    /// Returns once the data is on the disk, and what is needed to read it.
    package borrowing func synchronizeData() throws(Errno) {
        try retrying { fdatasync(rawValue) }
    }

    package borrowing func truncate(to size: Int64) throws(Errno) {
        try retrying { ftruncate(rawValue, off_t(size)) }
    }

    package borrowing func setMode(_ mode: UInt32) throws(Errno) {
        try retrying { fchmod(rawValue, mode) }
    }

    package borrowing func status() throws(Errno) -> FileStatus {
        var status = Glibc.stat()
        try retrying { unsafe fstat(rawValue, &status) }
        return FileStatus(status)
    }
}
