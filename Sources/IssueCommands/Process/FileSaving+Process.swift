import IssueBrowsing
import UnixIO

extension FileSaving {
    /// Saves into the real file system and overwrites nothing.
    ///
    /// The peer that passes the file is not trusted. Only the passed descriptor is read, only if it is a regular file
    /// with the header of a database, and no further than the size that it had at the beginning.
    /// No path that the peer names is opened, moved or removed.
    static var process: FileSaving {
        FileSaving(
            check: { (destination) throws(CommandFailure) in
                _ = try target(destination, name: "backup")
            },
            save: { (file, destination, name) throws(CommandFailure) in
                let (folder, path) = try target(destination, name: name)
                do throws(Errno) {
                    try save(file.descriptor, into: folder, as: path)
                } catch .invalidArgument {
                    throw CommandFailure(.refused, "the daemon passed a file that is no database: nothing was copied")
                } catch {
                    throw CommandFailure(
                        .refused, "the backup can't be written to \(path) (\(error)): nothing was copied")
                }
                return path
            })
    }

    /// The first bytes of each database (sqlite.org/fileformat2.html, 1.2).
    private static let header = Array("SQLite format 3\0".utf8)

    /// The folder and the path of the new file, where no file may be yet.
    private static func target(
        _ destination: String, name: String
    ) throws(CommandFailure) -> (folder: String, path: String) {
        let isFolder = (try? FileSystem.status(of: destination))?.kind == .directory
        let folder = isFolder ? destination : FileSystem.parentFolder(of: destination)
        guard isFolder || (try? FileSystem.status(of: folder))?.kind == .directory else {
            throw CommandFailure(.refused, "there is no folder \(folder): nothing was copied")
        }
        guard isFolder else {
            guard (try? FileSystem.status(of: destination, followingLinks: false)) == nil else {
                throw CommandFailure(.refused, "\(destination) is there already: nothing was copied")
            }
            return (folder, destination)
        }
        return (folder, destination + (destination.hasSuffix("/") ? "" : "/") + name)
    }

    private static func save(
        _ source: borrowing FileDescriptor, into folder: String, as path: String
    ) throws(Errno) {
        let status = try source.status()
        guard status.kind == .regular, status.size > 0 else { throw .invalidArgument }
        guard try FileSystem.freeBytes(at: folder) > UInt64(clamping: status.size) else { throw .deviceFull }
        let temporary = "\(folder)/.issued-backup-\(String(Randomness.uint64(), radix: 36)).tmp"
        let target = try FileDescriptor.open(temporary, [.writeOnly, .create, .exclusive, .noFollow])
        do throws(Errno) {
            try copy(source, bytes: status.size, to: target)
            try target.synchronize()
            try name(temporary, path)
        } catch {
            try? FileSystem.remove(temporary)
            throw error
        }
        try FileSystem.synchronizeFolder(folder)
    }

    private static func copy(
        _ source: borrowing FileDescriptor, bytes: Int64, to target: borrowing FileDescriptor
    ) throws(Errno) {
        var chunk: [UInt8] = []
        var left = bytes
        while left > 0 {
            chunk.removeAll(keepingCapacity: true)
            // The first bytes are looked at as one.
            let wanted = Int(min(1 << 20, left))
            while chunk.count < wanted {
                guard try source.read(appendingTo: &chunk, atMost: wanted - chunk.count) > 0 else {
                    throw .invalidArgument
                }
            }
            if left == bytes { guard chunk.starts(with: header) else { throw .invalidArgument } }
            try target.writeAll(chunk)
            left -= Int64(chunk.count)
        }
    }

    /// Gives the finished file its name, and overwrites nothing that has it meanwhile.
    private static func name(_ temporary: String, _ path: String) throws(Errno) {
        do throws(Errno) {
            try FileSystem.link(temporary, to: path)
            try FileSystem.remove(temporary)
        } catch .notPermitted {
            // A file system without a second name for a file.
            guard (try? FileSystem.status(of: path, followingLinks: false)) == nil else { throw .alreadyExists }
            try FileSystem.rename(temporary, to: path)
        }
    }
}
