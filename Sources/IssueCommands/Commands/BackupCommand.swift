import IssueBrowsing
import IssueProtocol
import Issues
package import UnixIO

/// `issuectl backup`: copies the daemon's store.
struct BackupCommand: Command {
    static let specification = CommandSpecification(
        name: "backup", summary: "Copy the daemon's whole store while it runs", operands: .optional("FILE"),
        operandSources: [.files],
        hasTimeout: false,
        notes: [
            "Without FILE, the copy is stored next to the database, in the daemon's own folder. With FILE, it is "
                + "written there, readable by you alone, and the daemon keeps none. An existing FILE is not "
                + "overwritten. If FILE is a folder, a new file is created in it; if FILE ends with a slash, it must "
                + "be an existing folder. The operator's guide explains how to restore a copy."
        ],
        examples: ["issuectl backup", "issuectl backup /srv/copies/"])

    private let file: String?

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        file = arguments.operands.first
        if file == "-" {
            throw UsageError("a copy cannot be written to standard output; for a file with this name, use ./-")
        }
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        guard let file else { return try runInPlace(context) }
        // Checked first, since copying takes long.
        try context.files.check(file)
        let collector = try context.collector()
        var (answer, copy) = try collector.backup { context.publishProgress(progress($0)) }
        context.publishProgress("")
        guard let copy else {
            let path = answer.value.path.map { ", and left one at \($0)" } ?? ""
            throw CommandFailure(
                .refused, "the daemon returned no copy\(path): it may be older than issuectl (see issuectl status)")
        }
        let path = try context.files.save(copy, file, "issues.db.backup-\(context.now.description)")
        answer.value.path = path
        answer.value.descriptor = nil
        answer.json = answer.value.json
        return try print(answer, path, context)
    }

    private func runInPlace(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
        let collector = try context.collector()
        let answer = try context.order(
            CollectorCalls.backup, BackupParameters(), on: collector, progress: progress)
        guard let path = answer.value.path else { throw collector.invalid("it names no file") }
        return try print(answer, path, context)
    }

    private func progress(_ reply: BackupReply) -> String {
        "\(Quantity.bytes(reply.bytesDone)) of \(Quantity.bytes(reply.bytesTotal)) copied"
    }

    private func print(
        _ answer: BrowserReply<BackupReply>, _ path: String, _ context: CommandContext
    ) throws(CommandFailure) -> ExitCode {
        try context.print(answer) { ["\(TerminalSanitizer.line(path)): \(Quantity.bytes($0.bytesTotal))"] }
        return .success
    }
}

/// Copies the file that the daemon has passed, to a new file or into a folder.
package struct FileSaving {
    /// Throws if the destination cannot be written, as far as that can be determined in advance.
    package var check: (_ destination: String) throws(CommandFailure) -> Void
    /// Saves the file and returns its path. In a folder, the file is called `name`.
    package var save: (_ file: PassedFile, _ destination: String, _ name: String) throws(CommandFailure) -> String
    /// Replaces a file that all users may read, so that readers see either the old or the new content.
    package var replace: (_ path: String, _ content: [UInt8]) throws(Errno) -> Void = {
        (path, content) throws(Errno) in try FileSystem.writeAtomically(content, to: path, mode: 0o644)
    }
}

extension FileSaving {
    /// Saves to the file system without overwriting anything.
    ///
    /// The peer that passes the file is not trusted. Only the passed descriptor is read, only if it is a regular file
    /// with a database header, and only up to its initial size. No path named by the peer is opened, moved or removed.
    static var process: FileSaving {
        FileSaving(
            check: { (destination) throws(CommandFailure) in
                _ = try target(destination, name: "backup")
            },
            save: { (file, destination, name) throws(CommandFailure) in
                let (folder, path) = try target(destination, name: name)
                do throws(Errno) {
                    try save(file.descriptor, into: folder, as: FileSystem.name(of: path))
                } catch .invalidArgument {
                    throw CommandFailure(
                        .refused, "the daemon passed a file that is not a database: nothing was copied")
                } catch {
                    throw CommandFailure(
                        .refused, "the backup cannot be written to \(path) (\(error)): nothing was copied")
                }
                return path
            })
    }

    /// The first bytes of every database (sqlite.org/fileformat2.html, 1.2).
    private static let header = Array("SQLite format 3\0".utf8)

    /// Returns the folder and the path of the new file, which must not exist.
    private static func target(
        _ destination: String, name: String
    ) throws(CommandFailure) -> (folder: String, path: String) {
        let path = try path(at: destination, named: name, otherwise: "nothing was copied")
        let folder = FileSystem.parentFolder(of: path)
        guard path == destination else { return (folder, path) }
        guard (try? FileSystem.status(of: folder))?.kind == .directory else {
            throw CommandFailure(.refused, "the folder \(folder) does not exist: nothing was copied")
        }
        guard (try? FileSystem.status(of: path, followingLinks: false)) == nil else {
            throw CommandFailure(.refused, "\(path) already exists: nothing was copied")
        }
        return (folder, path)
    }

    /// Returns the path of a new file: the destination, or `name` in it if the destination is an existing folder.
    ///
    /// - Parameter consequence: What did not happen, for the error if the folder does not exist.
    static func path(
        at destination: String, named name: String, otherwise consequence: String
    ) throws(CommandFailure) -> String {
        let isFolder = (try? FileSystem.status(of: destination))?.kind == .directory
        guard isFolder || !destination.hasSuffix("/") else {
            throw CommandFailure(.refused, "\(destination) is not an existing folder: \(consequence)")
        }
        return isFolder ? destination + (destination.hasSuffix("/") ? "" : "/") + name : destination
    }

    private static func save(
        _ source: borrowing FileDescriptor, into path: String, as name: String
    ) throws(Errno) {
        let folder = try TargetFolder(path)
        let status = try source.status()
        guard status.kind == .regular, status.size > 0 else { throw .invalidArgument }
        guard try folder.freeBytes > UInt64(clamping: status.size) else { throw .deviceFull }
        let temporary = ".issued-backup-\(String(Randomness.uint64(), radix: 36)).tmp"
        let target = try folder.create(temporary)
        do throws(Errno) {
            try copy(source, bytes: status.size, to: target)
            try target.synchronize()
            try self.name(temporary, name, in: folder)
        } catch {
            try? folder.remove(temporary)
            throw error
        }
        try folder.synchronize()
    }

    private static func copy(
        _ source: borrowing FileDescriptor, bytes: Int64, to target: borrowing FileDescriptor
    ) throws(Errno) {
        var chunk: [UInt8] = []
        var left = bytes
        while left > 0 {
            chunk.removeAll(keepingCapacity: true)
            // Filled completely, so that the header is in the first chunk.
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

    /// Renames the finished file without overwriting anything.
    ///
    /// - Parameters:
    ///   - temporary: The present name of the file.
    ///   - name: The new name of the file.
    ///   - folder: The folder of the file.
    ///   - link: Creates a hard link in the folder.
    /// - Throws: `alreadyExists` if there is a file with the new name.
    package static func name(
        _ temporary: String, _ name: String, in folder: borrowing TargetFolder,
        link: (borrowing TargetFolder, String, String) throws(Errno) -> Void = {
            (folder, name, other) throws(Errno) in try folder.link(name, to: other)
        }
    ) throws(Errno) {
        do throws(Errno) {
            try link(folder, temporary, name)
        } catch .alreadyExists {
            throw .alreadyExists
        } catch {
            // File systems without hard links return EPERM, EOPNOTSUPP, ENOSYS or EMLINK.
            guard !folder.contains(name) else { throw .alreadyExists }
            return try folder.rename(temporary, to: name)
        }
        try folder.remove(temporary)
    }
}
