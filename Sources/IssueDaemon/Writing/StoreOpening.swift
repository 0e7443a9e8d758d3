import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Opens the store.
///
/// A database that can't be used is moved aside unchanged, with its WAL, and a new one is created, so that the daemon
/// can start.
struct StoreOpening: Sendable {
    var path: String
    var limits: LimitSettings
    var retention: RetentionSettings
    var corruptionCheck = CorruptionCheck()
    var lock = StoreLock()
    /// Returns `true` if the file system of a folder is read-only.
    var isReadOnly: @Sendable (String) -> Bool = { FileSystem.isReadOnly(folder: $0) }

    /// The number of attempts to open a file before it is moved aside. A foreign file is moved aside after the first.
    private static let attempts = 4

    /// Opens the store, or a new one if the file can't be used.
    ///
    /// - Throws: A failure that a new file would not fix, such as a full disk or a store that another daemon uses.
    func open(log: Log) throws(StoreFailure) -> StoreWriter {
        try StoreLocation(path).check()
        try checkFileSystem()
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

    /// Throws `readOnly` if the file system of the database is read-only. Errors of SQLite do not name this cause.
    func checkFileSystem() throws(StoreFailure) {
        let folder = FileSystem.parentFolder(of: path)
        guard !isReadOnly(folder) else { throw .readOnly(folder) }
    }

    /// Gives the store a new code if SQLite has recovered fewer than `lock.walFrames` frames from the WAL of the last
    /// run, or if a failed checkpoint leaves it unknown how many.
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
            // It is unknown how much was recovered. An unnecessary new code does no harm.
        }
        writer.assignNewCode(at: Clock.wall)
    }

    /// The identities of the database and its WAL when they were opened; nil if they can't be determined.
    struct Files {
        fileprivate var database: FileStatus?
        fileprivate var wal: FileStatus?
    }

    /// The identities of the files that are at the paths now. Right after opening, these are the open files.
    var files: Files {
        Files(database: try? FileSystem.status(of: path), wal: try? FileSystem.status(of: path + "-wal"))
    }

    /// Returns `false` if the open database is no longer at its path, so that records stored in it would be lost.
    /// Returns `true` if this can't be determined.
    func isDatabaseAtPath(_ files: Files) -> Bool { Self.isFile(files.database, at: path) }

    /// Returns `false` if the open WAL is no longer at its path, so that the next run would not find it. Returns `true`
    /// if this can't be determined.
    func isWALAtPath(_ files: Files) -> Bool { Self.isFile(files.wal, at: path + "-wal") }

    private static func isFile(_ file: FileStatus?, at path: String) -> Bool {
        guard let file else { return true }
        do throws(Errno) {
            return try FileSystem.status(of: path).isSameFile(as: file)
        } catch {
            return error != .noSuchFile
        }
    }

    /// Checks a file that was reported as damaged. May block for about ten seconds.
    ///
    /// If the damage is a read error and no new file can be created next to the database, the disk may be the cause.
    /// The result is then `inconclusive` instead of `confirmed`.
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
        // A WAL without its database would be deleted when a new database is created, and a database without its WAL
        // lacks its latest commits. The WAL gets a second name first, so that a crash does not separate the two.
        let isWALKept = (try? FileSystem.link(path + "-wal", to: name + "-wal")) != nil
        move("", to: name, log)
        if isWALKept {
            try? FileSystem.remove(path + "-wal")
        } else {
            move("-wal", to: name, log)
        }
        for ending in ["-shm", "-journal"] { move(ending, to: name, log) }
        let isWALAlone = isWALKept && (try? FileSystem.status(of: name)) == nil
        let file = isWALAlone ? name + "-wal" : name
        corruptionCheck.noteSetAside(
            isWALAlone
                ? "\(StoreStatus.walFaultPrefix)was set aside: \(file)"
                : "the database could not be used and was set aside: \(file)")
        log.notice(isWALAlone ? .storeKeptWAL : .storeKeptDatabase, ["file": file])
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

/// The folder of the database, and the files of the database that exist in it.
///
/// A user who can write to that folder can make the daemon open, create or rename another file. Therefore, only the
/// daemon's user and root may write to it and, if the daemon does not run as root, the folder's group. If the daemon
/// runs as root, each folder above the database is checked, too, because root can overwrite anything.
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
    /// - Returns: Why the folder is not safe; nil if it is.
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

    /// Throws `unusableLocation` if the database must not be opened at this path.
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
                    "\(path + ending) is a symbolic link, which is not followed; "
                        + (ending.isEmpty ? "set [Store] Path= to its target" : "move it away"))
            // In a folder that only the daemon uses, a folder with the database's name is moved aside. Elsewhere, that
            // folder may be in use, like /tmp.
            case .directory where isPrivate: break
            case .directory:
                throw .unusableLocation(
                    "\(path + ending) is a folder; "
                        + (ending.isEmpty ? "[Store] Path= must name a file in it" : "move it away"))
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
                    + (isAncestor ? "only its owner should have write permission, as with 0755" : "expected 0700"))
        }
    }
}
