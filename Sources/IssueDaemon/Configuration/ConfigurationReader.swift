import Destinations
import IssueCore
import IssueProtocol
import UnixIO

/// Reads the configuration files of a source.
struct ConfigurationReader {
    let environment: HostEnvironment
    let purpose: ConfigurationPurpose
    private var merger = ConfigurationMerger()
    private var unreadable: [ConfigurationProblem] = []
    private var files: [String] = []

    init(environment: HostEnvironment, purpose: ConfigurationPurpose) {
        (self.environment, self.purpose) = (environment, purpose)
    }

    mutating func read(_ source: ConfigurationSource) -> ConfigurationReading {
        let path = source.path(in: environment)
        read(path, mayBeMissing: source == .default)
        readDropIns(of: path)
        let isOwn = source == .default && merger.files.isEmpty && environment.isOrdinaryUser
        return reading(from: isOwn ? environment.userConfiguration : .default)
    }

    /// Reads a text instead of the files.
    mutating func read(_ content: [UInt8], from path: String) -> ConfigurationReading {
        files.append(path)
        merger.merge(ConfigurationFile(path: path, content: content))
        return reading(from: .default)
    }

    private func reading(from start: Configuration) -> ConfigurationReading {
        var builder = ConfigurationBuilder(start, environment: environment, purpose: purpose)
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
            addProblem(path, "The file can't be read: \(error).")
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
            addProblem(folder, "The folder can't be read: \(error).")
        }
    }

    private mutating func addProblem(_ file: String, _ message: String) {
        unreadable.append(ConfigurationProblem(at: ConfigurationLocation(file: file), message))
    }

    /// Sorts errors by the order in which files were read, and by line within a file.
    private func inOrder(_ problems: [ConfigurationProblem]) -> [ConfigurationProblem] {
        let keys = problems.enumerated().map { offset, problem in
            // The offset keeps the order of errors in the same line, because sorting is not guaranteed to be stable.
            (files.firstIndex(of: problem.location.file) ?? files.count, problem.location.line ?? 0, offset)
        }
        return keys.sorted(by: <).map { problems[$0.2] }
    }
}

/// Why a configuration is read.
package enum ConfigurationPurpose: Hashable, Sendable {
    /// For the daemon. A credential that the daemon can't read is an error.
    case running
    /// For `--check` and `--print-config`, outside the service. A credential that only the service can read is not an
    /// error, but an unusable `[Store] Path=` is one.
    case inspecting
}

/// The files that are read.
package enum ConfigurationSource: Hashable, Sendable {
    /// `/etc/issued/issued.conf` and its drop-ins. If none of these files can be read, an ordinary user gets a
    /// configuration with paths of their own.
    case `default`
    /// The file with this path, and the drop-ins in `FILE.d/`.
    case file(String)

    /// Returns the source with an absolute path, because messages about the file are read in other folders, too.
    /// Unchanged if the folder is unknown or is not valid UTF-8.
    ///
    /// - Parameter folder: The path of the current folder; nil if it is unknown.
    func absolute(in folder: [UInt8]?) -> ConfigurationSource {
        guard case .file(let path) = self, !path.hasPrefix("/"),
            let folder = folder.flatMap({ String(validating: $0, as: UTF8.self) }), folder.hasPrefix("/")
        else { return self }
        let name = path.hasPrefix("./") ? String(path.dropFirst(2)) : path
        return .file("\(folder)/\(name)")
    }

    /// The path of the main file.
    func path(in environment: HostEnvironment) -> String {
        switch self {
        case .default: environment.systemFile
        case .file(let path): path
        }
    }
}

/// The valid part of the configuration files, and the errors in them.
package struct ConfigurationReading: Sendable {
    /// The valid values. A destination with an error is in `misconfigured`, unless the only error is about its
    /// credential. A notifier with an error in its section is in `misconfiguredNotifiers`.
    package var configuration: Configuration
    /// In the order of the files, and from top to bottom in each.
    package var problems: [ConfigurationProblem]
    /// The files that were read, and the lines that set the values.
    package var origins = ConfigurationOrigins(files: [], sections: [])
    /// Whether the files set `[Store] Path=`, and none of its values is invalid.
    package var namesStore = false

    /// Whether there are no errors, apart from unusable credentials of destinations.
    package var isValid: Bool { problems.allSatisfy(\.scope.isCredential) }
}

/// The lines of the configuration files that set the values.
package struct ConfigurationOrigins: Sendable {
    /// The comment on a value that no file sets.
    static let `default` = "default"

    struct Section: Sendable {
        /// The header that `--print-config` prints.
        var title: String
        /// By key, the lines that set its value.
        var comments: [String: String]
    }

    /// The files that were read, in order. Later ones have precedence.
    private let files: [String]
    private var sections: [Section]

    init(files: [String], sections: [Section]) {
        self.files = files
        self.sections = sections
    }

    /// A comment that names the files.
    var header: String {
        files.isEmpty ? "# No configuration file.\n\n" : "# Files: \(files.joined(separator: ", "))\n\n"
    }

    /// Returns a phrase that names the files, such as `/etc/issued/issued.conf and 2 files in issued.conf.d`.
    ///
    /// - Parameter path: The path of the main file, which need not exist.
    func phrase(mainFile path: String) -> String {
        let dropInCount = files.count { $0 != path }
        let dropIns = "\(dropInCount) \(dropInCount == 1 ? "file" : "files") in"
        if !files.contains(path) { return dropInCount == 0 ? "no configuration file" : "\(dropIns) \(path).d" }
        return dropInCount == 0 ? path : "\(path) and \(dropIns) \(FileSystem.name(of: path)).d"
    }

    /// Returns the lines that set a key, such as `/etc/issued/issued.conf:3`, in the first section with this header;
    /// nil if none does.
    func location(_ header: String, _ key: String) -> String? {
        sections.first { $0.title == header }?.comments[key]
    }

    /// Removes and returns the comments of the next section with this header. The sections of one application for
    /// different users have the same header.
    mutating func take(_ title: String) -> [String: String] {
        guard let index = sections.firstIndex(where: { $0.title == title }) else { return [:] }
        return sections.remove(at: index).comments
    }
}

extension ConfigurationMerger.Section {
    /// The lines that set the values of this section.
    var origins: ConfigurationOrigins.Section {
        let isNamedAfterKind = kind.destination.map { destinationName == $0.name } ?? (name == nil)
        let shownName = kind == .notify ? targetName : isNamedAfterKind ? nil : name
        return ConfigurationOrigins.Section(
            title: "[\(kind.name)\(shownName.map { " \($0)" } ?? "")]",
            comments: values.mapValues { $0.map { "\($0.location)" }.joined(separator: ", ") })
    }
}

/// Merges the sections of all files, and collects errors, such as unknown sections, unknown keys and invalid values.
struct ConfigurationMerger {
    /// A value, and the line that sets it.
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
        /// The effective values by key: the last one, or all values of a list.
        var values: [String: [Assigned]] = [:]

        /// Keys with an invalid value.
        var wrongKeys: Set<String> = []
        /// Keys of this section that were probably meant where the file has an unknown key.
        var meantKeys: Set<String> = []
        /// Keys for which there is an error. They are not also reported as missing.
        var reportedKeys: Set<String> { wrongKeys.union(meantKeys) }
        /// Whether one file defines the destination or notifier twice. Errors that may follow from it are not
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
        // The index in `sections` of each section of this file; nil if the section is unknown or its name is invalid.
        var indices: [Int?] = []
        defer {
            for (problem, section) in zip(file.problems, file.problemSections) {
                var problem = problem
                if let section, let index = indices[section] { problem.scope = sections[index].scope }
                problems.append(problem)
            }
        }
        // The keys that this file must not set again, and the destinations and notifiers it must not define again.
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
                addProblem(
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

    /// A key and the index of its section in `sections`; if the key is nil, the section itself.
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
            let unknown = UnknownKey(assignment.key, in: section)
            if let meant = unknown.meant { sections[index].meantKeys.insert(meant) }
            return addProblem(location, unknown.message, scope: section.scope)
        }
        guard !assignment.value.isEmpty else {
            // An empty value resets the key to its default.
            sections[index].values[key.name] = nil
            assignedKeys.remove(AssignedKey(section: index, key: key.name))
            return
        }
        guard key.accepts(assignment.value) else {
            sections[index].wrongKeys.insert(key.name)
            let value = key.isQuotable ? assignment.value.truncatedForLog : "…"
            let hasComment = assignment.value.split(whereSeparator: \.isBlank).contains { $0.hasPrefix("#") }
            return addProblem(
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
                addProblem(
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
                addProblem(location, "This version does not support [\(section.kind)] yet; remove the section.")
            } else {
                let names = ConfigurationSection.all.map(\.name)
                let nearest = NearestName.find(section.kind, among: names)
                let suggestion = nearest.map { " Did you mean [\($0)]?" } ?? ""
                addProblem(
                    location,
                    "Unknown section [\(section.kind.truncatedForLog)]; "
                        + "expected one of \(names.joined(separator: ", ")).\(suggestion)")
            }
            return nil
        }
        guard let name = section.name else { return kind }
        guard kind.allowsName else {
            addProblem(location, "Section [\(kind.name)] takes no name; expected [\(kind.name)].")
            return nil
        }
        if kind.isTarget, ValueForm.name().parse(name) == nil {
            addProblem(
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

    private mutating func addProblem(
        _ location: ConfigurationLocation, _ message: String, scope: ConfigurationProblem.Scope = .everything
    ) {
        problems.append(ConfigurationProblem(at: location, message, scope: scope))
    }
}

extension ConfigurationMerger.Section {
    var keys: [KeyMetadata] { kind.keys(named: name != nil) }
    var title: String { "[\(kind.name)\(name.map { " " + $0 } ?? "")]" }

    /// Returns an error at the line of a key. If the key is nil or not set, the error is at the section's header.
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
    /// Whether the text may be a token: it has at least 20 characters, all of them ASCII letters or digits.
    var mayBeToken: Bool { utf8.count >= 20 && allSatisfy { $0.isASCIILetter || $0.isASCIIDigit } }

    /// The text, cut after 80 characters, or after 4 if it may be a token that was put in the wrong place.
    var truncatedForLog: String {
        let limit = mayBeToken ? 4 : 80
        return count > limit ? prefix(limit) + "…" : self
    }
}

/// A key that its section does not have.
struct UnknownKey {
    let message: String
    /// The section's key that was probably meant; nil if there is none.
    let meant: String?

    init(_ key: String, in section: ConfigurationMerger.Section) {
        let names = section.keys.map(\.name)
        if Self.isSecret(key, in: section.kind) {
            let credential = section.kind.destination?.format.defaultCredential.map {
                "; or write it to /etc/credstore/\($0), and set Credential=\($0)"
            }
            meant = names.first { $0 == "Credential" }
            message =
                "A token or password must not be in a configuration file. Write it to a file that only the daemon's "
                + "user can read, and set Credential= to the file's absolute path\(credential ?? "")."
            return
        }
        let beginning = "\(section.title) has no key \(key.truncatedForLog)="
        if let expected = Self.otherSections(with: key, than: section) {
            (message, meant) = ("\(beginning)\(expected)", nil)
        } else if let nearest = NearestName.find(key, among: names) {
            (message, meant) = ("\(beginning). Did you mean \(nearest)=?", nearest)
        } else {
            (message, meant) = ("\(beginning); expected one of \(names.joined(separator: ", ")).", nil)
        }
    }

    /// Returns `true` if the value of an unknown key is probably a secret, which belongs in the file that Credential=
    /// names.
    private static func isSecret(_ key: String, in kind: ConfigurationSection) -> Bool {
        let key = key.lowercased()
        return key.hasSuffix("token")
            || kind.isTarget && ["password", "passwd", "secret", "apikey", "api_key"].contains { key.hasSuffix($0) }
    }

    /// Returns the end of the message for a key of other sections; nil if no section has it.
    private static func otherSections(with key: String, than section: ConfigurationMerger.Section) -> String? {
        if section.kind.isDestination, ConfigurationTable.guards.contains(where: { $0.name == key }) {
            return " because it applies to all received records; expected it in [Limits]."
        }
        let others = ConfigurationSection.all.flatMap { other in
            [false, true].compactMap { isNamed -> String? in
                guard other != section.kind || isNamed != (section.name != nil), !isNamed || other == .limits,
                    other.keys(named: isNamed).contains(where: { $0.name == key })
                else { return nil }
                return isNamed ? "[\(other.name) NAME]" : "[\(other.name)]"
            }
        }
        // If the first section in the list has no NAME and is not a destination's, the message names only that section.
        // The others are usually destinations that can override the key.
        return others.first.map { first in
            let isShared = ConfigurationSection.all.contains { !$0.isDestination && "[\($0.name)]" == first }
            return "; expected it in \(isShared ? first : others.joined(separator: " or "))."
        }
    }
}
