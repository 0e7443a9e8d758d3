import UnixIO

/// Moves files as `mv` does, also from one file system to another, and overwrites none.
enum FileMoving {
    private static let chunk = 1 << 20

    /// Fails where a file is already, or where none can be.
    static func check(_ destination: String) throws(CommandFailure) {
        let status = try? FileSystem.status(of: destination, followingLinks: false)
        let isFolder = (try? FileSystem.status(of: destination))?.kind == .directory
        let folder = isFolder ? destination : FileSystem.parentFolder(of: destination)
        guard (try? FileSystem.status(of: folder))?.kind == .directory else {
            throw CommandFailure(.refused, "there is no folder \(folder): nothing was copied")
        }
        guard isFolder || status == nil else {
            throw CommandFailure(.refused, "\(destination) is there already: nothing was copied")
        }
    }

    /// Moves a file to where nothing is yet, or into a folder, and answers where it is then.
    static func move(_ source: String, to destination: String) throws(CommandFailure) -> String {
        var target = destination
        if (try? FileSystem.status(of: destination))?.kind == .directory {
            target += (destination.hasSuffix("/") ? "" : "/") + (source.split(separator: "/").last ?? "backup")
        }
        do throws(Errno) {
            guard (try? FileSystem.status(of: target, followingLinks: false)) == nil else { throw .alreadyExists }
            try copy(source, to: target)
            try FileSystem.remove(source)
        } catch {
            let hint = "it stays at \(source)"
            throw CommandFailure(.refused, "the backup can't be moved to \(target) (\(error)): \(hint)")
        }
        return target
    }

    private static func copy(_ source: String, to target: String) throws(Errno) {
        let from = try FileDescriptor.open(source)
        let to = try FileDescriptor.open(target, [.writeOnly, .create, .exclusive, .noFollow], mode: 0o600)
        do throws(Errno) {
            var buffer: [UInt8] = []
            while try from.read(appendingTo: &buffer, atMost: chunk) > 0 {
                try to.writeAll(buffer)
                buffer.removeAll(keepingCapacity: true)
            }
            try to.synchronize()
            try FileSystem.synchronizeFolder(FileSystem.parentFolder(of: target))
        } catch {
            try? FileSystem.remove(target)
            throw error
        }
    }
}
