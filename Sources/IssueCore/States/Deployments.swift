package import IssueProtocol

/// The deployments of one application.
///
/// A deployment is *declared* by a user or operator, or *observed* when the first report of a version arrives. The time
/// of an observed deployment is the time of receipt, not the time that the report claims.
package struct DeploymentHistory: Equatable, Sendable {
    /// A version, and the time from which it was in use.
    package struct Entry: Equatable, Sendable {
        package var version: ApplicationVersion
        package var at: IssueTimestamp
        package var isObserved: Bool

        package init(_ version: ApplicationVersion, at: IssueTimestamp, isObserved: Bool) {
            self.version = version
            self.at = at
            self.isObserved = isObserved
        }
    }

    /// The position of a version in the order of deployments.
    struct Position: Comparable {
        var at: IssueTimestamp
        /// Orders deployments of the same millisecond.
        var number: Int

        static func < (left: Self, right: Self) -> Bool { (left.at, left.number) < (right.at, right.number) }
    }

    /// The first declared deployment of each version.
    private(set) var declared: [ApplicationVersion: Position] = [:]
    /// The first observed deployment of each version.
    private(set) var observed: [ApplicationVersion: Position] = [:]
    /// The number of entries.
    package private(set) var count = 0

    /// - Parameter entries: Deployments in any order. Of two with the same time, the first one in the list counts as
    ///   earlier.
    package init(_ entries: some Sequence<Entry> = EmptyCollection()) {
        for entry in entries { add(entry) }
    }

    /// Adds a deployment. It counts as later than those with the same time that were added before.
    package mutating func add(_ entry: Entry) {
        let version = entry.version.spelledUniformly
        let position = Position(at: entry.at, number: count)
        count += 1
        if entry.isObserved {
            observed[version] = min(observed[version] ?? position, position)
        } else {
            declared[version] = min(declared[version] ?? position, position)
        }
    }

    /// Returns `true` if a deployment of this version is known. A declared version without a build covers all its
    /// builds.
    package func knows(_ version: ApplicationVersion) -> Bool {
        Self.position(of: version, in: declared) != nil || observed[version.spelledUniformly] != nil
    }

    /// Returns the position of a version or, if it has none, that of its name without a build; nil if neither has one.
    static func position(of version: ApplicationVersion, in positions: [ApplicationVersion: Position]) -> Position? {
        let version = version.spelledUniformly
        if let position = positions[version] { return position }
        return version.build == nil ? nil : positions[ApplicationVersion(name: version.name)]
    }
}

/// The order of versions.
///
/// If deployments were declared, a version is later than another one if its first deployment was later. A rollback
/// therefore does not make an old version newer. In addition, a version with a lower number or build is never later: a
/// hotfix of an old branch may be deployed after a fix in a newer branch, but does not contain the fix.
///
/// A version that was only observed does not affect the order of other versions, because any report can claim it. It is
/// later than a declared version if its first report was later than that version's deployment. A declared version is
/// later than an observed one only if its number or build is known not to be lower. A version without any deployment is
/// later than all declared ones.
extension DeploymentHistory {
    /// The version whose first declared deployment is the latest; nil if none was declared.
    package var newestDeclared: ApplicationVersion? { declared.max { $0.value < $1.value }?.key }

    /// Returns `true` if a version is later than another one. If no deployments were declared, compares only the
    /// versions themselves (`ApplicationVersion.isNewer`).
    package func isNewer(_ version: ApplicationVersion, than known: ApplicationVersion) -> Bool {
        guard !declared.isEmpty else { return version.isNewer(than: known) }
        guard isOther(version, than: known), version.precedes(known) != true else { return false }
        let own = Self.position(of: version, in: declared)
        guard let knownPosition = Self.position(of: known, in: declared) else {
            // The other version was not declared. Only a declared version whose number or build is known not to be
            // lower counts as later.
            return own != nil && version.precedes(known) == false
        }
        guard let own = own ?? Self.position(of: version, in: observed) else { return true }
        return own > knownPosition
    }

    /// Returns `true` if a version has a fix: it is the version with the fix, or a later one.
    ///
    /// Without declared deployments, versions are compared by their numbers or builds or, if these determine no order,
    /// by the time of their first reports.
    package func hasFix(_ version: ApplicationVersion, of fixed: ApplicationVersion) -> Bool {
        if version.isCovered(by: fixed) { return true }
        guard declared.isEmpty else { return isNewer(version, than: fixed) }
        guard isOther(version, than: fixed) else { return false }
        if let isOlder = version.precedes(fixed) { return !isOlder }
        guard let own = Self.position(of: version, in: observed),
            let fixedPosition = Self.position(of: fixed, in: observed)
        else { return false }
        return own > fixedPosition
    }

    /// Returns `true` if the names of two versions differ, or if both builds are known and differ. Returns `false` if
    /// `version` has neither a name nor a build.
    private func isOther(_ version: ApplicationVersion, than other: ApplicationVersion) -> Bool {
        let (own, other) = (version.spelledUniformly, other.spelledUniformly)
        guard own.name != nil || own.build != nil else { return false }
        return own.name != other.name || own.build != nil && other.build != nil && own.build != other.build
    }
}

/// The limits for stored deployments.
package enum DeploymentLimits {
    /// The maximum size of the name of an application, in bytes.
    package static let maxAppBytes = 256
    /// The maximum size of a note, in bytes.
    package static let maxNoteBytes = 1024
    /// The maximum number of declared deployments of an application for one user, or for everyone. Beyond it, the
    /// earliest ones are removed.
    package static let maxDeclared = 256
    /// The maximum number of declared deployments of all applications for one user, or for everyone. Beyond it, the
    /// earliest ones are removed.
    package static let maxDeclaredByUser = 4096
    /// The maximum number of observed deployments of an application. Beyond it, the earliest ones are removed.
    package static let maxObserved = 128

    /// Returns `true` if observed deployments of this version are stored: if its text is neither empty nor too long.
    package static func isStored(_ version: ApplicationVersion) -> Bool {
        (1...IssueDeployment.maxVersionBytes).contains(version.text.utf8.count)
    }
}

/// The users for whose application a deployment counts.
package enum DeploymentScope: Equatable, Sendable {
    /// The user with this id.
    case user(UInt32)
    /// All users who run an application with the deployment's name.
    case everyone

    /// The id of the user; nil for all users.
    package var uid: UInt32? {
        switch self {
        case .user(let uid): uid
        case .everyone: nil
        }
    }
}

extension DeployParameters {
    /// Returns the name of an invalid parameter; nil if all are valid.
    ///
    /// - Parameter now: The current wall time. A deployment cannot be declared in advance.
    package func invalidParameter(at now: IssueTimestamp) -> String? {
        if !(1...DeploymentLimits.maxAppBytes).contains(app.utf8.count) { return "app" }
        if !(1...IssueDeployment.maxVersionBytes).contains(version.utf8.count) { return "version" }
        if let at, at > now || at < .epoch { return "at" }
        if let commit, commit.utf8.count > IssueDeployment.maxVersionBytes { return "commit" }
        if let note, note.utf8.count > DeploymentLimits.maxNoteBytes { return "note" }
        return nil
    }

    /// Returns the users for whose application the caller may declare this deployment; nil if the caller may not
    /// declare it.
    ///
    /// - Parameters:
    ///   - uid: The id of the caller.
    ///   - isOperator: `true` if the caller is an operator.
    ///   - isReused: `true` if the caller's id may belong to another user later.
    package func scope(requestedBy uid: UInt32, isOperator: Bool, isReused: Bool) -> DeploymentScope? {
        if isOperator { return user.map { .user($0) } ?? .everyone }
        return isReused || user ?? uid != uid ? nil : .user(uid)
    }
}

/// The times of the last two declared deployments of an application.
package struct DeploymentWindow: Equatable, Sendable {
    private let last: IssueTimestamp
    private let previous: IssueTimestamp?

    /// - Parameter times: The times of the declared deployments, in any order.
    /// - Returns: Nil if there are none.
    package init?(_ times: some Sequence<IssueTimestamp>) {
        let newest = times.sorted().suffix(2)
        guard let last = newest.last else { return nil }
        self.last = last
        previous = newest.count > 1 ? newest.first : nil
    }

    /// Returns the effect of the last deployment on a group; nil if the group is neither new nor gone.
    ///
    /// A group that has been quiet since before the previous deployment did not end with the last one, so it is
    /// not gone.
    ///
    /// - Parameters:
    ///   - first: The time of the group's first record.
    ///   - newest: The time of the group's newest record.
    package func change(first: IssueTimestamp, newest: IssueTimestamp) -> DeploymentChange? {
        if first >= last { return .new }
        return newest < last && newest >= previous ?? newest ? .gone : nil
    }
}

/// The version of an application. Versions have an order if their form allows it.
package struct ApplicationVersion: Hashable, Sendable {
    package var name: String?
    package var build: Int64?

    package init(name: String? = nil, build: Int64? = nil) {
        self.name = name
        self.build = build
    }

    /// The stored and displayed form, such as `2.0.0 (2500)`.
    package var text: String {
        let name = name ?? ""
        guard let build else { return name }
        return name.isEmpty ? "(\(build))" : "\(name) (\(build))"
    }

    package init(text: String) {
        var name = text[...]
        if text.hasSuffix(")"), let open = text.lastIndex(of: "("),
            let build = Int64(text[text.index(after: open)...].dropLast()), text.hasSuffix("(\(build))")
        {
            self.build = build
            name = text[..<open]
            if name.hasSuffix(" ") { name = name.dropLast() }
        }
        self.name = name.isEmpty ? nil : String(name)
    }

    /// Returns `true` if this version is newer than another one.
    ///
    /// Versions that consist of numbers are compared by their numbers, and a pre-release (`2.0-beta`) precedes its
    /// release. If the numbers or names are equal, the builds are compared. Other names have no order, so a different
    /// name counts as newer. A version without a name is older than one with a name, and an empty version is older than
    /// any other.
    package func isNewer(than other: ApplicationVersion) -> Bool {
        switch (name, other.name) {
        case (nil, nil): return hasLaterBuild(than: other, orElse: build != nil && other.build == nil)
        case (nil, _): return false
        case (_, nil): return true
        case (let own?, let known?):
            guard own != known else { return hasLaterBuild(than: other, orElse: false) }
            guard let own = Release(own), let known = Release(known) else { return true }
            return own == known ? hasLaterBuild(than: other, orElse: false) : known < own
        }
    }

    /// Returns `true` if this version is older than another one by its number or, if the numbers are equal, by its
    /// build; `false` if it is newer or equal. Returns nil if the names differ and are not both numbers, or if they are
    /// the same and a build is missing.
    package func precedes(_ other: ApplicationVersion) -> Bool? {
        let (own, other) = (spelledUniformly, other.spelledUniformly)
        if own.name == other.name {
            guard let build = own.build, let known = other.build else { return nil }
            return build < known
        }
        guard let number = own.name.flatMap(Release.init), let known = other.name.flatMap(Release.init) else {
            return nil
        }
        if number == known, let build = own.build, let known = other.build { return build < known }
        return number < known
    }

    /// Compares the builds. Returns `fallback` if one of them is unknown.
    private func hasLaterBuild(than other: ApplicationVersion, orElse fallback: Bool) -> Bool {
        guard let build, let known = other.build else { return fallback }
        return build > known
    }

    /// The version without the `v` that tags often have in front of a number.
    package var spelledUniformly: ApplicationVersion {
        guard let name, name.first == "v" || name.first == "V",
            name.utf8.dropFirst().first.map(ByteClass.isDigit) == true
        else { return self }
        return ApplicationVersion(name: String(name.dropFirst()), build: build)
    }

    /// Returns `true` if a statement about another version applies to this one: it is the same, or the other one has
    /// no build and the same name.
    package func isCovered(by other: ApplicationVersion) -> Bool {
        let (own, other) = (spelledUniformly, other.spelledUniformly)
        return own == other || other.build == nil && other.name != nil && own.name == other.name
    }

    /// Sets this version to `other` if that is newer (`isNewer(than:)`).
    package mutating func raise(to other: ApplicationVersion) {
        if other.isNewer(than: self) { self = other }
    }
}

/// A version that consists of numbers, such as `2.10.1-beta.2+7`. Such versions have an order.
struct Release: Comparable {
    /// A part between dots: a number of any length, or a text. Texts sort after all numbers.
    private enum Part: Comparable {
        case number(length: Int, digits: String)
        case word(String)

        init(_ text: Substring) {
            if !text.isEmpty, text.utf8.allSatisfy(ByteClass.isDigit) {
                let digits = text.drop { $0 == "0" }
                self = .number(length: digits.utf8.count, digits: String(digits))
            } else {
                self = .word(String(text))
            }
        }

        static let zero = Part("0")

        var isNumber: Bool {
            if case .number = self { true } else { false }
        }
    }

    private let numbers: [Part]
    /// The pre-release part; empty for the release itself.
    private let preRelease: [Part]
    /// The part after the plus sign.
    private let suffix: [Part]

    /// Parses a version. Returns nil unless the part before `-` and `+` consists only of numbers, apart from a leading
    /// `v`.
    init?(_ text: String) {
        let parts = text.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
        let halves = (parts.first ?? "").split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        var release = halves.first ?? ""
        if release.hasPrefix("v") || release.hasPrefix("V") { release = release.dropFirst() }
        var numbers = Self.parts(release)
        guard numbers.allSatisfy(\.isNumber) else { return nil }
        while numbers.count > 1, numbers.last == .zero { numbers.removeLast() }
        self.numbers = numbers
        preRelease = halves.count > 1 ? Self.parts(halves[1]) : []
        suffix = parts.count > 1 ? Self.parts(parts[1]) : []
    }

    private static func parts(_ text: Substring) -> [Part] {
        text.split(separator: ".", omittingEmptySubsequences: false).map { Part($0) }
    }

    static func < (left: Self, right: Self) -> Bool {
        if left.numbers != right.numbers { return left.numbers.lexicographicallyPrecedes(right.numbers) }
        if left.preRelease != right.preRelease {
            if left.preRelease.isEmpty || right.preRelease.isEmpty { return right.preRelease.isEmpty }
            return left.preRelease.lexicographicallyPrecedes(right.preRelease)
        }
        return left.suffix.lexicographicallyPrecedes(right.suffix)
    }
}
