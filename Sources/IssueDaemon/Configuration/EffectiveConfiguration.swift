import IssueCore
package import IssueProtocol
package import UnixIO

/// The configuration that the daemon uses. It depends on the files and on the last valid configuration.
package struct EffectiveConfiguration: Sendable {
    /// The source of the configuration in use.
    package enum Basis: Hashable, Sendable {
        /// All files are used. Destinations and notifiers with an error are paused.
        case files
        /// The files have errors, so the last valid configuration is used.
        case lastValid
        /// The files have errors and there is no last valid configuration, so the lines with errors are left out.
        case validLines
    }

    package var configuration: Configuration
    package var basis: Basis
    package var problems: [ConfigurationProblem]
    /// Whether records are kept regardless of their age and the database may grow, because it is unknown how many
    /// records the operator wants to keep.
    package var suspendsRetention = false
    /// The path of a database that is used instead of the default one, because the files have errors and no valid
    /// `[Store] Path=`; nil if the default or the configured database is used.
    package private(set) var separateStore: String?
    /// Whether the files name a destination that the configuration in use lacks, because it is the last valid one.
    private var lacksDestinations = false

    /// Decides which configuration to use.
    ///
    /// - Parameters:
    ///   - lastValid: The last valid configuration; nil if there is none.
    ///   - running: The configuration in use; nil at startup.
    package init(
        _ reading: ConfigurationReading, lastValid: Configuration?, running: EffectiveConfiguration? = nil
    ) {
        problems = reading.problems
        configuration = reading.configuration
        basis = .files
        let isGeneral = problems.contains { $0.scope.isGeneral }
        // If the section of a destination or notifier becomes invalid while a valid configuration is in use, that
        // configuration stays in use, so the destination or notifier keeps running. Otherwise, it is paused, unless
        // general errors make the daemon use the last valid configuration.
        let isValidInUse = running.map { $0.isValid || $0.basis == .lastValid } ?? false
        let keepsRunning = isValidInUse && !reading.isValid
        guard isGeneral || keepsRunning else { return }
        if let lastValid {
            basis = .lastValid
            configuration = lastValid
            let named = reading.configuration.destinations.map(\.name) + reading.configuration.misconfigured.map(\.name)
            lacksDestinations = !Set(named).isSubset(of: lastValid.destinations.map(\.name))
            // Rights that were withdrawn must not come back with an old configuration, so only the rights that both
            // configurations grant are left.
            configuration.access = lastValid.access.intersection(reading.configuration.access)
            return
        }
        basis = .validLines
        // A line that is left out may have withdrawn rights.
        if affects(.access) { configuration.access = AccessSettings() }
        // `[Limits NAME]` may set the maximum age of an application's records.
        suspendsRetention = affects(.store) || affects(.limits)
    }

    /// Whether the files have no errors other than unusable credentials of destinations. If so, a copy of the
    /// configuration is saved for later starts.
    package var isValid: Bool {
        basis == .files && problems.allSatisfy(\.scope.isCredential)
    }

    private func affects(_ section: ConfigurationSection) -> Bool {
        problems.contains { $0.scope == .everything || $0.scope == .section(section) }
    }
}

extension EffectiveConfiguration {
    /// An age that no record reaches, and the upper bound of `MaxAge=`.
    private static let unlimitedAge: Duration = .seconds(36_525 * 86_400)

    /// Reads the files. If they are invalid and `lastValid` is nil, also reads the saved copy of the last valid
    /// configuration.
    package init(
        _ source: ConfigurationSource, in environment: HostEnvironment, lastValid: Configuration? = nil,
        running: EffectiveConfiguration? = nil
    ) {
        var reader = ConfigurationReader(environment: environment, purpose: .running)
        let reading = reader.read(source)
        let path = reading.configuration.store.path
        let lastValid =
            reading.isValid || lastValid != nil
            ? lastValid : LastValidConfiguration(source: source, environment: environment).read(nextTo: path)
        self.init(reading, lastValid: lastValid, running: running)
        guard suspendsRetention else { return }
        if let path = environment.separateStore(for: source), !reading.namesStore {
            configuration.store.path = path
            separateStore = path
        }
        // The database may grow by the default of `MaxSize=`, or to `MaxSize=` if that is more. A limit remains, so
        // that an error that nobody fixes does not fill the disk.
        let store = configuration.store
        let size = (try? FileSystem.status(of: store.path).size) ?? 0
        configuration.store.retention.maxSize = max(store.retention.maxSize, size + StoreSettings().retention.maxSize)
        configuration.store.retention.maxAge = Self.unlimitedAge
        for index in configuration.limits.overrides.indices { configuration.limits.overrides[index].maxAge = nil }
    }
}

extension AccessSettings {
    /// Returns the rights that both settings grant.
    func intersection(_ other: AccessSettings) -> AccessSettings {
        var common = AccessSettings()
        common.readers = readers.filter { other.readerIDs.contains($0.groupID) }
        common.operators = operators.filter { other.operatorIDs.contains($0.groupID) }
        // A container's user id grants nothing, so `true` is the stricter of the two.
        common.containerUsers = containerUsers || other.containerUsers
        return common
    }
}

extension EffectiveConfiguration {
    /// A clause about how the daemon runs while the files have errors, for the log and `status`.
    package var explanation: String {
        switch basis {
        case .files: "the affected destinations and notifiers are paused"
        case .lastValid: "using the last valid configuration"
        case .validLines where separateStore != nil:
            "using the lines without errors; the database is unknown, so records are stored in "
                + "\(configuration.store.path) until this is fixed"
        case .validLines where suspendsRetention:
            "using the lines without errors; until this is fixed, no records are removed by age, and the database may "
                + "grow"
        case .validLines: "using the lines without errors"
        }
    }

    /// A short note for the service manager about the errors; nil if there are none, apart from unusable credentials of
    /// destinations.
    package var note: String? {
        guard problems.contains(where: { !$0.scope.isCredential }) else { return nil }
        return switch basis {
        case .files: "configuration error"
        case .lastValid: "configuration error, using the last valid one"
        case .validLines: "configuration error, using the lines without errors"
        }
    }

    /// The maximum number of errors that are shown individually.
    package static let maxShownProblems = 10

    /// The errors for `status`, without those about credentials of destinations: these are shown with their destination
    /// and disappear once the credential is available.
    package var faults: [(text: String, kind: StoreFaultKind)] {
        let lasting = problems.filter { !$0.scope.isCredential }
        var faults = lasting.prefix(Self.maxShownProblems).map { problem in
            (text: "configuration error (\(explanation)): \(problem)", kind: kind(of: problem))
        }
        let others = lasting.dropFirst(Self.maxShownProblems)
        if !others.isEmpty {
            faults.append(
                (
                    text: "\(others.count) more configuration errors: see issued --check",
                    kind: others.allSatisfy { kind(of: $0) == .notifier } ? .notifier : .configuration
                ))
        }
        return faults
    }

    private func kind(of problem: ConfigurationProblem) -> StoreFaultKind {
        if case .notifier = problem.scope, !lacksDestinations { .notifier } else { .configuration }
    }

    /// The first error about each destination, by the destination's name.
    package var adviceByDestination: [String: String] {
        var advice: [String: String] = [:]
        for problem in problems {
            switch problem.scope {
            case .destination(let name), .credential(let name):
                if advice[name] == nil { advice[name] = "\(problem)" }
            case .everything, .section, .notifier: break
            }
        }
        return advice
    }

    /// The first error about each notifier, by the notifier's name.
    package var adviceByNotifier: [String: String] {
        var advice: [String: String] = [:]
        for problem in problems {
            if case .notifier(let name) = problem.scope, advice[name] == nil { advice[name] = "\(problem)" }
        }
        return advice
    }
}

/// A copy of the last valid configuration, used if the files have had errors since the daemon started.
///
/// The copy contains the values that `--print-config` prints, so it names credentials but does not contain them. It is
/// stored next to the database and in the state directory. If `[Store] Path=` can't be read, only the copy in the state
/// directory can be found.
package struct LastValidConfiguration: Sendable {
    package static let fileName = "issued.conf.last-valid"

    let source: ConfigurationSource
    let environment: HostEnvironment

    /// Reads the newest copy.
    ///
    /// - Parameter database: The path of the database according to the files, even if they have errors.
    /// - Returns: nil if there is no copy for these files, or if the newest one has an error on this host that may
    ///   affect more than one destination or notifier.
    package func read(nextTo database: String) -> Configuration? {
        let found = files(nextTo: database).compactMap { path in trusted(path).map { (path: path, file: $0) } }
        let newest = found.max { $0.file.status.modifiedNanoseconds < $1.file.status.modifiedNanoseconds }
        guard let newest else { return nil }
        var reader = ConfigurationReader(environment: environment, purpose: .running)
        let reading = reader.read(newest.file.content, from: newest.path)
        return reading.problems.contains { $0.scope.isGeneral } ? nil : reading.configuration
    }

    /// Stores a valid configuration. An identical copy is left unchanged.
    ///
    /// - Throws: The first error other than `noSuchFile`, after all folders have been tried.
    package func write(_ configuration: Configuration) throws(Errno) {
        let content = Array((header + configuration.text).utf8)
        var failure: Errno?
        for path in files(nextTo: configuration.store.path) where trusted(path)?.content != content {
            do throws(Errno) {
                try FileSystem.writeAtomically(content, to: path, mode: 0o600)
            } catch {
                // The state directory need not exist.
                if error != .noSuchFile { failure = failure ?? error }
            }
        }
        if let failure { throw failure }
    }

    private var header: String {
        """
        # The last valid configuration, written by issued. It is used while the files
        # have errors. Do not edit it; edit the files instead.
        # Files: \(source.path(in: environment))

        """
    }

    private func files(nextTo database: String) -> [String] {
        let folder = FileSystem.parentFolder(of: database)
        let folders = [folder] + [environment.stateFolder(for: source)].compactMap { $0 }.filter { $0 != folder }
        return folders.map { "\($0)/\(Self.fileName)" }
    }

    /// Returns the status and content of a copy; nil if it can't be read, is for other files, or may have been written
    /// by another user.
    private func trusted(_ path: String) -> (status: FileStatus, content: [UInt8])? {
        guard let file = try? FileDescriptor.open(path, [.noFollow, .nonBlocking]), let status = try? file.status(),
            status.kind == .regular, status.uid == environment.userID, status.mode & 0o022 == 0,
            let content = try? FileSystem.read(file, limit: ConfigurationFile.sizeLimit),
            content.starts(with: Array(header.utf8))
        else { return nil }
        return (status, content)
    }
}

extension HostEnvironment {
    /// Returns the database to use if the file of `--config` has errors and no valid `[Store] Path=`.
    ///
    /// The default database may belong to another daemon of the host. Returns nil for a service with a state directory
    /// and for the default files, because then the default database belongs to this daemon.
    fileprivate func separateStore(for source: ConfigurationSource) -> String? {
        guard source != .default, stateFolders.isEmpty else { return nil }
        return "\(defaultStoreFolder)/unknown-config/issues.db"
    }

    /// Returns the state directory of the service or, without one, the default folder of the database. If `--config`
    /// names a file, returns nil instead of the default folder, because a host may have several daemons that use
    /// `--config`.
    fileprivate func stateFolder(for source: ConfigurationSource) -> String? {
        if let folder = stateFolders.first { return folder }
        guard source == .default else { return nil }
        return defaultStoreFolder
    }

    /// The folder of the database of the default configuration.
    private var defaultStoreFolder: String {
        FileSystem.parentFolder(of: (isOrdinaryUser ? userConfiguration : .default).store.path)
    }
}
