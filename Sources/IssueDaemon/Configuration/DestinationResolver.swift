import Destinations
import UnixIO

/// Resolves the address and the credential file of a destination, and collects errors about them.
struct DestinationResolver {
    let kind: DestinationKind
    let section: ConfigurationMerger.Section
    let surroundings: HostEnvironment
    let purpose: ConfigurationPurpose
    private(set) var problems: [ConfigurationProblem] = []

    /// The maximum size of a CA file in bytes, more than any bundle has.
    private static let maxAuthorities = 16 << 20

    /// Returns the destination; nil if its address or credential is invalid.
    mutating func resolve(_ settings: DestinationSettings) -> DestinationConfiguration? {
        var settings = settings
        let address = address(&settings)
        if let caFile = settings.caFile { check(authorities: caFile) }
        var tokenFile: TokenFile?
        if let credential = settings.credential {
            guard let found = token(credential) else { return nil }
            tokenFile = found
        }
        guard let address else { return nil }
        return DestinationConfiguration(
            kind: kind, name: section.name ?? kind.name, address: address, tokenFile: tokenFile, settings: settings)
    }

    private mutating func address(_ settings: inout DestinationSettings) -> HTTPAddress? {
        do throws(AddressError) {
            return try kind.format.address(settings.url, &settings.options)
        } catch {
            switch error {
            case .missing(let keys, let expected):
                // An invalid value was reported before.
                if section.wrongKeys.isDisjoint(with: keys) {
                    complain(of: nil, "\(section.title) has no address; expected \(expected).")
                }
            case .both(let first, let second):
                complain(of: second, "\(section.title) has both \(first)= and \(second)=; expected only one.")
            case .contradiction(let key, let text):
                complain(of: key, text)
            }
            return nil
        }
    }

    private mutating func token(_ credential: String) -> TokenFile? {
        guard section.wrongKeys.isDisjoint(with: ["Credential"]) else { return nil }
        if credential.hasPrefix("/") {
            return checked(TokenFile(path: credential, kind: .ownFile), shown: credential)
        }
        // The value is never repeated, because users paste the token itself here.
        let mayBeToken = credential.utf8.count >= 20 && credential.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit }
        let shown =
            credential == kind.format.defaultCredential
            ? "“\(credential)”"
            : mayBeToken
                ? "named by Credential= (is this the token itself? Credential= takes the name of its file)"
                : "named by Credential="
        if let folder = surroundings.folder("CREDENTIALS_DIRECTORY") {
            return checked(TokenFile(path: "\(folder)/\(credential)", kind: .credential), shown: shown)
        }
        let word = kind.format.credentialWord
        switch purpose {
        case .looking:
            return checked(
                TokenFile(path: "\(surroundings.credentialStore)/\(credential)", kind: .credential), shown: shown)
        case .running:
            let advice =
                surroundings.folder("STATE_DIRECTORY") == nil
                ? "systemd (LoadCredential=), which did not start this daemon. Without systemd, name a file "
                    + "with the \(word) by its absolute path: Credential=/path/to/file."
                : "systemd (LoadCredential=), but none has that name. Write the \(word) to a file with that name in "
                    + "\(surroundings.credentialStore), readable only by root, add it to LoadCredential=, and "
                    + "restart the service."
            complain(
                of: "Credential",
                "\(section.title) has no \(word): the credential \(shown) must be passed by \(advice)",
                scope: credentialScope)
            return TokenFile(path: credential, kind: .notPassed)
        }
    }

    private var credentialScope: ConfigurationProblem.Scope {
        section.destinationName.map { .credential($0) } ?? section.scope
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
            let word = kind.format.credentialWord
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
                of: "Credential",
                "\(section.title) has no \(word): the \(what) \(shown) can't be used: \(error). \(advice)",
                scope: credentialScope)
            return file
        }
    }

    private mutating func check(authorities path: String) {
        do throws(Errno) {
            let file = try FileDescriptor.open(path, .nonBlocking)
            var content: [UInt8] = []
            while content.count < Self.maxAuthorities, try file.read(appendingTo: &content, atMost: 1 << 16) > 0 {}
            // The two PEM labels that OpenSSL accepts.
            let isFound = ["-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----"].contains {
                content.contains(Array($0.utf8))
            }
            guard !isFound else { return }
            complain(of: "CAFile", "CAFile=\(path) contains no certificate; expected a PEM file.")
        } catch {
            complain(of: "CAFile", "CAFile=\(path) can't be read: \(error); expected a file with certificates.")
        }
    }

    private mutating func complain(
        of key: String?, _ message: String, scope: ConfigurationProblem.Scope? = nil
    ) {
        let location = key.flatMap { section.location(of: $0) } ?? section.location
        problems.append(ConfigurationProblem(at: location, message, scope: scope ?? section.scope))
    }
}
