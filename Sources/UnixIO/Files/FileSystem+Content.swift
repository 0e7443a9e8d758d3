extension FileSystem {
    /// Reads a whole file, or throws `fileTooLarge` beyond the limit.
    package static func read(_ path: String, limit: Int) throws(Errno) -> [UInt8] {
        try read(try FileDescriptor.open(path), limit: limit)
    }

    /// Reads a file that is open, from where it stands to its end.
    package static func read(_ file: borrowing FileDescriptor, limit: Int) throws(Errno) -> [UInt8] {
        // Files under /proc say that they are empty, so the size is a hint.
        let size = try file.status().size
        guard size <= limit else { throw .fileTooLarge }
        var content: [UInt8] = []
        var step = max(512, Int(size) + 1)
        while try file.read(appendingTo: &content, atMost: min(step, limit - content.count + 1)) > 0 {
            guard content.count <= limit else { throw .fileTooLarge }
            step = max(512, content.count)
        }
        return content
    }

    /// Writes a file so that a reader sees the old content or the new, and so
    /// that the new is on the disk when this returns.
    package static func writeAtomically(_ content: [UInt8], to path: String, mode: UInt32 = 0o600) throws(Errno) {
        let folder = parentFolder(of: path)
        let temporary = "\(path).\(String(Randomness.uint64(), radix: 36)).tmp"
        do throws(Errno) {
            let file = try FileDescriptor.open(temporary, [.writeOnly, .create, .exclusive, .noFollow], mode: mode)
            try file.setMode(mode)
            try file.writeAll(content)
            try file.synchronize()
            try file.close()
            try rename(temporary, to: path)
        } catch {
            try? remove(temporary)
            throw error
        }
        // The rename itself is durable only with the folder.
        try synchronizeFolder(folder)
    }

    /// Copies a file to where nothing is yet; what fails leaves nothing there.
    ///
    /// - Parameter goOn: Called before each step, and throws when there is to be none.
    package static func copy(_ source: String, to target: String, goOn: () throws -> Void = {}) throws {
        let from = try FileDescriptor.open(source)
        let to = try FileDescriptor.open(target, [.writeOnly, .create, .exclusive, .noFollow])
        do {
            var chunk: [UInt8] = []
            try goOn()
            while try from.read(appendingTo: &chunk, atMost: 1 << 20) > 0 {
                try to.writeAll(chunk)
                chunk.removeAll(keepingCapacity: true)
                try goOn()
            }
        } catch {
            try? remove(target)
            throw error
        }
    }

    /// Returns once the names in a folder are on the disk.
    package static func synchronizeFolder(_ path: String) throws(Errno) {
        let folder = try FileDescriptor.open(path, .directory)
        try folder.synchronize()
    }
}
