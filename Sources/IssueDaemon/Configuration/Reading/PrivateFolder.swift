package import UnixIO

/// A folder that nobody but ourselves may enter.
package enum PrivateFolder {
    /// Makes the folder where it is missing, and trusts one that is there only
    /// if it is ours alone: under /tmp a stranger could have put it there.
    package static func prepare(_ path: String, userID: UInt32 = CurrentProcess.userID) throws(Errno) {
        try FileSystem.makeFolders(path, mode: 0o700)
        let status = try FileSystem.status(of: path, followingLinks: false)
        guard status.kind == .directory else { throw .notDirectory }
        guard status.uid == userID, status.mode & 0o077 == 0 else { throw .accessDenied }
    }
}
