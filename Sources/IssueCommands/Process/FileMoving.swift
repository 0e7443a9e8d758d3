import UnixIO

/// Moves files as `mv` does, also from one file system to another, and overwrites none.
enum FileMoving {
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
        do {
            guard (try? FileSystem.status(of: target, followingLinks: false)) == nil else { throw Errno.alreadyExists }
            try copy(source, to: target)
            try FileSystem.remove(source)
        } catch {
            let hint = "it stays at \(source)"
            throw CommandFailure(.refused, "the backup can't be moved to \(target) (\(error)): \(hint)")
        }
        return target
    }

    private static func copy(_ source: String, to target: String) throws {
        try FileSystem.copy(source, to: target)
        do {
            try FileDescriptor.open(target).synchronize()
            try FileSystem.synchronizeFolder(FileSystem.parentFolder(of: target))
        } catch {
            try? FileSystem.remove(target)
            throw error
        }
    }
}
