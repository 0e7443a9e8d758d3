import IssueProtocol
import Synchronization
import UnixIO

/// Prevents a second daemon from using the same store, because both would assign the same ids.
///
/// Two files are locked: the database, and a file next to it whose name ends in `.lock`, which is created first.
/// With both, a second daemon is refused even if the `.lock` file was removed. The locks are held to the end of the
/// process; if a new database is created, its lock replaces that of the old one. If one can't be taken for a reason
/// other than a second daemon, such as a full disk, the daemon runs without it.
final class StoreLock: Sendable {
    private struct Held: ~Copyable {
        let path: String
        /// The lock of the `.lock` file; nil if it could not be taken.
        let lock: FileLock?
        /// The lock of the database; nil if there is no database yet or it could not be taken.
        var databaseLock: FileLock?
        /// The last database that was locked, or could not be locked for a reason other than a second daemon; nil if
        /// there was none yet.
        var database: FileStatus?
        /// The number of frames in the WAL of the last run that SQLite must recover; 0 if there are none, their number
        /// is unknown, or the recovery was checked already.
        var walFrames: Int
        /// When it was found that commits are lost; nil if none are.
        var commitsLostAt: IssueTimestamp?
        /// Whether the loss, if any, was reported to notifiers.
        var isLossReported = true

        /// Whether the `.lock` file could be locked.
        var hasLock: Bool {
            switch lock {
            case .some: true
            case .none: false
            }
        }

        /// Locks the database. Does nothing if it is missing, or if it is the file in `database`.
        ///
        /// - Throws: `wouldBlock` if another daemon has the lock.
        mutating func lockDatabase() throws(Errno) {
            guard let file = try? FileSystem.status(of: path), file.kind == .regular else { return }
            if let database, database.isSameFile(as: file) { return }
            databaseLock = try StoreLock.lock(path, create: false)
            database = file
        }
    }

    private let held = Mutex<Held?>(nil)

    /// The number of frames in the WAL of the last run that SQLite must recover; 0 if there are none, their number is
    /// unknown, or the recovery was checked already.
    var walFrames: Int { held.withLock { $0?.walFrames ?? 0 } }
    /// When it was found that commits are lost; nil if none are.
    var commitsLostAt: IssueTimestamp? { held.withLock { $0?.commitsLostAt } }

    /// Notes that the recovery of `walFrames` has been checked.
    func walWasChecked() { held.withLock { $0?.walFrames = 0 } }

    /// Notes that commits are lost.
    func commitsWereLost(at time: IssueTimestamp) {
        held.withLock { held in
            held?.commitsLostAt = time
            held?.isLossReported = false
        }
    }

    /// Returns `true` on the first call after a loss of commits.
    func takeUnreportedLoss() -> Bool {
        held.withLock { held in
            guard held?.isLossReported == false else { return false }
            held?.isLossReported = true
            return true
        }
    }

    /// Takes the locks that this process does not have yet. Returns `false` if another daemon has one of them.
    ///
    /// Call this before the database is opened, and again after a new one was created.
    func take(_ path: String) -> Bool {
        held.withLock { held in
            do throws(Errno) {
                guard held?.path != path else {
                    // If the `.lock` file could not be locked, locking the database would probably fail, too, and close
                    // a descriptor of it. That would release SQLite's locks if SQLite has the database open, so it
                    // isn't tried.
                    if held?.hasLock == true { try held?.lockDatabase() }
                    return true
                }
                let lock = try Self.lock(path + ".lock", create: true)
                var new = Held(path: path, lock: lock, walFrames: 0)
                try new.lockDatabase()
                // SQLite has not opened the database yet, so the index may be read. After a restart of the host,
                // the index may not match the WAL.
                if BootMark(path + ".lock").replace() { new.walFrames = WALIndex(of: path)?.frames ?? 0 }
                held = consume new
                return true
            } catch {
                return false
            }
        }
    }

    /// Locks a file. Returns nil if that fails for a reason other than a second daemon.
    ///
    /// - Throws: `wouldBlock` if another daemon has locked it.
    fileprivate static func lock(_ path: String, create: Bool) throws(Errno) -> FileLock? {
        do throws(Errno) {
            return create ? try FileLock(path) : try FileLock(try FileDescriptor.open(path))
        } catch .wouldBlock {
            throw .wouldBlock
        } catch {
            return nil
        }
    }
}

/// The file that states in which boot of the host the database was last opened.
private struct BootMark {
    private let path: String

    init(_ path: String) {
        self.path = path
    }

    /// Writes the id of the current boot. Returns `true` if the file contained this id already.
    ///
    /// The file is neither truncated nor replaced, because it is also the lock.
    func replace() -> Bool {
        var (current, last): ([UInt8], [UInt8]) = ([], [])
        guard (try? FileDescriptor.open("/proc/sys/kernel/random/boot_id").fill(&current, to: 36)) == true else {
            return false
        }
        if let file = try? FileDescriptor.open(path, [.noFollow]) { _ = try? file.fill(&last, to: 36) }
        if last == current { return true }
        try? FileDescriptor.open(path, [.writeOnly, .noFollow]).writeAll(current)
        return false
    }
}

/// The state of the WAL according to the file `-shm` (https://sqlite.org/walformat.html#walidxfmt). The file stays when
/// the process is killed, and is removed when the last connection is closed.
private struct WALIndex {
    /// The number of frames in the WAL that belong to a commit; 0 if all of them have been copied into the database.
    let frames: Int

    /// Reads the file. Returns nil if there is none or it is invalid.
    ///
    /// SQLite must not have the database open in this process: closing any descriptor of the file releases all locks of
    /// the process on it (fcntl(2)).
    init?(of path: String) {
        var bytes: [UInt8] = []
        guard let file = try? FileDescriptor.open(path + "-shm", [.noFollow]), (try? file.fill(&bytes, to: 136)) != nil,
            bytes.count == 136, bytes[..<48] == bytes[48..<96], bytes[12] == 1
        else { return nil }
        func number(at offset: Int) -> Int {
            // In the byte order of the host.
            Int((0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[offset + $1]) << (8 * UInt32($1)) }.littleEndian)
        }
        let (all, copied) = (number(at: 16), number(at: 96))
        frames = all > copied ? all : 0
    }
}
