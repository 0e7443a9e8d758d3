import Destinations
import UnixIO

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

    init(
        section: ConfigurationMerger.Section, surroundings: HostEnvironment, purpose: ConfigurationPurpose,
        word: String, defaultCredential: String? = nil, scope: ConfigurationProblem.Scope, key: String = "Credential"
    ) {
        (self.section, self.surroundings, self.purpose) = (section, surroundings, purpose)
        (self.word, self.defaultCredential, self.scope, self.key) = (word, defaultCredential, scope, key)
    }

    /// Returns the file; nil if it can't be named.
    mutating func resolve(_ credential: String) -> TokenFile? {
        if credential.hasPrefix("/") {
            return checked(TokenFile(path: credential, kind: .ownFile), shown: credential)
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
            return checked(TokenFile(path: "\(folder)/\(credential)", kind: .credential), shown: shown)
        }
        switch purpose {
        case .looking:
            return checked(
                TokenFile(path: "\(surroundings.credentialStore)/\(credential)", kind: .credential), shown: shown)
        case .running:
            let advice =
                surroundings.folder("STATE_DIRECTORY") == nil
                ? "systemd (LoadCredential=), which did not start this daemon. Without systemd, name a file "
                    + "with the \(word) by its absolute path: \(key)=/path/to/file."
                : "systemd (LoadCredential=), but none has that name. Write the \(word) to a file with that name in "
                    + "\(surroundings.credentialStore), readable only by root, add it to LoadCredential=, and "
                    + "restart the service."
            complain(
                "\(section.title) has no \(word): the credential \(shown) must be passed by \(advice)")
            return TokenFile(path: credential, kind: .notPassed)
        }
    }

    /// Reports an error if the file contains no token. The destination can be used as soon as it contains one.
    private mutating func checked(_ file: TokenFile, shown: String) -> TokenFile {
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
            let advice =
                switch file.kind {
                case .credential:
                    "Write the \(word) to a file with that name in \(surroundings.credentialStore), readable only by "
                        + "root, add it to LoadCredential=, and restart the service."
                case .ownFile, .notPassed:
                    "Write the \(word) to that file, readable only by the daemon's user (mode 0600)."
                }
            let what = file.kind == .credential ? "credential" : "file"
            complain(
                "\(section.title) has no \(word): the \(what) \(shown) can't be used: \(error). \(advice)")
            return file
        }
    }

    private mutating func complain(_ message: String) {
        let location = section.location(of: key) ?? section.location
        problems.append(ConfigurationProblem(at: location, message, scope: scope))
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
