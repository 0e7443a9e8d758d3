import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// How the store is opened, whatever lies on the disk.
///
/// A file that can't be used is set aside with its log, untouched, and
/// collecting goes on in a new one: the daemon never refuses to start for it.
struct StoreOpening: Sendable {
    var path: String
    var limits: LimitSettings
    var retention: RetentionSettings
    var suspicion = DamageSuspicion()
    var lock = StoreLock()

    /// How often a file is tried that can't be opened, before it is set aside.
    private static let attempts = 4

    func open(log: Log) throws(StoreFailure) -> StoreWriter {
        try StorePlace(path).check()
        guard lock.take(path) else { throw .inUse }
        setAsideStrayLog(log)
        let left = OldLog.finding(besides: path)
        do throws(StoreFailure) {
            let writer = try openPatiently()
            tell(left, log)
            return writer
        } catch .foreign(let words) {
            log.error("The database is not ours to use, setting it aside and going on in a new one", ["error": words])
        } catch {
            let isOfTheFile = error.isDamage && !error.isUnreadable
            guard error.mayBeOfTheFile, isOfTheFile || canHaveAnother else { throw error }
            log.error(
                error.isDamage
                    ? "The database is damaged, setting it aside and going on in a new one"
                    : "The database can't be opened, setting it aside and going on in a new one",
                ["error": "\(error)"])
        }
        setAside(log: log)
        return try StoreWriter(settings(path))
    }

    private func tell(_ finding: OldLog.Finding, _ log: Log) {
        switch finding {
        case .whole: break
        case .brokenOff(let commits):
            log.warning("The database's log breaks off, going on without what stands behind", ["commits": "\(commits)"])
        case .unreadable: log.warning("The database's log can't be read, going on without what it held")
        case .gone: log.warning("The database's log is gone, going on without what it held")
        }
    }

    /// Which file is in the store's place; nothing where that can't be known.
    var file: FileStatus? { try? FileSystem.status(of: path) }

    /// Whether a file that was opened is still in its place: what is stored in one that is not would be lost.
    func isInPlace(_ file: FileStatus?) -> Bool {
        guard let file else { return true }
        do throws(Errno) {
            let now = try FileSystem.status(of: path)
            return now.inode == file.inode && now.device == file.device
        } catch {
            return error != .noSuchFile
        }
    }

    /// Whether the file that was called damaged is to be set aside.
    ///
    /// Of a disk that gives nothing at all nobody knows what it has.
    func verdict(on damage: StoreFailure) -> DamageSuspicion.Verdict {
        let verdict = suspicion.verdict(on: damage, at: path)
        return verdict == .confirmed && damage.isUnreadable && !canHaveAnother ? .untold : verdict
    }

    /// Opens the file, at the last of some attempts: a disk may give in a moment what it would not give now.
    private func openPatiently() throws(StoreFailure) -> StoreWriter {
        for _ in 1..<Self.attempts {
            do throws(StoreFailure) {
                return try StoreWriter(settings(path))
            } catch .foreign(let words) {
                throw .foreign(words)
            } catch {
                guard error.mayBeOfTheFile else { throw error }
                DamageSuspicion.rest()
            }
        }
        return try StoreWriter(settings(path))
    }

    private func settings(_ path: String) -> IssueStore.StoreSettings {
        let folder = FileSystem.parentFolder(of: path)
        return IssueStore.StoreSettings(
            path: path, limits: limits, retention: retention, randomBits: { Randomness.uint64() },
            freeBytes: { (try? FileSystem.freeBytes(at: folder)).map { Int64(clamping: $0) } })
    }

    /// Moves the file and its log out of the way; whoever has it open goes on with what was moved.
    func setAside(log: Log) {
        let name = "\(path).damaged-\(Clock.wall.text)"
        // By a second name first: a log without its database is deleted by whoever makes a new one, and a database
        // without its log is an older one. So an end in between must leave no log alone.
        let isLogKept = (try? FileSystem.link(path + "-wal", to: name + "-wal")) != nil
        move("", to: name, log)
        if isLogKept {
            try? FileSystem.remove(path + "-wal")
        } else {
            move("-wal", to: name, log)
        }
        for ending in ["-shm", "-journal"] { move(ending, to: name, log) }
        let isLogAlone = isLogKept && (try? FileSystem.status(of: name)) == nil
        log.notice(
            isLogAlone ? "The old log is kept" : "The old database is kept",
            ["file": isLogAlone ? name + "-wal" : name])
    }

    private func move(_ ending: String, to name: String, _ log: Log) {
        do throws(Errno) {
            try FileSystem.rename(path + ending, to: name + ending)
        } catch .noSuchFile {
            return
        } catch {
            log.error("A file could not be set aside", ["file": path + ending, "error": "\(error)"])
        }
    }

    /// Keeps a log whose database is gone or empty, which would be deleted with the making of a new one.
    private func setAsideStrayLog(_ log: Log) {
        guard (try? FileSystem.status(of: path).size) ?? 0 == 0,
            let size = try? FileSystem.status(of: path + "-wal").size, size > 0
        else { return }
        log.error("The database is gone and its log is not, setting that aside and going on in a new one")
        setAside(log: log)
    }

    /// Whether it is the file that can't be used, and not its folder or the disk: a new one beside it can.
    private var canHaveAnother: Bool {
        let trial = path + ".trial"
        StoreFiles.remove(trial)
        defer { StoreFiles.remove(trial) }
        return (try? StoreWriter(settings(trial))) != nil
    }
}
