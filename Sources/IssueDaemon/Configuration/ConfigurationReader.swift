import Destinations
import IssueCore
import UnixIO

/// Reads the files that a source stands for.
struct ConfigurationReader {
    let surroundings: HostEnvironment
    let purpose: ConfigurationPurpose
    private var merger = ConfigurationMerger()
    private var unreadable: [ConfigurationProblem] = []
    private var files: [String] = []

    init(surroundings: HostEnvironment, purpose: ConfigurationPurpose) {
        self.surroundings = surroundings
        self.purpose = purpose
    }

    mutating func read(_ source: ConfigurationSource) -> ConfigurationReading {
        switch source {
        case .usual:
            take(surroundings.systemFile, mayBeMissing: true)
            takeDropIns(of: surroundings.systemFile)
        case .file(let path):
            take(path, mayBeMissing: false)
            takeDropIns(of: path)
        }
        let isOwn = source == .usual && merger.files.isEmpty && surroundings.isOrdinaryUser
        var builder = ConfigurationBuilder(
            isOwn ? surroundings.userConfiguration : .default, surroundings: surroundings, purpose: purpose)
        builder.build(merger.sections, faulty: Set(merger.problems.map(\.scope)))
        return ConfigurationReading(
            configuration: builder.configuration, problems: inOrder(unreadable + merger.problems + builder.problems))
    }

    /// Reads one text instead of the files.
    mutating func read(_ content: [UInt8], from path: String) -> ConfigurationReading {
        files.append(path)
        merger.take(ConfigurationFile(path: path, content: content))
        var builder = ConfigurationBuilder(.default, surroundings: surroundings, purpose: purpose)
        builder.build(merger.sections, faulty: Set(merger.problems.map(\.scope)))
        return ConfigurationReading(
            configuration: builder.configuration, problems: inOrder(merger.problems + builder.problems))
    }

    private mutating func take(_ path: String, mayBeMissing: Bool) {
        do throws(Errno) {
            let content = try FileSystem.read(path, limit: ConfigurationFile.sizeLimit)
            files.append(path)
            merger.take(ConfigurationFile(path: path, content: content))
        } catch {
            if mayBeMissing, error == .noSuchFile || error == .notDirectory { return }
            files.append(path)
            complain(path, "The file cannot be read: \(error).")
        }
    }

    private mutating func takeDropIns(of path: String) {
        let folder = "\(path).d"
        do throws(Errno) {
            let names = try FileSystem.names(in: folder).filter { $0.hasSuffix(".conf") && !$0.hasPrefix(".") }
            // By bytes, whatever the language of the host.
            for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
                take("\(folder)/\(name)", mayBeMissing: false)
            }
        } catch {
            if error == .noSuchFile || error == .notDirectory { return }
            files.append(folder)
            complain(folder, "The folder cannot be read: \(error).")
        }
    }

    private mutating func complain(_ file: String, _ message: String) {
        unreadable.append(ConfigurationProblem(at: ConfigurationLocation(file: file), message))
    }

    /// File by file as they were read, and from top to bottom in each.
    private func inOrder(_ problems: [ConfigurationProblem]) -> [ConfigurationProblem] {
        let keys = problems.enumerated().map { offset, problem in
            // The offset last, since sorting does not promise to keep the order
            // of equals.
            (files.firstIndex(of: problem.place.file) ?? files.count, problem.place.line ?? 0, offset)
        }
        return keys.sorted(by: <).map { problems[$0.2] }
    }
}

/// Lays the files over each other, and complains of what no section and no key allows.
struct ConfigurationMerger {
    struct Assigned {
        var text: String
        var place: ConfigurationLocation
    }

    struct Section {
        var kind: ConfigurationSection
        var name: String?
        /// Tells two sections of one application apart that are for different users.
        var user: String?
        var place: ConfigurationLocation
        /// What holds: the last value, or all values of a list.
        var values: [String: [Assigned]] = [:]

        /// Keys whose value was complained of, so that it need not be missed too.
        var wrongKeys: Set<String> = []

        /// The scope of an error in this section.
        var scope: ConfigurationProblem.Scope {
            destinationName.map { .destination($0) } ?? .section(kind)
        }

        /// The name of the destination that the section configures, if any.
        var destinationName: String? {
            switch kind {
            case .logzIO: name ?? LogzIODestination.defaultName
            case .ownStore(let kind): name ?? kind.word
            case .socket, .store, .access, .limits, .forward, .log: nil
            }
        }

        func place(of key: String) -> ConfigurationLocation? { values[key]?.last?.place }
    }

    private(set) var sections: [Section] = []
    private(set) var problems: [ConfigurationProblem] = []
    private(set) var files: [String] = []

    mutating func take(_ file: ConfigurationFile) {
        files.append(file.path)
        // The section of this file at each index, where there is one.
        var indices: [Int?] = []
        defer {
            for (problem, section) in zip(file.problems, file.problemSections) {
                var problem = problem
                if let section, let index = indices[section] { problem.scope = sections[index].scope }
                problems.append(problem)
            }
        }
        // What this file has said already: a second time is a mistake.
        var said: Set<Said> = []
        for section in file.sections {
            let place = ConfigurationLocation(file: file.path, line: section.line)
            guard let kind = kind(of: section, at: place) else {
                indices.append(nil)
                continue
            }
            let user = kind == .limits ? section.assignments.last { $0.key == "User" && !$0.value.isEmpty }?.value : nil
            let index = index(of: kind, name: section.name, user: user, at: place)
            indices.append(index)
            if kind.isDestination, !said.insert(Said(section: index)).inserted {
                complain(
                    place, "The destination \(section.title) is there twice; expected another name for this one.",
                    scope: sections[index].scope)
            }
            for assignment in section.assignments {
                take(assignment, of: index, in: file.path, said: &said)
            }
        }
    }

    private struct Said: Hashable {
        var section: Int
        var key: String?
    }

    private mutating func take(
        _ assignment: ConfigurationFile.Assignment, of index: Int, in file: String, said: inout Set<Said>
    ) {
        let section = sections[index]
        let place = ConfigurationLocation(file: file, line: assignment.line)
        guard let key = section.keys.first(where: { $0.name == assignment.key }) else {
            return complain(place, UnknownKey.message(for: assignment.key, in: section), scope: section.scope)
        }
        guard !assignment.value.isEmpty else {
            // From here on it is as if the key had never been said.
            sections[index].values[key.name] = nil
            said.remove(Said(section: index, key: key.name))
            return
        }
        guard key.accepts(assignment.value) else {
            sections[index].wrongKeys.insert(key.name)
            let value = key.isRepeated ? assignment.value.shownInComplaint : "…"
            return complain(
                place, "\(key.name)=\(value) cannot be; expected \(key.expected).", scope: section.scope)
        }
        let assigned = Assigned(text: assignment.value, place: place)
        if key.isList {
            sections[index].values[key.name, default: []].append(assigned)
        } else {
            if !said.insert(Said(section: index, key: key.name)).inserted {
                complain(
                    place, "\(key.name)= is there twice; expected it once, since it is no list.",
                    scope: section.scope)
            }
            sections[index].values[key.name] = [assigned]
        }
    }

    private mutating func kind(
        of section: ConfigurationFile.Section, at place: ConfigurationLocation
    ) -> ConfigurationSection? {
        guard let kind = ConfigurationSection.named(section.kind) else {
            if ConfigurationSection.planned.contains(section.kind) {
                complain(place, "This version does not have [\(section.kind)] yet; remove the section.")
            } else {
                let names = ConfigurationSection.all.map(\.name)
                let nearest = NearestName.to(section.kind, among: names)
                let question = nearest.map { " Did you mean [\($0)]?" } ?? ""
                complain(
                    place,
                    "There is no section [\(section.kind.shownInComplaint)]; "
                        + "expected one of \(names.joined(separator: ", ")).\(question)")
            }
            return nil
        }
        guard let name = section.name else { return kind }
        guard kind.mayHaveName else {
            complain(place, "The section [\(kind.name)] has no name; expected [\(kind.name)].")
            return nil
        }
        if kind.isDestination, ValueForm<String>.name("").parse(name) == nil {
            complain(
                place,
                "A destination cannot have the name “\(name.shownInComplaint)”; "
                    + "expected at most 64 letters, digits, “_”, “-” and “.”.")
            return nil
        }
        return kind
    }

    private mutating func index(
        of kind: ConfigurationSection, name: String?, user: String?, at place: ConfigurationLocation
    ) -> Int {
        if let index = sections.firstIndex(where: { $0.kind == kind && $0.name == name && $0.user == user }) {
            return index
        }
        sections.append(Section(kind: kind, name: name, user: user, place: place))
        return sections.count - 1
    }

    private mutating func complain(
        _ place: ConfigurationLocation, _ message: String, scope: ConfigurationProblem.Scope = .everything
    ) {
        problems.append(ConfigurationProblem(at: place, message, scope: scope))
    }
}

extension ConfigurationMerger.Section {
    var keys: [KeyMetadata] { kind.keys(named: name != nil) }
    var title: String { "[\(kind.name)\(name.map { " " + $0 } ?? "")]" }
}

extension ConfigurationFile.Section {
    var title: String { "[\(kind)\(name.map { " " + $0 } ?? "")]" }
}

extension String {
    /// Short enough for one line of a log.
    var shownInComplaint: String {
        count > 80 ? prefix(80) + "…" : self
    }
}

/// Makes typed values of the sections, and complains of what cannot be together.
struct ConfigurationBuilder {
    typealias Section = ConfigurationMerger.Section

    private(set) var configuration: Configuration
    private(set) var problems: [ConfigurationProblem] = []
    private let surroundings: HostEnvironment
    private let purpose: ConfigurationPurpose
    /// The scopes affected by errors, before and in this pass.
    private var faulty: Set<ConfigurationProblem.Scope> = []

    init(_ start: Configuration, surroundings: HostEnvironment, purpose: ConfigurationPurpose) {
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

    private mutating func buildOwnStore(_ kind: SelfHostedKind, _ section: Section) {
        var settings = SelfHostedSettings(kind, configuration.forward)
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
        func complain(_ message: String) {
            self.complain([ConfigurationProblem(at: place, message, scope: section.scope)])
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

/// What a configuration is read for.
package enum ConfigurationPurpose: Hashable, Sendable {
    /// To go by it: all that it needs must be there.
    case running
    /// To be looked at by hand, outside the service: a credential that only
    /// the service sees is no mistake.
    case looking
}

/// Which files are read.
package enum ConfigurationSource: Hashable, Sendable {
    /// `/etc/issued/issued.conf` and its drop-ins, or nothing where an ordinary
    /// user has none.
    case usual
    /// That file alone, and the drop-ins in `FILE.d/`.
    case file(String)
}

/// What to say of a key that its section does not have.
enum UnknownKey {
    static func message(for key: String, in section: ConfigurationMerger.Section) -> String {
        if key.lowercased().hasSuffix("token") {
            return "A token does not belong into this file, which too many can read. Write it into a file that only "
                + "the daemon's user can read, or into /etc/credstore/logzio-token, and name that by Credential=."
        }
        let beginning = "\(section.title) has no key \(key.shownInComplaint)="
        if section.kind.isDestination, ConfigurationTable.guards.contains(where: { $0.name == key }) {
            return "\(beginning), since it holds for all that comes in; expected it in [Limits]."
        }
        let others = ConfigurationSection.all.flatMap { other in
            [false, true].compactMap { isNamed -> String? in
                guard other != section.kind || isNamed != (section.name != nil), !isNamed || other == .limits,
                    other.keys(named: isNamed).contains(where: { $0.name == key })
                else { return nil }
                return isNamed ? "[\(other.name) NAME]" : "[\(other.name)]"
            }
        }
        // What destinations may say of their own stands first where it holds for all.
        let isShared = others.first.map { first in
            ConfigurationSection.all.contains { !$0.isDestination && "[\($0.name)]" == first }
        }
        if let first = others.first {
            return "\(beginning); expected it in \(isShared == true ? first : others.joined(separator: " or "))."
        }
        let names = section.keys.map(\.name)
        if let nearest = NearestName.to(key, among: names) { return "\(beginning). Did you mean \(nearest)=?" }
        return "\(beginning); expected one of \(names.joined(separator: ", "))."
    }
}
