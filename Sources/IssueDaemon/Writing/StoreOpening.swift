import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// Opens the store, whatever the state of its files.
///
/// A file that can't be used is moved aside unchanged, with its WAL, and a new one is created. Such a file never keeps
/// the daemon from starting.
struct StoreOpening: Sendable {
    var path: String
    var limits: LimitSettings
    var retention: RetentionSettings
    var corruptionCheck = CorruptionCheck()
    var lock = StoreLock()

    /// The number of attempts to open a file before it is moved aside.
    private static let attempts = 4

    /// Opens the store, or a new one if the file can't be used.
    ///
    /// - Throws: The failure that a new file would not fix, such as a full disk or a store of another daemon.
    func open(log: Log) throws(StoreFailure) -> StoreWriter {
        try StoreLocation(path).check()
        guard lock.take(path) else { throw .inUse }
        if setAsideOrphanedWAL(log) { lock.walWasChecked() }
        do throws(StoreFailure) {
            let writer = try openWithRetries()
            guard lock.take(path) else { throw .inUse }
            checkRecovery(of: writer, log)
            return writer
        } catch .foreign(let message) {
            log.error(.storeForeign, ["error": message])
        } catch {
            let isFileDamaged = error.isDamage && !error.isUnreadable
            guard error.isFixedByNewFile, isFileDamaged || canCreateNewFile else { throw error }
            log.error(error.isDamage ? .storeDamaged : .storeUnusable, ["error": "\(error)"])
        }
        setAside(log: log)
        lock.walWasChecked()
        let writer = try StoreWriter(settings(path))
        guard lock.take(path) else { throw .inUse }
        return writer
    }

    /// Gives the store a new code if SQLite has not recovered the whole WAL of the last run.
    private func checkRecovery(of writer: StoreWriter, _ log: Log) {
        let frames = lock.walFrames
        lock.walWasChecked()
        guard frames > 0 else { return }
        do throws(StoreFailure) {
            // This determines how much of the WAL was recovered.
            try writer.checkpoint()
            guard writer.walPages < frames else { return }
            log.error(.storeCommitsLost)
            lock.commitsWereLost(at: Clock.wall)
        } catch {
            // It is unknown how much was recovered. A new code does no harm.
        }
        writer.assignNewCode(at: Clock.wall)
    }

    /// The identities of the database and its WAL when they were opened; nil if they can't be determined.
    struct Files {
        fileprivate var database: FileStatus?
        fileprivate var wal: FileStatus?
    }

    /// The identities of the files that are open now.
    var files: Files {
        Files(database: try? FileSystem.status(of: path), wal: try? FileSystem.status(of: path + "-wal"))
    }

    /// Returns `true` if the open database is still at its path. Otherwise, records stored in it would be lost.
    func isDatabaseAtPath(_ files: Files) -> Bool { Self.isFile(files.database, at: path) }

    /// Returns `true` if the open WAL is still at its path. Otherwise, the next run would not find it.
    func isWALAtPath(_ files: Files) -> Bool { Self.isFile(files.wal, at: path + "-wal") }

    private static func isFile(_ file: FileStatus?, at path: String) -> Bool {
        guard let file else { return true }
        do throws(Errno) {
            return try FileSystem.status(of: path).isSameFile(as: file)
        } catch {
            return error != .noSuchFile
        }
    }

    /// Checks a file that was reported as damaged. Blocks for a few seconds.
    ///
    /// If no new file can be created next to it either, the disk may be the cause, and the result is inconclusive.
    func verdict(on damage: StoreFailure) -> CorruptionCheck.CheckResult {
        let verdict = corruptionCheck.verdict(on: damage, at: path)
        return verdict == .confirmed && damage.isUnreadable && !canCreateNewFile ? .inconclusive : verdict
    }

    /// Opens the file, with several attempts, because a read error of the disk may be temporary.
    private func openWithRetries() throws(StoreFailure) -> StoreWriter {
        for _ in 1..<Self.attempts {
            do throws(StoreFailure) {
                return try StoreWriter(settings(path))
            } catch .foreign(let message) {
                throw .foreign(message)
            } catch {
                guard error.isFixedByNewFile else { throw error }
                Clock.sleep(for: CorruptionCheck.pause)
            }
        }
        return try StoreWriter(settings(path))
    }

    private func settings(_ path: String) -> StoreWriterSettings {
        let folder = FileSystem.parentFolder(of: path)
        return StoreWriterSettings(
            path: path, limits: limits, retention: retention, randomBits: { Randomness.uint64() },
            freeBytes: { FileSystem.freeSpace(in: folder) })
    }

    /// Moves the file and its WAL aside. Programs that have them open continue with the moved files.
    func setAside(log: Log) {
        let name = "\(path).damaged-\(Clock.wall.description)"
        // First, the WAL gets a second name. A WAL without its database would be deleted when a new database is
        // created, and a database without its WAL lacks its latest commits. So a crash in between must not separate the
        // two.
        let isWALKept = (try? FileSystem.link(path + "-wal", to: name + "-wal")) != nil
        move("", to: name, log)
        if isWALKept {
            try? FileSystem.remove(path + "-wal")
        } else {
            move("-wal", to: name, log)
        }
        for ending in ["-shm", "-journal"] { move(ending, to: name, log) }
        let isWALAlone = isWALKept && (try? FileSystem.status(of: name)) == nil
        corruptionCheck.noteSetAside(name)
        log.notice(isWALAlone ? .storeKeptWAL : .storeKeptDatabase, ["file": isWALAlone ? name + "-wal" : name])
    }

    private func move(_ ending: String, to name: String, _ log: Log) {
        do throws(Errno) {
            try FileSystem.rename(path + ending, to: name + ending)
        } catch .noSuchFile {
            return
        } catch {
            log.error(.storeMoveFailed, ["file": path + ending, "error": "\(error)"])
        }
    }

    /// Moves aside a WAL whose database is missing or empty, because creating a new database would delete it.
    ///
    /// - Returns: `true` if there was one.
    private func setAsideOrphanedWAL(_ log: Log) -> Bool {
        guard (try? FileSystem.status(of: path).size) ?? 0 == 0,
            let size = try? FileSystem.status(of: path + "-wal").size, size > 0
        else { return false }
        log.error(.storeWALOrphaned)
        setAside(log: log)
        return true
    }

    /// Whether a new database can be created next to the file. If so, the folder and the disk are not the cause of a
    /// failure.
    private var canCreateNewFile: Bool {
        let trial = path + ".trial"
        StoreFiles.remove(trial)
        defer { StoreFiles.remove(trial) }
        return (try? StoreWriter(settings(trial))) != nil
    }
}

/// The files that SQLite keeps for a database.
enum StoreFiles {
    /// Removes a database with its WAL, shared memory and journal.
    static func remove(_ path: String) {
        for ending in ["", "-wal", "-shm", "-journal"] { try? FileSystem.remove(path + ending) }
    }
}

/// Prevents a second daemon from using the same store, because both would assign the same ids.
///
/// Two files are locked: `.lock` next to the database, which exists before the database does, and the database itself.
/// So a second daemon has to wait even if `.lock` was removed. The locks are held to the end of the process. If one
/// can't be taken for a reason other than a second daemon, such as a full disk, the daemon runs without it.
final class StoreLock: Sendable {
    private struct Held: ~Copyable {
        let path: String
        let lock: FileLock?
        /// The lock of the database; nil if it could not be taken.
        var databaseLock: FileLock?
        /// The identity of the database that was locked last; nil if there was none yet.
        var database: FileStatus?
        /// The number of frames in the WAL of the last run that SQLite must recover; 0 if that was checked already.
        var walFrames: Int
        /// When it was found that commits are lost; nil if none are.
        var commitsLostAt: IssueTimestamp?
        /// Whether the loss was reported to notifiers.
        var isLossReported = true

        /// Whether the file system has locks.
        var hasLocks: Bool {
            switch lock {
            case .some: true
            case .none: false
            }
        }

        /// Locks the database, unless it is locked.
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

    /// The number of frames in the WAL of the last run that SQLite must recover; 0 if that was checked already.
    var walFrames: Int { held.withLock { $0?.walFrames ?? 0 } }
    /// When it was found that commits are lost; nil if none are.
    var commitsLostAt: IssueTimestamp? { held.withLock { $0?.commitsLostAt } }

    /// Notes that the recovery of these frames has been checked.
    func walWasChecked() { held.withLock { $0?.walFrames = 0 } }

    /// Notes that commits are lost.
    func commitsWereLost(at time: IssueTimestamp) {
        held.withLock { held in
            held?.commitsLostAt = time
            held?.isLossReported = false
        }
    }

    /// Returns `true` if commits are lost and this was not called since.
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
                    // Without locks, this would close a descriptor of the database, which may be open.
                    if held?.hasLocks == true { try held?.lockDatabase() }
                    return true
                }
                let lock = try Self.lock(path + ".lock", create: true)
                var new = Held(path: path, lock: lock, walFrames: 0)
                try new.lockDatabase()
                // No process has the database open now. After a power cut, the index may be older than the WAL.
                if BootMark(path + ".lock").replace() { new.walFrames = WALIndex(of: path)?.frames ?? 0 }
                held = consume new
                return true
            } catch {
                return false
            }
        }
    }

    /// Locks a file. Returns nil if that fails for a reason other than a second daemon.
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

    /// Writes the id of the current boot. Returns `true` if the file stated the same one.
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

    /// Reads the file. Returns nil if there is none, or if it does not have two equal headers.
    ///
    /// The process must not have the database open: closing any descriptor of the file releases the locks of all its
    /// connections (fcntl(2)).
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

/// Checks files that were reported as damaged, and decides whether they are moved aside.
///
/// SQLite also reports damage if the disk fails to read a page. So a file that can be read completely a moment later is
/// reopened, and so is one that can't be read completely in time. If a file is reported as damaged again soon, and not
/// because of the disk, it has damage that reading does not find. It is then moved aside.
final class CorruptionCheck: Sendable {
    /// The result of checking a file.
    enum CheckResult: Equatable {
        /// The file is damaged.
        case confirmed
        /// The file can be read completely.
        case healthy
        /// The file could not be read completely in time.
        case inconclusive
    }

    /// When a report of damage that was not a read error was last ignored.
    private let lastIgnoredAt = Mutex<KernelInstant?>(nil)
    /// How long a check may take. Meanwhile reports wait, and the writer thread does not answer heartbeats.
    private let timeout: Duration

    /// The period in which damage is ignored only once.
    private static let ignorePeriod: Duration = .seconds(600)
    /// The last file that was moved aside and not reported to notifiers yet.
    private let setAside = Mutex<String?>(nil)
    private static let attempts = 3
    /// The time before another attempt, because a disk error may be temporary.
    static let pause: Duration = .milliseconds(300)

    init(timeout: Duration = .seconds(3)) {
        self.timeout = timeout
    }

    func noteSetAside(_ file: String) {
        setAside.withLock { $0 = file }
    }

    /// Returns the last file that was moved aside; nil if none was since the last call.
    func takeSetAside() -> String? {
        setAside.withLock { file in
            defer { file = nil }
            return file
        }
    }

    /// Checks the file at a path. Blocks for a few seconds.
    func verdict(on damage: StoreFailure, at path: String) -> CheckResult {
        let last = lastIgnoredAt.withLock { $0 }
        if !damage.isUnreadable, let last, last.advanced(by: Self.ignorePeriod) > MonotonicClock.now {
            return .confirmed
        }
        for attempt in 1...Self.attempts {
            switch check(path) {
            case .whole: return ignore(damage, .healthy)
            // The pages that were read stay in the page cache, so the next check gets further.
            case .inconclusive: return ignore(damage, .inconclusive)
            case .damaged: if attempt < Self.attempts { Clock.sleep(for: Self.pause) }
            }
        }
        return .confirmed
    }

    private func ignore(_ damage: StoreFailure, _ verdict: CheckResult) -> CheckResult {
        if !damage.isUnreadable { lastIgnoredAt.withLock { $0 = MonotonicClock.now } }
        return verdict
    }

    private func check(_ path: String) -> StoreCheck.Finding { Self.checkPages(of: path, within: timeout) }

    /// Checks all pages of a database.
    ///
    /// - Parameters:
    ///   - path: The path of the database.
    ///   - timeout: The maximum duration.
    ///   - isCancelled: Called every few milliseconds, on another thread. Returns `true` to interrupt the check.
    static func checkPages(
        of path: String, within timeout: Duration, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) -> StoreCheck.Finding {
        let isOver = Monitor(false)
        let deadline = MonotonicClock.now.advanced(by: timeout)
        let finding = StoreCheck.check(at: path, within: timeout) { end in
            // StoreCheck does not look at the clock during a step, so this thread ends a step that takes too long.
            _ = try? JoinableThread(name: "check") {
                var next = MonotonicClock.now
                while isOver.wait(deadline: next, until: { $0 ? true : nil }) == nil {
                    next = MonotonicClock.now.advanced(by: .milliseconds(20))
                    if next >= deadline || isCancelled() { end() }
                }
            }
        }
        isOver.withLock { $0 = true }
        isOver.broadcast()
        return finding
    }
}

/// The folder of the database, and the existing files with the database's names.
///
/// A user who can write to that folder can make the daemon open, create or rename another file, so no other user may
/// write to it. For a daemon that runs as root, this also applies to each folder above it, because root can overwrite
/// anything.
struct StoreLocation {
    let path: String
    private let userID: UInt32

    init(_ path: String, userID: UInt32 = CurrentProcess.userID) {
        (self.path, self.userID) = (path, userID)
    }

    var folder: String { FileSystem.parentFolder(of: path) }

    /// Why a folder is not used.
    enum Objection: Equatable {
        case noFolder
        case ownedBy(UInt32)
        case writableByOthers(UInt32)
    }

    /// Checks that a folder is safe for files of the daemon.
    ///
    /// - Parameters:
    ///   - folder: The status of the folder.
    ///   - userID: The daemon's user.
    ///   - isAncestor: `true` if the folder is above the folder of the database. Other users may then write to it if
    ///     they can rename only their own entries, as in `/tmp`.
    /// - Returns: nil if the folder is safe.
    static func objection(to folder: FileStatus, userID: UInt32, isAncestor: Bool = false) -> Objection? {
        guard folder.kind == .directory else { return .noFolder }
        guard folder.uid == userID || folder.uid == 0 else { return .ownedBy(folder.uid) }
        if isAncestor, folder.mode & 0o1000 != 0 { return nil }
        // An ordinary user's group is often that user's alone.
        let others: UInt32 = userID == 0 ? 0o022 : 0o002
        return folder.mode & others == 0 ? nil : .writableByOthers(folder.mode)
    }

    /// Creates the folder if it is missing, and checks it.
    func prepare(_ make: (String) throws(Errno) -> Void) throws(StoreFailure) {
        try checkAncestors()
        do throws(Errno) {
            try make(folder)
        } catch {
            throw .unusableLocation("the state directory \(folder) can't be created: \(error)")
        }
        try check()
    }

    /// Throws `unusableLocation` if the database must not be opened there.
    func check() throws(StoreFailure) {
        try checkAncestors()
        // If the folder is missing or its disk fails, opening the database reports that.
        if let status = try? FileSystem.status(of: folder) { try check(status, of: folder, isAncestor: false) }
        for ending in ["", "-wal", "-shm", "-journal"] {
            guard let status = try? FileSystem.status(of: path + ending, followingLinks: false) else { continue }
            switch status.kind {
            case .regular: break
            case .symbolicLink:
                throw .unusableLocation(
                    "\(path + ending) is a symbolic link, which is not followed; set [Store] Path= to its target")
            // In a folder that only the daemon uses, such a folder is moved aside. Elsewhere it may be in use, like
            // /tmp.
            case .directory where isPrivate: break
            case .directory:
                throw .unusableLocation("\(path + ending) is a folder; [Store] Path= must name a file in it")
            case .socket, .pipe, .device, .unknown:
                throw .unusableLocation("\(path + ending) is not a regular file")
            }
        }
    }

    /// Whether the folder of the database is the daemon's alone.
    private var isPrivate: Bool {
        guard let status = try? FileSystem.status(of: folder) else { return false }
        return status.uid == userID && status.mode & 0o077 == 0
    }

    /// For root, checks each folder above the database, and each link to one.
    private func checkAncestors() throws(StoreFailure) {
        guard userID == 0 else { return }
        var paths = ancestors(of: folder)
        if let resolved = try? FileSystem.resolvedPath(folder), resolved != folder {
            paths += ancestors(of: resolved) + [resolved]
        }
        for path in paths {
            if let status = try? FileSystem.status(of: path) { try check(status, of: path, isAncestor: true) }
        }
        for path in paths + [folder] {
            guard let status = try? FileSystem.status(of: path, followingLinks: false), status.kind == .symbolicLink,
                status.uid != userID
            else { continue }
            throw .unusableLocation("\(path) is a symbolic link of user \(status.uid), which root does not follow")
        }
    }

    private func ancestors(of path: String) -> [String] {
        let parent = FileSystem.parentFolder(of: path)
        return parent == path || parent == "." ? [] : [parent] + ancestors(of: parent)
    }

    private func check(_ status: FileStatus, of folder: String, isAncestor: Bool) throws(StoreFailure) {
        switch Self.objection(to: status, userID: userID, isAncestor: isAncestor) {
        case nil: break
        case .noFolder: throw .unusableLocation("the state directory can't be created: \(folder) is not a folder")
        case .ownedBy(let uid):
            throw .unusableLocation(
                "the folder \(folder) belongs to user \(uid); [Store] Path= must be in a folder of user "
                    + "\(userID)\(userID == 0 ? " (run issued as the owner, not as root)" : " or root")")
        case .writableByOthers(let mode):
            throw .unusableLocation(
                "the folder \(folder) is writable by others (mode \(ValueForm<UInt32>.mode.text(mode & 0o777))); "
                    + "expected 0700")
        }
    }
}
