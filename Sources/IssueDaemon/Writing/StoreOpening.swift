import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// How the store is opened, whatever lies on the disk.
///
/// A file that can't be used is set aside with its log, untouched, and
/// collecting goes on in a new one: the daemon never refuses to start for it.
struct StoreOpening: Sendable {
    var path: String
    var limits: LimitSettings
    var retention: RetentionSettings
    var suspicion = CorruptionCheck()
    var lock = StoreLock()

    /// How often a file is tried that can't be opened, before it is set aside.
    private static let attempts = 4

    func open(log: Log) throws(StoreFailure) -> StoreWriter {
        try StoreLocation(path).check()
        guard lock.take(path) else { throw .inUse }
        setAsideStrayLog(log)
        let left = LeftoverWAL.finding(besides: path)
        do throws(StoreFailure) {
            let writer = try openPatiently()
            tell(left, log)
            return writer
        } catch .foreign(let words) {
            log.error(
                "Database belongs to another program or version; moving it aside and starting a new one",
                ["error": words])
        } catch {
            let isOfTheFile = error.isDamage && !error.isUnreadable
            guard error.mayBeOfTheFile, isOfTheFile || canHaveAnother else { throw error }
            log.error(
                error.isDamage
                    ? "Database is damaged; moving it aside and starting a new one"
                    : "Could not open the database; moving it aside and starting a new one",
                ["error": "\(error)"])
        }
        setAside(log: log)
        return try StoreWriter(settings(path))
    }

    private func tell(_ finding: LeftoverWAL.Finding, _ log: Log) {
        switch finding {
        case .whole: break
        case .brokenOff(let commits):
            log.warning("WAL of the database is damaged; commits after the damage are lost", ["commits": "\(commits)"])
        case .unreadable: log.warning("WAL of the database is unreadable; its commits are lost")
        case .gone: log.warning("WAL of the database is missing; its commits are lost")
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
    func verdict(on damage: StoreFailure) -> CorruptionCheck.Verdict {
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
                CorruptionCheck.rest()
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
            isLogAlone ? "Kept the old WAL" : "Kept the old database",
            ["file": isLogAlone ? name + "-wal" : name])
    }

    private func move(_ ending: String, to name: String, _ log: Log) {
        do throws(Errno) {
            try FileSystem.rename(path + ending, to: name + ending)
        } catch .noSuchFile {
            return
        } catch {
            log.error("Could not move a file aside", ["file": path + ending, "error": "\(error)"])
        }
    }

    /// Keeps a log whose database is gone or empty, which would be deleted with the making of a new one.
    private func setAsideStrayLog(_ log: Log) {
        guard (try? FileSystem.status(of: path).size) ?? 0 == 0,
            let size = try? FileSystem.status(of: path + "-wal").size, size > 0
        else { return }
        log.error("Database is missing but its WAL is not; moving the WAL aside and starting a new database")
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

/// The files of a database that SQLite keeps beside each other.
enum StoreFiles {
    /// Removes a database with all that belongs to it.
    static func remove(_ path: String) {
        for ending in ["", "-wal", "-shm", "-journal"] { try? FileSystem.remove(path + ending) }
    }
}

/// Keeps a second daemon from the store: both would give out the same ids.
///
/// It is held from the first opening to the end of the process. A lock that
/// can't be had for another reason, as on a disk that is full, is no reason not
/// to collect.
final class StoreLock: Sendable {
    private struct Held: ~Copyable {
        let path: String
        let lock: FileLock
    }

    private let held = Mutex<Held?>(nil)

    /// Whether the store at a path is not another daemon's.
    func take(_ path: String) -> Bool {
        held.withLock { held in
            if held?.path == path { return true }
            do throws(Errno) {
                held = Held(path: path, lock: try FileLock(path + ".lock"))
            } catch .wouldBlock {
                return false
            } catch {
                return true
            }
            return true
        }
    }
}

/// Decides whether a file that was called damaged is to be set aside.
///
/// SQLite also calls it damage when the disk would not give a page. So a file
/// that can be read through a moment later is opened anew, and so is one of
/// which nothing can be told in time. One that is called damaged again soon,
/// and not by the disk, has a fault that reading through does not find: it is
/// set aside all the same.
final class CorruptionCheck: Sendable {
    /// What came of looking at a file.
    enum Verdict: Equatable {
        /// It is damaged.
        case confirmed
        /// It can be read through.
        case healthy
        /// It could not be read through in time.
        case untold
    }

    /// When a file was last let off damage that was not the disk's.
    private let lastForgivenAt = Mutex<KernelInstant?>(nil)
    /// How long a look at a file may take: reports wait meanwhile, and the watchdog does.
    private let timeout: Duration

    /// For so long nothing is let off twice.
    private static let memory: Duration = .seconds(600)
    private static let attempts = 3
    private static let pause: Duration = .milliseconds(300)

    init(timeout: Duration = .seconds(3)) {
        self.timeout = timeout
    }

    func verdict(on damage: StoreFailure, at path: String) -> Verdict {
        let last = lastForgivenAt.withLock { $0 }
        if !damage.isUnreadable, let last, last.advanced(by: Self.memory) > MonotonicClock.now { return .confirmed }
        for attempt in 1...Self.attempts {
            switch look(at: path) {
            case .whole: return forgive(damage, .healthy)
            // What was read stays in the machine's memory, so the next look comes further.
            case .untold: return forgive(damage, .untold)
            case .damaged: if attempt < Self.attempts { Self.rest() }
            }
        }
        return .confirmed
    }

    private func forgive(_ damage: StoreFailure, _ verdict: Verdict) -> Verdict {
        if !damage.isUnreadable { lastForgivenAt.withLock { $0 = MonotonicClock.now } }
        return verdict
    }

    private func look(at path: String) -> StoreCheck.Finding {
        let isOver = Monitor(false)
        let deadline = MonotonicClock.now.advanced(by: timeout)
        let finding = StoreCheck.look(at: path, within: timeout) { end in
            // One step looks at no clock meanwhile.
            _ = try? JoinableThread(name: "check") {
                var next = deadline
                while isOver.wait(deadline: next, until: { $0 ? true : nil }) == nil {
                    end()
                    next = MonotonicClock.now.advanced(by: .milliseconds(20))
                }
            }
        }
        isOver.withLock { $0 = true }
        isOver.broadcast()
        return finding
    }

    /// Lets what may pass by itself pass.
    static func rest() {
        let nothing = Monitor(())
        _ = nothing.wait(deadline: MonotonicClock.now.advanced(by: pause)) { _ -> Bool? in nil }
    }
}
