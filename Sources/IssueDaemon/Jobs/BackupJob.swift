import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Writes a copy of the whole store while reports are still being stored.
///
/// The copy stays in the daemon's own folder, or it is passed to the client as an open file without a name. The daemon
/// therefore writes to no path that a client names.
struct BackupJob {
    static let beginning = "backup-"
    private static let unfinished = ".unfinished"

    private let passesDescriptor: Bool

    init(_ parameters: BackupParameters) {
        passesDescriptor = parameters.descriptor == true
    }

    func run(_ run: inout JobRun) throws -> QueryAnswer.Content {
        Self.removeUnfinished(of: run.path, run.log)
        let path = "\(run.folder)/\(run.fileName).\(Self.beginning)\(Clock.wall.description)"
        let began = Clock.monotonic
        var reply: BackupReply
        var file: PassedFile?
        do {
            reply = try copy(to: path + Self.unfinished, &run)
            if passesDescriptor {
                file = PassedFile(try FileDescriptor.open(path + Self.unfinished, .noFollow))
                try FileSystem.remove(path + Self.unfinished)
            } else {
                try FileSystem.rename(path + Self.unfinished, to: path)
                try FileSystem.synchronizeFolder(run.folder)
            }
        } catch {
            Self.removeUnfinished(of: run.path, run.log)
            throw error
        }
        run.log.notice(
            .jobBackupFinished,
            [
                "file": passesDescriptor ? "(handed over)" : path, "bytes": "\(reply.bytesTotal)",
                "took": "\(began.duration(to: Clock.monotonic))", "unreadable": "\(reply.unreadable ?? 0)",
            ])
        if let file {
            reply.descriptor = 0
            return .fileReply(QueryService.reply(reply), file)
        }
        reply.path = path
        return .reply(with: reply)
    }

    private func copy(to path: String, _ run: inout JobRun) throws -> BackupReply {
        let copy = try StoreCopy(of: run.path, to: path, control: run.writer.snapshots.control(.backup))
        try run.requireSpace(for: copy.total)
        while try !copy.step() {
            try run.progress(BackupReply(bytesDone: copy.done, bytesTotal: copy.total))
        }
        try StoreCopy.mark(path)
        let (unreadable, isDamaged) = try check(path, copy.total, &run)
        try FileDescriptor.open(path).synchronize()
        // The client may have left meanwhile.
        try run.checkCancellation()
        return BackupReply(
            bytesDone: copy.total, bytesTotal: copy.total, unreadable: unreadable > 0 ? unreadable : nil,
            isDamaged: isDamaged ? true : nil)
    }

    /// The maximum duration of one check of all pages.
    private static let checkTimeout: Duration = .seconds(600)

    /// Checks all pages and blocks of a copy. If they can't all be checked, logs a warning.
    ///
    /// - Returns: The number of records in damaged blocks, and `true` if pages are damaged.
    /// - Throws: `busy` if pages are damaged only in the copy; `Stopped` if the job must be given up.
    private func check(
        _ path: String, _ size: Int64, _ run: inout JobRun
    ) throws -> (unreadable: Int64, isDamaged: Bool) {
        let finding = CorruptionCheck.checkPages(of: path, within: Self.checkTimeout, isCancelled: run.isCancelled)
        switch finding {
        case .whole: break
        case .damaged:
            // The check of the database holds a snapshot, so it ends if the writer needs to reset the WAL.
            let (isCancelled, snapshots) = (run.isCancelled, run.writer.snapshots)
            let closings = snapshots.closings
            let original = CorruptionCheck.checkPages(of: run.path, within: Self.checkTimeout) {
                isCancelled() || snapshots.closings != closings
            }
            let database =
                switch original {
                case .whole: "intact"
                case .damaged: "damaged"
                case .inconclusive: "unknown"
                }
            run.log.error(.jobBackupDamaged, ["database": database])
            // Another copy may be intact.
            if original == .whole { throw CollectorError.busy(retryAfter: .seconds(60)) }
        case .inconclusive:
            try run.checkCancellation()
            run.log.warning(.jobBackupUnchecked, ["error": "the check of its pages could not be completed"])
        }
        try run.progress(BackupReply(bytesDone: size, bytesTotal: size))
        return (try checkBlocks(of: path, size, &run), finding == .damaged)
    }

    /// Reads all blocks of a copy, and returns the number of records in damaged ones.
    ///
    /// Also tells the writer about damaged blocks that can't be read in the database either. An error of the store is
    /// logged and ends the check.
    private func checkBlocks(of path: String, _ size: Int64, _ run: inout JobRun) throws -> Int64 {
        var unreadable: Int64 = 0
        do {
            let reader = try StoreReader(path: path)
            var last = RowID.min
            while let step = try reader.checkBlocks(above: last) {
                unreadable += step.unreadable
                last = step.last
                try run.progress(BackupReply(bytesDone: size, bytesTotal: size))
            }
            let original = try StoreReader(path: run.path)
            for block in reader.blocks.damagedBlocks where try !original.isReadable(block) {
                run.writer.noteDamage(block)
            }
        } catch let failure as StoreFailure {
            // The copy has all pages that could be read, so it is kept. If the error means damage, the writer checks
            // the database.
            _ = run.writer.mustReopen(after: failure)
            run.log.warning(.jobBackupUnchecked, ["error": "\(failure)"])
        }
        // Waits until the writer has stored the damaged blocks, so that the next status includes them.
        try? run.writer.perform { _ in }
        return unreadable
    }

    /// Removes the files of a backup or repair that was interrupted when the daemon ended.
    static func removeLeftovers(of path: String, _ log: Log) {
        removeUnfinished(of: path, log)
        RepairJob.removeLeftovers(of: path)
    }

    /// Removes all unfinished copies. A failure is only logged.
    private static func removeUnfinished(of path: String, _ log: Log) {
        let folder = FileSystem.parentFolder(of: path)
        let fileName = FileSystem.name(of: path)
        let names = (try? FileSystem.names(in: folder)) ?? []
        for name in names where name.hasPrefix("\(fileName).\(beginning)") && name.contains(unfinished) {
            do throws(Errno) {
                try FileSystem.remove("\(folder)/\(name)")
            } catch {
                log.warning(.jobBackupLeftOver, ["file": "\(folder)/\(name)", "error": "\(error)"])
            }
        }
    }
}
