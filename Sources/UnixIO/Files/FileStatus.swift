import Glibc

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
