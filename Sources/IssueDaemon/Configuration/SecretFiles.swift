package import Destinations
import IssueCore
import IssueProtocol
package import UnixIO

/// The file that contains a token. It is read again when the token may have changed.
package struct TokenFile: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A credential that the service manager has passed or, if the configuration is only inspected, the file that
        /// the service manager would pass. The service manager controls who can read the credential.
        case credential
        /// A file that an absolute path names. Only its owner may have access to it.
        case ownFile
        /// A credential that the service manager did not pass.
        case notPassed
    }

    package var path: String
    package var kind: Kind
    /// Whether the token is a password that may contain spaces.
    package var isPassword = false

    /// The maximum size in bytes.
    private static let sizeLimit = 8192

    /// Reads the token.
    ///
    /// - Parameter userID: The daemon's user. An `ownFile` must belong to this user or to root.
    /// - Throws: `TokenFileError` if the file can't be read, is not private or trusted, or is not a token.
    package func read(asUser userID: UInt32 = CurrentProcess.userID) throws(TokenFileError) -> ShippingToken {
        guard kind != .notPassed else { throw .notPassed }
        let (status, content) = try readAll()
        guard status.kind == .regular else { throw .notAFile }
        switch kind {
        case .credential, .notPassed: break
        case .ownFile:
            guard status.uid == userID || status.uid == 0 else { throw .ownedByAnother(uid: status.uid) }
            guard status.mode & 0o077 == 0 else { throw .accessibleByOthers(mode: status.mode) }
        }
        guard content.count <= Self.sizeLimit else { throw .tooLarge }
        guard content.contains(where: { $0 > UInt8(ascii: " ") }) else { throw .empty }
        guard let token = ShippingToken(content, isPassword: isPassword) else {
            throw isPassword ? .notAPassword : .notAToken
        }
        return token
    }

    /// Reads the token for `--check`. A credential is read with the original rights of the process, since the service
    /// manager reads credentials as root. Any other file is read with the current rights.
    func readForCheck(asUser userID: UInt32 = CurrentProcess.userID) throws(TokenFileError) -> ShippingToken {
        guard kind == .credential else { return try read(asUser: userID) }
        return try CurrentProcess.withOriginalRights { () throws(TokenFileError) in try read(asUser: userID) }
    }

    private func readAll() throws(TokenFileError) -> (FileStatus, [UInt8]) {
        do throws(Errno) {
            // The status must be that of the file that is read, even if the path is replaced meanwhile. A pipe must not
            // block.
            let file = try FileDescriptor.open(path, .nonBlocking)
            let status = try file.status()
            guard status.kind == .regular else { return (status, []) }
            var content: [UInt8] = []
            while content.count <= Self.sizeLimit {
                guard try file.read(appendingTo: &content, atMost: Self.sizeLimit + 1) > 0 else { break }
            }
            return (status, content)
        } catch {
            throw .unreadable(error)
        }
    }
}

/// Why a file yields no token. The error never contains any of the file's content.
package enum TokenFileError: Error, Hashable, Sendable, CustomStringConvertible {
    case unreadable(Errno)
    case notAFile
    case accessibleByOthers(mode: UInt32)
    case ownedByAnother(uid: UInt32)
    case tooLarge
    case empty
    case notAToken
    case notAPassword
    case notPassed

    package var description: String {
        switch self {
        case .unreadable(let error):
            "it can't be read: \(error)"
        case .notAFile:
            "it is not a regular file"
        case .accessibleByOthers(let mode):
            "other users can access it (mode \(ValueForm<UInt32>.mode.text(mode))); expected 0600 or 0400"
        case .ownedByAnother(let uid):
            "it belongs to user \(uid); expected the daemon's own user, or root"
        case .tooLarge:
            "it is too large for a token"
        case .empty:
            "it is empty"
        case .notAToken:
            "it is not a token: it contains blanks, control characters or several lines, is not UTF-8, or is too long"
        case .notAPassword:
            "it is not a password: it contains control characters or several lines, is not UTF-8, or is too long"
        case .notPassed:
            "systemd did not pass it"
        }
    }
}

/// The file, next to the database, with the key for hashing redacted values.
///
/// The key is not part of the database, so that a copy of the database alone does not allow anyone to test guesses of a
/// redacted value.
struct RedactionKeyFile {
    static let name = "redaction.key"

    let path: String

    /// - Parameter database: The path of the database.
    init(nextTo database: String) {
        path = "\(FileSystem.parentFolder(of: database))/\(Self.name)"
    }

    /// Returns the redactor for the settings. Creates the key if it is needed and missing.
    ///
    /// If the key is invalid, or can't be read or created, an error is logged, and values are masked instead of hashed.
    func redactor(_ settings: RedactionSettings, _ log: Log) -> Redactor {
        guard settings.needsKey else { return Redactor(settings) }
        do throws(Errno) {
            let key = try exists() ? read() : create()
            if let key { return Redactor(settings, key: key) }
            log.error(.redactionKeyUnusable, ["file": path, "error": "the file is not a key"])
        } catch {
            log.error(.redactionKeyUnusable, ["file": path, "error": "\(error)"])
        }
        return Redactor(settings.withoutHashes)
    }

    private func exists() throws(Errno) -> Bool {
        do throws(Errno) {
            _ = try FileSystem.status(of: path, followingLinks: false)
            return true
        } catch {
            if error == .noSuchFile { return false }
            throw error
        }
    }

    private func read() throws(Errno) -> RedactionKey? {
        RedactionKey(try FileSystem.read(path, limit: RedactionKey.size + 1))
    }

    private func create() throws(Errno) -> RedactionKey? {
        let key = RedactionKey(low: Randomness.uint64(), high: Randomness.uint64())
        try FileSystem.writeAtomically(key.bytes, to: path, mode: 0o600)
        return key
    }
}
