import IssueStore
import UnixIO

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

    /// The reason for which a folder is not used.
    enum Objection: Equatable {
        case noFolder
        case ownedBy(UInt32)
        case writableByOthers(UInt32)
    }

    /// Decides whether a folder is safe for files of the daemon.
    ///
    /// - Parameters:
    ///   - folder: The status of the folder.
    ///   - userID: The daemon's user.
    ///   - isAncestor: The folder is above the folder of the database. Entries of other users do no harm there if only
    ///     their owner can rename them, as in `/tmp`.
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
            // In a folder that only the daemon uses, the directory is moved aside. Elsewhere it may be in use, such as
            // /tmp.
            case .directory where isPrivate: break
            case .directory:
                throw .unusableLocation("\(path + ending) is a folder; [Store] Path= must name a file in it")
            case .socket, .pipe, .device, .unknown:
                throw .unusableLocation("\(path + ending) is not a regular file")
            }
        }
    }

    /// `true` if the folder of the database is the daemon's alone.
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
