import Destinations
import IssueCore
import IssueProtocol
import UnixIO

/// Reads the configuration files of a source.
struct ConfigurationReader {
    let surroundings: HostEnvironment
    let purpose: ConfigurationPurpose
    private var merger = ConfigurationMerger()
    private var unreadable: [ConfigurationProblem] = []
    private var files: [String] = []

    init(surroundings: HostEnvironment, purpose: ConfigurationPurpose) {
        (self.surroundings, self.purpose) = (surroundings, purpose)
    }

    mutating func read(_ source: ConfigurationSource) -> ConfigurationReading {
        let path = source.path(in: surroundings)
        read(path, mayBeMissing: source == .default)
        readDropIns(of: path)
        let isOwn = source == .default && merger.files.isEmpty && surroundings.isOrdinaryUser
        return reading(from: isOwn ? surroundings.userConfiguration : .default)
    }

    /// Reads a text instead of the files.
    mutating func read(_ content: [UInt8], from path: String) -> ConfigurationReading {
        files.append(path)
        merger.merge(ConfigurationFile(path: path, content: content))
        return reading(from: .default)
    }

    private func reading(from start: Configuration) -> ConfigurationReading {
        var builder = ConfigurationBuilder(start, surroundings: surroundings, purpose: purpose)
        builder.build(merger.sections, faulty: Set(merger.problems.map(\.scope)))
        return ConfigurationReading(
            configuration: builder.configuration, problems: inOrder(unreadable + merger.problems + builder.problems),
            origins: ConfigurationOrigins(files: merger.files, sections: merger.sections.map(\.origins)),
            namesStore: merger.sections.contains { section in
                section.kind == .store && section.values["Path"] != nil && !section.wrongKeys.contains("Path")
            })
    }

    private mutating func read(_ path: String, mayBeMissing: Bool) {
        do throws(Errno) {
            let content = try FileSystem.read(path, limit: ConfigurationFile.sizeLimit)
            files.append(path)
            merger.merge(ConfigurationFile(path: path, content: content))
        } catch {
            if mayBeMissing, error == .noSuchFile || error == .notDirectory { return }
            files.append(path)
            complain(path, "The file can't be read: \(error).")
        }
    }

    private mutating func readDropIns(of path: String) {
        let folder = "\(path).d"
        do throws(Errno) {
            let names = try FileSystem.names(in: folder).filter { $0.hasSuffix(".conf") && !$0.hasPrefix(".") }
            // By bytes, so that the order does not depend on the locale.
            for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
                read("\(folder)/\(name)", mayBeMissing: false)
            }
        } catch {
            if error == .noSuchFile || error == .notDirectory { return }
            files.append(folder)
            complain(folder, "The folder can't be read: \(error).")
        }
    }

    private mutating func complain(_ file: String, _ message: String) {
        unreadable.append(ConfigurationProblem(at: ConfigurationLocation(file: file), message))
    }

    /// Sorts errors by the order in which files were read, and by line within a file.
    private func inOrder(_ problems: [ConfigurationProblem]) -> [ConfigurationProblem] {
        let keys = problems.enumerated().map { offset, problem in
            // The offset comes last because sorting is not guaranteed to be stable.
            (files.firstIndex(of: problem.location.file) ?? files.count, problem.location.line ?? 0, offset)
        }
        return keys.sorted(by: <).map { problems[$0.2] }
    }
}

/// Merges the sections of all files, and collects errors about unknown sections, unknown keys and invalid values.
struct ConfigurationMerger {
    struct Assigned {
        var text: String
        var location: ConfigurationLocation
    }

    struct Section {
        var kind: ConfigurationSection
        var name: String?
        /// Distinguishes sections of one application that are for different users.
        var user: String?
        var location: ConfigurationLocation
        /// The effective values: the last one, or all values of a list.
        var values: [String: [Assigned]] = [:]

        /// Keys with an invalid value. They must not be reported as missing, too.
        var wrongKeys: Set<String> = []
        /// `true` for a destination or notifier that one file defines twice. Errors that follow from it are not
        /// reported.
        var isDefinedTwice = false

        /// The scope of an error in this section.
        var scope: ConfigurationProblem.Scope {
            kind == .notify
                ? .notifier(targetName) : destinationName.map { .destination($0) } ?? .section(kind)
        }

        /// The name of the destination that the section configures, if any.
        var destinationName: String? {
            kind.destination.map { name ?? $0.name }
        }

        /// The name of the destination or notifier that the section configures.
        var targetName: String { destinationName ?? name ?? "webhook" }

        func location(of key: String) -> ConfigurationLocation? { values[key]?.last?.location }
    }

    private(set) var sections: [Section] = []
    private(set) var problems: [ConfigurationProblem] = []
    private(set) var files: [String] = []

    mutating func merge(_ file: ConfigurationFile) {
        files.append(file.path)
        // The index in `sections` of each section of this file; nil if the section is unknown.
        var indices: [Int?] = []
        defer {
            for (problem, section) in zip(file.problems, file.problemSections) {
                var problem = problem
                if let section, let index = indices[section] { problem.scope = sections[index].scope }
                problems.append(problem)
            }
        }
        // The keys that this file has set so far. Setting one twice is an error.
        var assignedKeys: Set<AssignedKey> = []
        for section in file.sections {
            let location = ConfigurationLocation(file: file.path, line: section.line)
            guard let kind = kind(of: section, at: location) else {
                indices.append(nil)
                continue
            }
            let user = kind == .limits ? section.assignments.last { $0.key == "User" && !$0.value.isEmpty }?.value : nil
            let index = index(of: kind, name: section.name, user: user, at: location)
            indices.append(index)
            if kind.isTarget, !assignedKeys.insert(AssignedKey(section: index)).inserted {
                sections[index].isDefinedTwice = true
                complain(
                    location,
                    "\(kind.isDestination ? "Destination" : "Notifier") \(section.title) is defined twice; "
                        + "give this one another name.",
                    scope: sections[index].scope)
            }
            for assignment in section.assignments {
                assign(assignment, of: index, in: file.path, assignedKeys: &assignedKeys)
            }
        }
    }

    private struct AssignedKey: Hashable {
        var section: Int
        var key: String?
    }

    private mutating func assign(
        _ assignment: ConfigurationFile.Assignment, of index: Int, in file: String, assignedKeys: inout Set<AssignedKey>
    ) {
        let section = sections[index]
        let location = ConfigurationLocation(file: file, line: assignment.line)
        guard let key = section.keys.first(where: { $0.name == assignment.key }) else {
            return complain(location, UnknownKeyMessage.message(for: assignment.key, in: section), scope: section.scope)
        }
        guard !assignment.value.isEmpty else {
            // An empty value resets the key to its default.
            sections[index].values[key.name] = nil
            assignedKeys.remove(AssignedKey(section: index, key: key.name))
            return
        }
        guard key.accepts(assignment.value) else {
            sections[index].wrongKeys.insert(key.name)
            let value = key.isRepeated ? assignment.value.truncatedForLog : "…"
            let hasComment = assignment.value.split(whereSeparator: \.isBlank).contains { $0.hasPrefix("#") }
            return complain(
                location,
                "Invalid \(key.name)=\(value); expected \(key.expected)."
                    + (hasComment ? " A comment must be on a line of its own." : ""), scope: section.scope)
        }
        let assigned = Assigned(text: assignment.value, location: location)
        if key.isList {
            sections[index].values[key.name, default: []].append(assigned)
        } else {
            let isNew = assignedKeys.insert(AssignedKey(section: index, key: key.name)).inserted
            if !isNew, !section.isDefinedTwice {
                complain(
                    location, "\(key.name)= is set twice; expected it once.",
                    scope: section.scope)
            }
            sections[index].values[key.name] = [assigned]
        }
    }

    private mutating func kind(
        of section: ConfigurationFile.Section, at location: ConfigurationLocation
    ) -> ConfigurationSection? {
        guard let kind = ConfigurationSection.named(section.kind) else {
            if ConfigurationSection.planned.contains(section.kind) {
                complain(location, "This version does not support [\(section.kind)] yet; remove the section.")
            } else {
                let names = ConfigurationSection.all.map(\.name)
                let nearest = NearestName.find(section.kind, among: names)
                let suggestion = nearest.map { " Did you mean [\($0)]?" } ?? ""
                complain(
                    location,
                    "Unknown section [\(section.kind.truncatedForLog)]; "
                        + "expected one of \(names.joined(separator: ", ")).\(suggestion)")
            }
            return nil
        }
        guard let name = section.name else { return kind }
        guard kind.allowsName else {
            complain(location, "Section [\(kind.name)] takes no name; expected [\(kind.name)].")
            return nil
        }
        if kind.isTarget, ValueForm.name().parse(name) == nil {
            complain(
                location,
                "Invalid \(kind.isDestination ? "destination" : "notifier") name “\(name.truncatedForLog)”; "
                    + "expected at most 64 letters, digits, “_”, “-” and “.”.")
            return nil
        }
        return kind
    }

    private mutating func index(
        of kind: ConfigurationSection, name: String?, user: String?, at location: ConfigurationLocation
    ) -> Int {
        if let index = sections.firstIndex(where: { $0.kind == kind && $0.name == name && $0.user == user }) {
            return index
        }
        sections.append(Section(kind: kind, name: name, user: user, location: location))
        return sections.count - 1
    }

    private mutating func complain(
        _ location: ConfigurationLocation, _ message: String, scope: ConfigurationProblem.Scope = .everything
    ) {
        problems.append(ConfigurationProblem(at: location, message, scope: scope))
    }
}

extension ConfigurationMerger.Section {
    var keys: [KeyMetadata] { kind.keys(named: name != nil) }
    var title: String { "[\(kind.name)\(name.map { " " + $0 } ?? "")]" }

    /// Returns an error at the line of a key, or at the header of the section if the key is nil or not set.
    ///
    /// - Parameter scope: The scope of the error; nil for that of the section.
    func problem(
        _ key: String?, _ message: String, scope: ConfigurationProblem.Scope? = nil
    ) -> ConfigurationProblem {
        ConfigurationProblem(at: key.flatMap { location(of: $0) } ?? location, message, scope: scope ?? self.scope)
    }
}

extension ConfigurationFile.Section {
    var title: String { "[\(kind)\(name.map { " " + $0 } ?? "")]" }
}

extension String {
    /// The text, shortened to fit into one log line.
    var truncatedForLog: String {
        count > 80 ? prefix(80) + "…" : self
    }
}

/// Creates the typed configuration from the merged sections, and checks values that depend on each other.
struct ConfigurationBuilder {
    typealias Section = ConfigurationMerger.Section

    private(set) var configuration: Configuration
    private(set) var problems: [ConfigurationProblem] = []
    private let surroundings: HostEnvironment
    private let purpose: ConfigurationPurpose
    /// The scopes affected by errors, before and in this pass.
    private var faulty: Set<ConfigurationProblem.Scope> = []

    init(_ start: Configuration, surroundings: HostEnvironment, purpose: ConfigurationPurpose) {
        (configuration, self.surroundings, self.purpose) = (start, surroundings, purpose)
    }

    /// Adds the values of the sections to the configuration.
    ///
    /// - Parameter faulty: The scopes affected by errors that were found before.
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
        // Destinations come last because they inherit the general limits.
        for section in sections {
            if let kind = section.kind.destination { buildDestination(kind, section) }
        }
        for section in sections where section.kind == .notify { buildNotifier(section) }
    }

    private mutating func buildNotifier(_ section: Section) {
        var settings = NotifierSettings()
        Self.assign(section, to: &settings, by: ConfigurationTable.notifier)
        var resolver = NotifierResolver(section: section, surroundings: surroundings, purpose: purpose)
        let notifier = resolver.resolve(settings)
        if !section.isDefinedTwice { problems += resolver.problems }
        faulty.formUnion(resolver.problems.map(\.scope))
        let name = section.targetName
        guard !configuration.notifiers.contains(where: { $0.name == name }),
            !configuration.misconfiguredNotifiers.contains(name)
        else {
            return complain(
                section.location, "Two notifiers are named “\(name)”; this one is ignored. Rename one of them.",
                section)
        }
        if let notifier, !faulty.contains(section.scope) {
            configuration.notifiers.append(notifier)
        } else {
            configuration.misconfiguredNotifiers.append(name)
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

        var resolver = DestinationResolver(kind: kind, section: section, surroundings: surroundings, purpose: purpose)
        let destination = resolver.resolve(settings)
        if !section.isDefinedTwice { problems += resolver.problems }
        faulty.formUnion(resolver.problems.map(\.scope))
        guard let name = section.destinationName, checkName(name, section) else { return }
        if let destination, !faulty.contains(section.scope) {
            configuration.destinations.append(destination)
        } else {
            configuration.misconfigured.append(
                MisconfiguredDestination(name: name, kind: kind.name, backlog: settings.backlog))
        }
    }

    /// Returns whether the name of a destination is unique.
    ///
    /// If two destinations have the same name, neither is used, because it is unknown which of them the records are
    /// meant for.
    private mutating func checkName(_ name: String, _ section: Section) -> Bool {
        func isSame(_ other: String) -> Bool { other.lowercased() == name.lowercased() }
        let clashing = configuration.destinations.filter { isSame($0.name) }.map {
            MisconfiguredDestination(name: $0.name, kind: $0.kind.name, backlog: $0.settings.backlog)
        }
        guard !clashing.isEmpty || configuration.misconfigured.contains(where: { isSame($0.name) }) else { return true }
        configuration.destinations.removeAll { isSame($0.name) }
        configuration.misconfigured += clashing
        complain(section.location, "Two destinations are named “\(name)”; rename one of them.", section)
        return false
    }

    private mutating func complain(_ location: ConfigurationLocation, _ message: String, _ section: Section) {
        problems.append(ConfigurationProblem(at: location, message, scope: section.scope))
        faulty.insert(section.scope)
    }

    private mutating func checkWhole(_ section: Section) {
        switch section.kind {
        case .socket: checkSocket(section)
        case .limits: checkLimits(configuration.limits, of: section)
        case .forward: checkForwarding(configuration.forward, of: section)
        case .store: if purpose == .looking { checkStore(section) }
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

    /// Checks that the database can be created at `Path=`.
    ///
    /// The daemon itself skips this: if it fails to open the database, it retries.
    private mutating func checkStore(_ section: Section) {
        guard let location = section.location(of: "Path") else { return }
        let path = configuration.store.path
        if let status = try? FileSystem.status(of: path), status.kind != .regular {
            return complain(
                location,
                "Path=\(path.truncatedForLog) is \(status.kind == .directory ? "a folder" : "not a regular file"); "
                    + "expected a file in a folder that belongs to the daemon.", section)
        }
        // systemd creates the state directory and makes the daemon its owner.
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
                location,
                "Path=\(path.truncatedForLog) can't be created: the folder \(folder) is not writable (\(error)).",
                section)
        }
    }

    private mutating func checkLimits(_ limits: LimitSettings, of section: Section) {
        let reserved = limits.criticalReserve.percent + limits.summaryReserve.percent + limits.noveltyReserve.percent
        if reserved > 99 {
            let keys = ["CriticalReserve", "SummaryReserve", "NoveltyReserve"]
            complain(
                keys.compactMap { section.location(of: $0) }.last ?? section.location,
                "The three reserves add up to \(reserved)%; expected at most 99%, so that something is left.", section)
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

    /// Reports two values that contradict each other, if this section sets at least one of them. Otherwise the error
    /// was reported for another section.
    private mutating func check(
        _ holds: Bool, _ key: String, _ other: String, of section: Section, _ what: String
    ) {
        guard !holds, let location = section.location(of: key) ?? section.location(of: other) else { return }
        complain(location, "\(key)= and \(other)= contradict each other: \(what). Change one of them.", section)
        reset([key, other], of: section)
    }

    /// Resets keys that contradict each other to their defaults.
    private mutating func reset(_ keys: [String], of section: Section) {
        guard section.name == nil else { return }
        for key in section.kind.topLevelKeys where keys.contains(key.name) {
            key.assign(&configuration, key.metadata.defaultText)
        }
    }
}

/// The purpose for which a configuration is read.
package enum ConfigurationPurpose: Hashable, Sendable {
    /// For the daemon. Everything that it needs must be present.
    case running
    /// For `--check` and `--print-config`, outside the service. A credential that only the service can see is not an
    /// error.
    case looking
}

/// The files that are read.
package enum ConfigurationSource: Hashable, Sendable {
    /// `/etc/issued/issued.conf` and its drop-ins. An ordinary user without these files gets a configuration with paths
    /// of their own.
    case `default`
    /// That file and the drop-ins in `FILE.d/`, and no others.
    case file(String)

    /// The path of the main file.
    func path(in surroundings: HostEnvironment) -> String {
        switch self {
        case .default: surroundings.systemFile
        case .file(let path): path
        }
    }
}

/// The error messages for keys that their section does not have.
enum UnknownKeyMessage {
    static func message(for key: String, in section: ConfigurationMerger.Section) -> String {
        if key.lowercased().hasSuffix("token") {
            return "A token must not be in this file, which other users can read. Write it to a file that only "
                + "the daemon's user can read, or to /etc/credstore/logzio-token, and set Credential= to its name."
        }
        let beginning = "\(section.title) has no key \(key.truncatedForLog)="
        if section.kind.isDestination, ConfigurationTable.guards.contains(where: { $0.name == key }) {
            return "\(beginning) because it applies to all received records; expected it in [Limits]."
        }
        let others = ConfigurationSection.all.flatMap { other in
            [false, true].compactMap { isNamed -> String? in
                guard other != section.kind || isNamed != (section.name != nil), !isNamed || other == .limits,
                    other.keys(named: isNamed).contains(where: { $0.name == key })
                else { return nil }
                return isNamed ? "[\(other.name) NAME]" : "[\(other.name)]"
            }
        }
        // A key that destinations can override is listed first with its general section.
        let isShared = others.first.map { first in
            ConfigurationSection.all.contains { !$0.isDestination && "[\($0.name)]" == first }
        }
        if let first = others.first {
            return "\(beginning); expected it in \(isShared == true ? first : others.joined(separator: " or "))."
        }
        let names = section.keys.map(\.name)
        if let nearest = NearestName.find(key, among: names) { return "\(beginning). Did you mean \(nearest)=?" }
        return "\(beginning); expected one of \(names.joined(separator: ", "))."
    }
}
