import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Writes a copy of the whole store into the daemon's own folder, while reports go on being stored.
struct BackupJob {
    static let beginning = "backup-"
    private static let unfinished = ".unfinished"

    func run(_ run: inout JobRun) throws -> BackupReply {
        try removeUnfinished(in: run.folder)
        let path = "\(run.folder)/\(run.fileName).\(Self.beginning)\(Clock.wall.text)"
        let began = Clock.monotonic
        let size: Int64
        do {
            size = try copy(to: path + Self.unfinished, &run)
        } catch {
            try removeUnfinished(in: run.folder)
            throw error
        }
        try FileSystem.rename(path + Self.unfinished, to: path)
        try FileSystem.synchronizeFolder(run.folder)
        run.log.notice(
            "A backup was made",
            ["file": path, "bytes": "\(size)", "took": "\(began.duration(to: Clock.monotonic))"])
        return BackupReply(path: path, bytesDone: size, bytesTotal: size)
    }

    private func copy(to path: String, _ run: inout JobRun) throws -> Int64 {
        let copy = try StoreCopy(of: run.path, to: path, control: run.writer.snapshots.control(.backup))
        try run.expectRoom(for: copy.total)
        while try !copy.step() {
            try run.progress(BackupReply(bytesDone: copy.done, bytesTotal: copy.total))
        }
        try StoreCopy.mark(path)
        try FileDescriptor.open(path).synchronize()
        return copy.total
    }

    /// What a daemon left behind that ended in the middle of it.
    private func removeUnfinished(in folder: String) throws {
        for name in try FileSystem.names(in: folder)
        where name.contains(".\(Self.beginning)") && name.contains(Self.unfinished) {
            try FileSystem.remove("\(folder)/\(name)")
        }
    }
}
