import IssueCore

/// Makes typed values of the sections, and complains of what cannot be together.
struct ConfigurationBuilder {
    typealias Section = ConfigurationMerger.Section

    private(set) var configuration: Configuration
    private(set) var problems: [ConfigurationProblem] = []
    private let surroundings: Surroundings
    private let purpose: ConfigurationPurpose

    init(_ start: Configuration, surroundings: Surroundings, purpose: ConfigurationPurpose) {
        configuration = start
        self.surroundings = surroundings
        self.purpose = purpose
    }

    mutating func build(_ sections: [Section]) {
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
        problems += resolver.problems
        guard let destination else { return }
        checkName(destination.name, section)
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
        problems += resolver.problems
        guard let destination else { return }
        checkName(destination.name, section)
        configuration.ownStores.append(destination)
    }

    private mutating func checkName(_ name: String, _ section: Section) {
        let names = configuration.logzIO.map(\.name) + configuration.ownStores.map(\.name)
        guard names.contains(where: { $0.lowercased() == name.lowercased() }) else { return }
        problems.append(
            ConfigurationProblem(
                at: section.place, "There are two destinations “\(name)”; expected another name."))
    }

    private mutating func checkWhole(_ section: Section) {
        switch section.kind {
        case .socket: checkSocket(section)
        case .limits: checkLimits(configuration.limits, of: section)
        case .forward: checkForwarding(configuration.forward, of: section)
        case .store, .access, .log, .logzIO, .ownStore: break
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
            socket.maxConnectionsPerUser <= socket.maxConnections, "MaxConnectionsPerUser", "MaxConnections",
            of: section,
            "one user may have more connections (\(socket.maxConnectionsPerUser)) than all together "
                + "(\(socket.maxConnections))")
    }

    private mutating func checkLimits(_ limits: LimitSettings, of section: Section) {
        let reserved = limits.criticalReserve.percent + limits.summaryReserve.percent + limits.noveltyReserve.percent
        if reserved > 99 {
            let place =
                ["CriticalReserve", "SummaryReserve", "NoveltyReserve"].compactMap { section.place(of: $0) }.last
            problems.append(
                ConfigurationProblem(
                    at: place ?? section.place,
                    "The three reserves are \(reserved)% together; expected at most 99%, so that something is left."))
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
        problems.append(
            ConfigurationProblem(at: place, "\(key)= and \(other)= cannot be together: \(what). Change one of them."))
    }
}
