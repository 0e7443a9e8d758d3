import Destinations
import IssueCore
import IssueProtocol
import UnixIO

/// Creates the typed configuration from the merged sections, and checks values that depend on each other.
struct ConfigurationBuilder {
    typealias Section = ConfigurationMerger.Section

    private(set) var configuration: Configuration
    private(set) var problems: [ConfigurationProblem] = []
    private let environment: HostEnvironment
    private let purpose: ConfigurationPurpose
    /// The scopes affected by errors that the merger or this builder has found.
    private var faulty: Set<ConfigurationProblem.Scope> = []

    init(_ start: Configuration, environment: HostEnvironment, purpose: ConfigurationPurpose) {
        (configuration, self.environment, self.purpose) = (start, environment, purpose)
    }

    /// Adds the values of the sections to the configuration.
    ///
    /// - Parameter faulty: The scopes affected by errors that the merger has found.
    mutating func build(_ sections: [Section], faulty: Set<ConfigurationProblem.Scope> = []) {
        self.faulty = faulty
        for section in sections where section.name == nil {
            Self.assign(section, to: &configuration, by: section.kind.topLevelKeys)
            checkWhole(section)
        }
        for section in sections where section.kind == .limits {
            guard let name = section.name else { continue }
            var override = ApplicationLimitOverride(name: name)
            Self.assign(section, to: &override, by: ConfigurationTable.application)
            configuration.limits.overrides.append(override)
        }
        // Destinations come after the general limits, which they inherit.
        for section in sections {
            if let kind = section.kind.destination { buildDestination(kind, section) }
        }
        for section in sections where section.kind == .notify { buildNotifier(section) }
    }

    private mutating func buildNotifier(_ section: Section) {
        var settings = NotifierSettings()
        Self.assign(section, to: &settings, by: ConfigurationTable.notifier)
        let notifier = resolve(section) { $0.notifier(settings) }
        let name = section.targetName
        // As with destinations, neither of two notifiers with the same name is used.
        let clashing = configuration.notifiers.filter { $0.name == name }.map {
            MisconfiguredNotifier(name: $0.name, settings: $0.settings)
        }
        configuration.notifiers.removeAll { $0.name == name }
        configuration.misconfiguredNotifiers += clashing
        guard !configuration.misconfiguredNotifiers.contains(where: { $0.name == name }) else {
            return addProblem(
                section.location, "Two notifiers are named “\(name)”, so neither is used; rename one of them.", section)
        }
        if let notifier {
            configuration.notifiers.append(notifier)
        } else {
            configuration.misconfiguredNotifiers.append(MisconfiguredNotifier(name: name, settings: settings))
        }
    }

    private static func assign<Root>(_ section: Section, to root: inout Root, by keys: [ConfigurationKey<Root>]) {
        for key in keys {
            for value in section.values[key.name] ?? [] { key.assign(&root, value.text) }
        }
    }

    private mutating func buildDestination(_ kind: DestinationKind, _ section: Section) {
        var settings = DestinationSettings(kind, limits: configuration.limits, forward: configuration.forward)
        Self.assign(section, to: &settings, by: ConfigurationTable.destination(kind) + ConfigurationTable.overridable)
        checkLimits(settings.limits, of: section)
        checkForwarding(settings.forward, of: section)
        let destination = resolve(section) { $0.destination(kind, settings) }
        guard let name = section.destinationName, checkName(name, section) else { return }
        if let destination {
            configuration.destinations.append(destination)
        } else {
            configuration.misconfigured.append(
                MisconfiguredDestination(kind: kind, name: name, settings: settings))
        }
    }

    /// Resolves a destination or notifier. Returns nil if its section has an error. A destination is returned even if
    /// the file of its credential can't be used.
    private mutating func resolve<Target>(
        _ section: Section, _ body: (inout TargetResolver) -> Target?
    ) -> Target? {
        var resolver = TargetResolver(section: section, environment: environment, purpose: purpose)
        let target = body(&resolver)
        if !section.isDefinedTwice { problems += resolver.problems }
        faulty.formUnion(resolver.problems.map(\.scope))
        return faulty.contains(section.scope) ? nil : target
    }

    /// Returns `true` if no other destination has the name. Otherwise reports an error. Case is ignored.
    ///
    /// If two destinations have the same name, neither is used, because it is unknown which of them the records are
    /// meant for.
    private mutating func checkName(_ name: String, _ section: Section) -> Bool {
        func isSame(_ other: String) -> Bool { other.lowercased() == name.lowercased() }
        let clashing = configuration.destinations.filter { isSame($0.name) }.map {
            MisconfiguredDestination(kind: $0.kind, name: $0.name, settings: $0.settings)
        }
        guard !clashing.isEmpty || configuration.misconfigured.contains(where: { isSame($0.name) }) else { return true }
        configuration.destinations.removeAll { isSame($0.name) }
        configuration.misconfigured += clashing
        addProblem(section.location, "Two destinations are named “\(name)”; rename one of them.", section)
        return false
    }

    private mutating func addProblem(_ location: ConfigurationLocation, _ message: String, _ section: Section) {
        problems.append(ConfigurationProblem(at: location, message, scope: section.scope))
        faulty.insert(section.scope)
    }

    /// Checks values that depend on each other, and the path of the database, in a section without a name.
    private mutating func checkWhole(_ section: Section) {
        switch section.kind {
        case .socket: checkSocket(section)
        case .limits: checkLimits(configuration.limits, of: section)
        case .forward: checkForwarding(configuration.forward, of: section)
        case .store: if purpose == .inspecting { checkStore(section) }
        case .access, .redaction, .log, .destination, .notify: break
        }
    }

    private mutating func checkSocket(_ section: Section) {
        let socket = configuration.socket
        let size = { (bytes: Int) in SizeText.text(Int64(bytes)) }
        check(
            socket.maxRecordSize <= socket.maxMessageSize, "MaxRecordSize", "MaxMessageSize", of: section,
            "a record (\(size(socket.maxRecordSize))) must not be larger than a call "
                + "(\(size(socket.maxMessageSize)))")
        check(
            socket.maxMessageSize <= socket.maxBytesInFlightPerUser, "MaxMessageSize", "MaxBytesInFlightPerUser",
            of: section,
            "a call (\(size(socket.maxMessageSize))) must not be larger than what a user may have in flight "
                + "(\(size(socket.maxBytesInFlightPerUser)))")
        check(
            socket.maxMessageSize <= socket.maxMemory / 4, "MaxMessageSize", "MaxMemory", of: section,
            "a call (\(size(socket.maxMessageSize))) must not use more than a quarter of the memory "
                + "(\(size(socket.maxMemory)))")
        check(
            socket.maxConnectionsPerUser <= socket.maxConnections, "MaxConnectionsPerUser", "MaxConnections",
            of: section,
            "one user must not have more connections (\(socket.maxConnectionsPerUser)) than all users "
                + "(\(socket.maxConnections))")
    }

    /// Checks the file at `Path=` and whether its folder is writable, if the section sets that key.
    ///
    /// The daemon itself skips this: if it fails to open the database, it retries.
    private mutating func checkStore(_ section: Section) {
        guard let location = section.location(of: "Path") else { return }
        let path = configuration.store.path
        if let status = try? FileSystem.status(of: path), status.kind != .regular {
            return addProblem(
                location,
                "Path=\(path.truncatedForLog) is \(status.kind == .directory ? "a folder" : "not a regular file"); "
                    + "expected a file in a folder that belongs to the daemon.", section)
        }
        // systemd creates the state directory and makes the daemon its owner.
        let states = environment.stateFolders.isEmpty ? [ServiceUnit.stateFolder] : environment.stateFolders
        var folder = FileSystem.parentFolder(of: path)
        guard !FileSystem.isFolder(folder, inside: states) else { return }
        while folder != "/", (try? FileSystem.status(of: folder)) == nil {
            folder = FileSystem.parentFolder(of: folder)
        }
        do throws(Errno) {
            try FileSystem.checkWritable(folder: folder)
        } catch {
            addProblem(
                location,
                "Path=\(path.truncatedForLog) can't be used: the folder \(folder) is not writable (\(error)).",
                section)
        }
    }

    private mutating func checkLimits(_ limits: LimitSettings, of section: Section) {
        let reserved = limits.criticalReserve.percent + limits.summaryReserve.percent + limits.noveltyReserve.percent
        if reserved > 99 {
            let keys = ["CriticalReserve", "SummaryReserve", "NoveltyReserve"]
            addProblem(
                keys.compactMap { section.location(of: $0) }.last ?? section.location,
                "CriticalReserve=, SummaryReserve= and NoveltyReserve= add up to \(reserved)%; expected at most 99%, "
                    + "so that something is left for other records.", section)
            reset(keys, of: section)
        }
        check(
            limits.summaryInterval <= limits.summaryIntervalMax, "SummaryInterval", "SummaryIntervalMax", of: section,
            "the first interval (\(DurationText.text(limits.summaryInterval))) must not exceed the maximum "
                + "(\(DurationText.text(limits.summaryIntervalMax)))")
    }

    private mutating func checkForwarding(_ forward: ForwardSettings, of section: Section) {
        check(
            forward.connectTimeout <= forward.requestTimeout, "ConnectTimeout", "RequestTimeout", of: section,
            "the timeout for connecting (\(DurationText.text(forward.connectTimeout))) must not exceed the one for a "
                + "whole request (\(DurationText.text(forward.requestTimeout)))")
    }

    /// Reports two values that contradict each other, if this section sets at least one of them. If it sets neither,
    /// the error was reported for another section.
    ///
    /// - Parameters:
    ///   - isConsistent: `false` if the values contradict each other.
    ///   - explanation: The condition that the values must meet.
    private mutating func check(
        _ isConsistent: Bool, _ key: String, _ other: String, of section: Section, _ explanation: String
    ) {
        guard !isConsistent, let location = section.location(of: key) ?? section.location(of: other) else { return }
        addProblem(
            location, "\(key)= and \(other)= contradict each other: \(explanation). Change one of them.", section)
        reset([key, other], of: section)
    }

    /// Resets keys that contradict each other to their defaults. Does nothing if the section has a name.
    private mutating func reset(_ keys: [String], of section: Section) {
        guard section.name == nil else { return }
        for key in section.kind.topLevelKeys where keys.contains(key.name) {
            key.assign(&configuration, key.metadata.defaultText)
        }
    }
}

/// Resolves the address and the files of a destination or notifier, and collects errors about them.
private struct TargetResolver {
    let section: ConfigurationMerger.Section
    let environment: HostEnvironment
    let purpose: ConfigurationPurpose
    private(set) var problems: [ConfigurationProblem] = []

    /// Returns the destination; nil if it has no valid address, or if the default credential would replace an invalid
    /// value of `Credential=`.
    mutating func destination(
        _ kind: DestinationKind, _ settings: DestinationSettings
    ) -> DestinationConfiguration? {
        var settings = settings
        let address = address(kind, &settings)
        checkAuthorities(settings.caFile)
        var tokenFile: TokenFile?
        if let credential = settings.credential {
            guard !section.reportedKeys.contains("Credential") else { return nil }
            // A key with an error counts as set. Otherwise an invalid `User=` would cause an error about the password,
            // too.
            let options = settings.options.merging(section.reportedKeys.map { ($0, "") }) { value, _ in value }
            tokenFile = file(
                credential, word: kind.format.credentialWord, default: kind.format.defaultCredential,
                isPassword: kind.format.isPassword(options),
                scope: section.destinationName.map { .credential($0) } ?? section.scope)
        }
        guard let address else { return nil }
        return DestinationConfiguration(
            kind: kind, name: section.name ?? kind.name, address: address, tokenFile: tokenFile, settings: settings)
    }

    private mutating func address(_ kind: DestinationKind, _ settings: inout DestinationSettings) -> HTTPAddress? {
        do throws(AddressError) {
            return try kind.format.address(settings.url, &settings.options)
        } catch {
            switch error {
            case .missing(let keys, let expected):
                // An invalid value was reported before.
                if section.reportedKeys.isDisjoint(with: keys) {
                    addProblem(nil, "\(section.title) has no address; expected \(expected).")
                }
            case .both(let first, let second):
                addProblem(second, "\(section.title) has both \(first)= and \(second)=; expected only one.")
            case .contradiction(let key, let text):
                addProblem(key, text)
            }
            return nil
        }
    }

    /// Returns the notifier; nil after an error is reported here. Errors of the merger are not reported again.
    mutating func notifier(_ settings: NotifierSettings) -> NotifierConfiguration? {
        checkAuthorities(settings.caFile)
        let given = [
            ("URL", settings.url != nil), ("URLCredential", settings.urlCredential != nil),
            ("Command", settings.command != nil),
        ].filter(\.1).map(\.0)
        if given.count > 1 {
            addProblem(given[1], "\(section.title) has both \(given[0])= and \(given[1])=; expected only one.")
        } else if given.isEmpty, section.reportedKeys.isDisjoint(with: ["URL", "URLCredential", "Command"]) {
            // An invalid value was reported before.
            addProblem(nil, "\(section.title) has no address; expected URL=, URLCredential= or Command=.")
        }
        let urlFile = settings.urlCredential.map {
            file($0, word: "URL", key: "URLCredential", scope: section.scope)
        }
        let tokenFile = settings.credential.map { file($0, word: "token", scope: section.scope) }
        guard problems.isEmpty else { return nil }
        return NotifierConfiguration(
            name: section.targetName, settings: settings, urlFile: urlFile, tokenFile: tokenFile)
    }

    /// Reports an error if the file of `CAFile=` can't be used.
    private mutating func checkAuthorities(_ path: String?) {
        if let path, let problem = AuthoritiesFile.problem(path) { addProblem("CAFile", problem) }
    }

    private mutating func file(
        _ credential: String, word: String, default defaultCredential: String? = nil, isPassword: Bool = false,
        key: String = "Credential", scope: ConfigurationProblem.Scope
    ) -> TokenFile {
        var resolver = CredentialResolver(
            section: section, environment: environment, purpose: purpose, word: word,
            defaultCredential: defaultCredential, isPassword: isPassword, scope: scope, key: key)
        defer { problems += resolver.problems }
        return resolver.resolve(credential)
    }

    private mutating func addProblem(_ key: String?, _ message: String) {
        problems.append(section.problem(key, message))
    }
}

/// Finds the file of a credential that a section names, and collects errors about it.
private struct CredentialResolver {
    let section: ConfigurationMerger.Section
    let environment: HostEnvironment
    let purpose: ConfigurationPurpose
    /// The word for the credential in error messages, such as `token`.
    let word: String
    /// The name that is used if the key is not set; nil if there is none.
    let defaultCredential: String?
    /// Whether the credential is a password that may contain spaces.
    let isPassword: Bool
    /// The scope of errors.
    let scope: ConfigurationProblem.Scope
    /// The key that names the credential.
    let key: String
    private(set) var problems: [ConfigurationProblem] = []

    /// Returns the file, even if it can't be read yet.
    mutating func resolve(_ credential: String) -> TokenFile {
        if credential.hasPrefix("/") {
            return checked(
                TokenFile(path: credential, kind: .ownFile, isPassword: isPassword), shown: credential,
                advice: "Write the \(word) to that file, readable only by the daemon's user (mode 0600).")
        }
        // A name that is not the default is never quoted, because some users paste the token itself here.
        let shown =
            credential == defaultCredential
            ? "“\(credential)”"
            : credential.mayBeToken
                ? "named by \(key)= (is this the token itself? \(key)= takes the name of its file)"
                : "named by \(key)="
        if let folder = environment.folder("CREDENTIALS_DIRECTORY") {
            return checked(
                TokenFile(path: "\(folder)/\(credential)", kind: .credential, isPassword: isPassword), shown: shown,
                advice: credentialAdvice(credential))
        }
        switch purpose {
        case .inspecting:
            return checked(
                TokenFile(
                    path: "\(environment.credentialStore)/\(credential)", kind: .credential, isPassword: isPassword),
                shown: shown,
                advice: credentialAdvice(credential))
        case .running:
            let cause =
                environment.folder("STATE_DIRECTORY") == nil
                ? "the credential \(shown) must be passed by systemd, which did not start this daemon. Without "
                    + "systemd, name a file with the \(word) by its absolute path: \(key)=/path/to/file."
                : "systemd did not pass the credential \(shown). \(credentialAdvice(credential))"
            addProblem("\(section.title) has no \(word): \(cause)")
            return TokenFile(path: credential, kind: .notPassed)
        }
    }

    /// Returns a sentence about how to pass a credential to the unit. A name that the shipped unit does not load is
    /// left out, because it may be the token itself.
    private func credentialAdvice(_ credential: String) -> String {
        let store = environment.credentialStore
        return ServiceUnit.credentials.contains(credential)
            ? "Write the \(word) to \(store)/\(credential), readable only by root, and restart issued."
            : "Write the \(word) to a file with that name in \(store), readable only by root, add LoadCredential= with "
                + "the name to the unit (systemctl edit issued), and restart issued."
    }

    /// Returns the file. Reports an error if it contains no token now; it may contain one later.
    private mutating func checked(_ file: TokenFile, shown: String, advice: String) -> TokenFile {
        do throws(TokenFileError) {
            _ = try file.readForCheck(asUser: environment.userID)
        } catch {
            // Without root, `--check` can't see the files that the service manager reads.
            if purpose == .inspecting, file.kind == .credential, error == .unreadable(.accessDenied) { return file }
            let what = file.kind == .credential ? "credential" : "file"
            addProblem("\(section.title) has no \(word): the \(what) \(shown) can't be used: \(error). \(advice)")
        }
        return file
    }

    private mutating func addProblem(_ message: String) {
        problems.append(section.problem(key, message, scope: scope))
    }
}

/// A file with certificates that are trusted instead of the system's.
private enum AuthoritiesFile {
    /// The number of bytes after which reading stops, more than any bundle has.
    private static let maxBytes = 16 << 20

    /// Returns what is wrong with the file of `CAFile=`; nil if it can be read and seems to contain a certificate.
    static func problem(_ path: String) -> String? {
        do throws(Errno) {
            let file = try FileDescriptor.open(path, .nonBlocking)
            var content: [UInt8] = []
            while content.count < maxBytes, try file.read(appendingTo: &content, atMost: 1 << 16) > 0 {}
            // The PEM labels of certificates that OpenSSL reads (PEM_read_bio_X509_AUX(3)).
            let isFound = ["", "TRUSTED ", "X509 "].contains {
                content.contains(Array("-----BEGIN \($0)CERTIFICATE-----".utf8))
            }
            return isFound ? nil : "CAFile=\(path) contains no certificate; expected a PEM file."
        } catch {
            return "CAFile=\(path) can't be read: \(error); expected a file with certificates."
        }
    }
}
