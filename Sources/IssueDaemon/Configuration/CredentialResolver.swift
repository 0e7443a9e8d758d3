package import Destinations
package import UnixIO

/// Finds the file of a credential that a section names, and collects errors about it.
struct CredentialResolver {
    let section: ConfigurationMerger.Section
    let surroundings: HostEnvironment
    let purpose: ConfigurationPurpose
    /// The word for the credential in error messages, such as `token`.
    let word: String
    /// The name that is used without the key; nil if there is none.
    var defaultCredential: String?
    /// The scope of errors.
    let scope: ConfigurationProblem.Scope
    /// The key that names the credential.
    var key = "Credential"
    private(set) var problems: [ConfigurationProblem] = []

    /// Returns the file; nil if it can't be named.
    mutating func resolve(_ credential: String) -> TokenFile? {
        if credential.hasPrefix("/") {
            return checked(
                TokenFile(path: credential, kind: .ownFile), shown: credential,
                advice: "Write the \(word) to that file, readable only by the daemon's user (mode 0600).")
        }
        // The value is never repeated, because users paste the token itself here.
        let mayBeToken = credential.utf8.count >= 20 && credential.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit }
        let shown =
            credential == defaultCredential
            ? "“\(credential)”"
            : mayBeToken
                ? "named by \(key)= (is this the token itself? \(key)= takes the name of its file)"
                : "named by \(key)="
        if let folder = surroundings.folder("CREDENTIALS_DIRECTORY") {
            return checked(
                TokenFile(path: "\(folder)/\(credential)", kind: .credential), shown: shown,
                advice: credentialAdvice(credential))
        }
        switch purpose {
        case .looking:
            return checked(
                TokenFile(path: "\(surroundings.credentialStore)/\(credential)", kind: .credential), shown: shown,
                advice: credentialAdvice(credential))
        case .running:
            let cause =
                surroundings.folder("STATE_DIRECTORY") == nil
                ? "the credential \(shown) must be passed by systemd, which did not start this daemon. Without systemd, "
                    + "name a file with the \(word) by its absolute path: \(key)=/path/to/file."
                : "systemd did not pass the credential \(shown). \(credentialAdvice(credential))"
            complain("\(section.title) has no \(word): \(cause)")
            return TokenFile(path: credential, kind: .notPassed)
        }
    }

    /// Returns how to provide a credential of the unit. A name that the shipped unit does not load may be a token in
    /// the wrong place, so it is not repeated.
    private func credentialAdvice(_ credential: String) -> String {
        let store = surroundings.credentialStore
        return ServiceUnit.credentials.contains(credential)
            ? "Write the \(word) to \(store)/\(credential), readable only by root, and restart issued."
            : "Write the \(word) to a file with that name in \(store), readable only by root, add LoadCredential= with "
                + "the name to the unit (systemctl edit issued), and restart issued."
    }

    /// Reports an error if the file contains no token. The destination can be used as soon as it contains one.
    private mutating func checked(_ file: TokenFile, shown: String, advice: String) -> TokenFile {
        do throws(TokenFileError) {
            switch file.kind {
            case .ownFile, .notPassed: _ = try file.read(asUser: surroundings.userID)
            // The service manager reads these files as root.
            case .credential:
                try CurrentProcess.withOriginalRights { () throws(TokenFileError) in _ = try file.read() }
            }
            return file
        } catch {
            // Without root, `--check` can't see the files that the service manager reads.
            if purpose == .looking, file.kind == .credential, error == .unreadable(.accessDenied) { return file }
            let what = file.kind == .credential ? "credential" : "file"
            complain(
                "\(section.title) has no \(word): the \(what) \(shown) can't be used: \(error). \(advice)")
            return file
        }
    }

    private mutating func complain(_ message: String) {
        problems.append(section.problem(key, message, scope: scope))
    }
}

/// A file with certificates that are trusted instead of the system's.
enum AuthoritiesFile {
    /// The maximum size in bytes, more than any bundle has.
    private static let maxBytes = 16 << 20

    /// Returns what is wrong with the file of `CAFile=`; nil if it can be used.
    static func problem(_ path: String) -> String? {
        do throws(Errno) {
            let file = try FileDescriptor.open(path, .nonBlocking)
            var content: [UInt8] = []
            while content.count < maxBytes, try file.read(appendingTo: &content, atMost: 1 << 16) > 0 {}
            // The two PEM labels that OpenSSL accepts.
            let isFound = ["-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----"].contains {
                content.contains(Array($0.utf8))
            }
            return isFound ? nil : "CAFile=\(path) contains no certificate; expected a PEM file."
        } catch {
            return "CAFile=\(path) can't be read: \(error); expected a file with certificates."
        }
    }
}

/// The file that contains a token. It is read again when the token may have changed.
package struct TokenFile: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A credential passed by the service manager, which controls who can read it.
        case credential
        /// A file of the host. Only its owner may be able to read it.
        case ownFile
        /// A credential that the service manager did not pass.
        case notPassed
    }

    package var path: String
    package var kind: Kind

    private static let sizeLimit = 8192

    /// Reads the token.
    ///
    /// - Parameter userID: The daemon's user. A file of any other user except root is not trusted.
    /// - Throws: `TokenFileError` if the file can't be read, is not private or does not contain a token.
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
        guard let token = ShippingToken(content) else { throw .notAToken }
        return token
    }

    /// Reads the token outside of the daemon, with the rights of the service manager if it is a credential.
    func readForCheck() throws(TokenFileError) -> ShippingToken {
        guard kind == .credential else { return try read() }
        return try CurrentProcess.withOriginalRights { () throws(TokenFileError) in try read() }
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

/// The reason why a file yields no token. It never contains any of the file's content.
package enum TokenFileError: Error, Hashable, Sendable, CustomStringConvertible {
    case unreadable(Errno)
    case notAFile
    case accessibleByOthers(mode: UInt32)
    case ownedByAnother(uid: UInt32)
    case tooLarge
    case empty
    case notAToken
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
            "it contains more than a token: blanks, control characters or several lines"
        case .notPassed:
            "systemd did not pass it"
        }
    }
}
