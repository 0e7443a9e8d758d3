import IssueCore
import LogzShipping
import UnixIO

/// Makes typed values of the sections, and complains of what cannot be together.
struct ConfigurationBuilder {
    typealias Section = ConfigurationMerger.Section

    private(set) var configuration: Configuration
    private(set) var problems: [ConfigurationProblem] = []
    private let surroundings: Surroundings
    private let purpose: ConfigurationPurpose
    /// The scopes affected by errors, before and in this pass.
    private var faulty: Set<ConfigurationProblem.Scope> = []

    init(_ start: Configuration, surroundings: Surroundings, purpose: ConfigurationPurpose) {
        configuration = start
        self.surroundings = surroundings
        self.purpose = purpose
    }

    /// - Parameter faulty: The scopes affected by errors that were found before.
    mutating func build(_ sections: [Section], faulty: Set<ConfigurationProblem.Scope> = []) {
        self.faulty = faulty
        for section in sections where section.name == nil {
            Self.assign(section, to: &configuration, by: section.kind.wholeKeys)
            checkWhole(section)
        }
        for section in sections where section.kind == .limits {
            guard let name = section.name else { continue }
            var override = ApplicationLimitOverride(name: name)
            Self.assign(section, to: &override, by: ConfigurationTable.application)
            configuration.limits.overrides.append(override)
        }
        // Last, since a destination starts from what holds for all.
        for section in sections where section.kind == .logzIO { buildDestination(section) }
        for section in sections {
            if let kind = section.kind.ownStore { buildOwnStore(kind, section) }
        }
    }

    private static func assign<Root>(_ section: Section, to root: inout Root, by keys: [ConfigurationKey<Root>]) {
        for key in keys {
            for value in section.values[key.name] ?? [] { key.assign(&root, value.text) }
        }
    }

    private mutating func buildDestination(_ section: Section) {
        var settings = LogzIOSettings(limits: configuration.limits, forward: configuration.forward)
        Self.assign(section, to: &settings, by: ConfigurationTable.destination)
        checkLimits(settings.limits, of: section)
        checkForwarding(settings.forward, of: section)

        var resolver = DestinationResolver(section: section, surroundings: surroundings, purpose: purpose)
        let destination = resolver.resolve(settings)
        complain(resolver.problems)
        guard checkName(section) else { return }
        guard let destination, !faulty.contains(section.scope) else {
            return addMisconfigured(section, kind: LogzFormat.kind, settings.backlog)
        }
        configuration.logzIO.append(destination)
    }

    private mutating func buildOwnStore(_ kind: OwnStoreKind, _ section: Section) {
        var settings = OwnStoreSettings(kind, configuration.forward)
        settings.limits.overrides = configuration.limits.overrides
        Self.assign(section, to: &settings, by: ConfigurationTable.ownStoreDestination(kind))
        checkLimits(settings.limits, of: section)
        checkForwarding(settings.forward, of: section)

        var resolver = DestinationResolver(section: section, surroundings: surroundings, purpose: purpose)
        let destination = resolver.resolve(settings, kind)
        complain(resolver.problems)
        guard checkName(section) else { return }
        guard let destination, !faulty.contains(section.scope) else {
            return addMisconfigured(section, kind: kind.word, settings.backlog)
        }
        configuration.ownStores.append(destination)
    }

    private mutating func addMisconfigured(_ section: Section, kind: String, _ backlog: Backlog) {
        guard let name = section.destinationName else { return }
        configuration.misconfigured.append(MisconfiguredDestination(name: name, kind: kind, backlog: backlog))
    }

    /// Returns whether the name of a destination is free.
    ///
    /// Of two with the same name, neither can be used: it is not known which
    /// of them the records are meant for.
    private mutating func checkName(_ section: Section) -> Bool {
        guard let name = section.destinationName else { return true }
        func isSame(_ other: String) -> Bool { other.lowercased() == name.lowercased() }
        let clashing =
            configuration.logzIO.filter { isSame($0.name) }.map {
                MisconfiguredDestination(name: $0.name, kind: LogzFormat.kind, backlog: $0.settings.backlog)
            }
            + configuration.ownStores.filter { isSame($0.name) }.map {
                MisconfiguredDestination(name: $0.name, kind: $0.kind.word, backlog: $0.settings.backlog)
            }
        guard !clashing.isEmpty || configuration.misconfigured.contains(where: { isSame($0.name) }) else { return true }
        configuration.logzIO.removeAll { isSame($0.name) }
        configuration.ownStores.removeAll { isSame($0.name) }
        configuration.misconfigured += clashing
        complain([
            ConfigurationProblem(
                at: section.place, "There are two destinations “\(name)”; expected another name.", scope: section.scope)
        ])
        return false
    }

    private mutating func complain(_ found: [ConfigurationProblem]) {
        problems += found
        faulty.formUnion(found.map(\.scope))
    }

    private mutating func checkWhole(_ section: Section) {
        switch section.kind {
        case .socket: checkSocket(section)
        case .limits: checkLimits(configuration.limits, of: section)
        case .forward: checkForwarding(configuration.forward, of: section)
        case .store: if purpose == .looking { checkStore(section) }
        case .access, .log, .logzIO, .ownStore: break
        }
    }

    private mutating func checkSocket(_ section: Section) {
        let socket = configuration.socket
        let size = { (bytes: Int) in SizeText.text(Int64(bytes)) }
        check(
            socket.maxRecordSize <= socket.maxMessageSize, "MaxRecordSize", "MaxMessageSize", of: section,
            "a record (\(size(socket.maxRecordSize))) is larger than the call it comes in "
                + "(\(size(socket.maxMessageSize)))")
        check(
            socket.maxMessageSize <= socket.maxBytesInFlightPerUser, "MaxMessageSize", "MaxBytesInFlightPerUser",
            of: section,
            "one call (\(size(socket.maxMessageSize))) is more than a user may have in flight "
                + "(\(size(socket.maxBytesInFlightPerUser)))")
        check(
            socket.maxMessageSize <= socket.maxMemory / 4, "MaxMessageSize", "MaxMemory", of: section,
            "one call (\(size(socket.maxMessageSize))) is more than a quarter of the memory for all senders "
                + "(\(size(socket.maxMemory)))")
        check(
            socket.maxConnectionsPerUser <= socket.maxConnections, "MaxConnectionsPerUser", "MaxConnections",
            of: section,
            "one user may have more connections (\(socket.maxConnectionsPerUser)) than all together "
                + "(\(socket.maxConnections))")
    }

    /// Checks that the database can lie where `Path=` says.
    ///
    /// Not when the daemon runs: then opening it fails, and is tried again.
    private mutating func checkStore(_ section: Section) {
        guard let place = section.place(of: "Path") else { return }
        let path = configuration.store.path
        func complain(_ sentence: String) {
            self.complain([ConfigurationProblem(at: place, sentence, scope: section.scope)])
        }
        if let status = try? FileSystem.status(of: path), status.kind != .regular {
            return complain(
                "Path=\(path.shownInComplaint) is \(status.kind == .directory ? "a folder" : "no regular file"); "
                    + "expected a file in a folder of the daemon's own.")
        }
        // systemd makes the state directory and gives it to the daemon.
        let state = surroundings.folder("STATE_DIRECTORY") ?? ServiceUnit.stateFolder
        var folder = FileSystem.parentFolder(of: path)
        guard folder != state, !folder.hasPrefix(state + "/") else { return }
        while folder != "/", (try? FileSystem.status(of: folder)) == nil {
            folder = FileSystem.parentFolder(of: folder)
        }
        do throws(Errno) {
            try FileSystem.checkWritable(folder: folder)
        } catch {
            complain(
                "Path=\(path.shownInComplaint) can't be made: the folder \(folder) can't be written to (\(error)).")
        }
    }

    private mutating func checkLimits(_ limits: LimitSettings, of section: Section) {
        let reserved = limits.criticalReserve.percent + limits.summaryReserve.percent + limits.noveltyReserve.percent
        if reserved > 99 {
            let place =
                ["CriticalReserve", "SummaryReserve", "NoveltyReserve"].compactMap { section.place(of: $0) }.last
            complain([
                ConfigurationProblem(
                    at: place ?? section.place,
                    "The three reserves are \(reserved)% together; expected at most 99%, so that something is left.",
                    scope: section.scope)
            ])
            reset(["CriticalReserve", "SummaryReserve", "NoveltyReserve"], of: section)
        }
        check(
            limits.summaryInterval <= limits.summaryIntervalMax, "SummaryInterval", "SummaryIntervalMax", of: section,
            "the first time (\(DurationText.text(limits.summaryInterval))) is longer than the longest "
                + "(\(DurationText.text(limits.summaryIntervalMax)))")
    }

    private mutating func checkForwarding(_ forward: ForwardSettings, of section: Section) {
        check(
            forward.connectTimeout <= forward.requestTimeout, "ConnectTimeout", "RequestTimeout", of: section,
            "the time for a connection (\(DurationText.text(forward.connectTimeout))) is longer than the one for a "
                + "whole request (\(DurationText.text(forward.requestTimeout)))")
    }

    /// Only where the section has said one of the two: else another one has
    /// been complained of already.
    private mutating func check(
        _ holds: Bool, _ key: String, _ other: String, of section: Section, _ what: String
    ) {
        guard !holds, let place = section.place(of: key) ?? section.place(of: other) else { return }
        complain([
            ConfigurationProblem(
                at: place, "\(key)= and \(other)= cannot be together: \(what). Change one of them.",
                scope: section.scope)
        ])
        reset([key, other], of: section)
    }

    /// Gives keys that contradict each other their defaults.
    private mutating func reset(_ keys: [String], of section: Section) {
        guard section.name == nil else { return }
        for key in section.kind.wholeKeys where keys.contains(key.name) {
            key.assign(&configuration, key.facts.defaultText)
        }
    }
}
