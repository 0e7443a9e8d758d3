package import IssueProtocol

/// What somebody has said of a group, and what follows from it for the records that come.
package struct TriageState: Equatable, Sendable {
    /// What a record of the group means.
    package enum Effect: Equatable, Sendable {
        /// It goes the way of every record.
        case none
        /// It is stored and counted, and nobody is told.
        case silence
        /// The group is open again, since what was resolved is back: that must be told.
        case regression
        /// The group is open again, since the time is over for which it was muted.
        case expiry
    }

    package private(set) var state: GroupState
    package private(set) var mutedUntil: Timestamp?
    /// The newest version of the application that was known when it was said, where only a newer one is to undo it.
    package private(set) var knownVersion: ApplicationVersion?
    package private(set) var hasRegressed: Bool

    package init(
        _ state: GroupState = .open, mutedUntil: Timestamp? = nil, knownVersion: ApplicationVersion? = nil,
        hasRegressed: Bool = false
    ) {
        self.state = state
        self.mutedUntil = mutedUntil
        self.knownVersion = knownVersion
        self.hasRegressed = hasRegressed
    }

    /// A record of the group came in.
    package mutating func reported(by version: ApplicationVersion, at now: Timestamp) -> Effect {
        switch state {
        case .open:
            return .none
        case .resolved:
            guard knownVersion.map({ version.isNewer(than: $0) }) ?? true else { return .none }
            self = TriageState(hasRegressed: true)
            return .regression
        case .muted:
            if timePassed(to: now) { return .expiry }
            guard let knownVersion, version.isNewer(than: knownVersion) else { return .silence }
            self = TriageState(hasRegressed: true)
            return .regression
        }
    }

    /// Time has gone on; answers whether that has ended what was said.
    package mutating func timePassed(to now: Timestamp) -> Bool {
        guard state == .muted, let mutedUntil, mutedUntil <= now else { return false }
        self = TriageState()
        return true
    }
}

extension SetStateParameters {
    /// The parameter that makes no sense beside the others, if there is one.
    package func invalidParameter(at now: Timestamp) -> String? {
        if let until {
            guard state == .muted, until > now else { return "until" }
        }
        return untilNewerVersion == true && state == .open ? "until_newer_version" : nil
    }
}

/// The stretches of the log in which a group was muted, one after the other.
package struct MutedRows: Equatable, Sendable {
    private let stretches: [ClosedRange<Int64>]

    /// - Parameter stretches: in their order, none of which reaches into the next.
    package init(_ stretches: [ClosedRange<Int64>] = []) {
        self.stretches = stretches
    }

    package func contains(_ row: Int64) -> Bool {
        guard let next = stretch(endingFrom: row) else { return false }
        return next.contains(row)
    }

    /// The last of them, or none.
    package var last: Int64? { stretches.last?.upperBound }

    /// The first stretch that does not end before a row.
    private func stretch(endingFrom row: Int64) -> ClosedRange<Int64>? {
        var (lower, upper) = (0, stretches.count)
        while lower < upper {
            let middle = (lower + upper) / 2
            if stretches[middle].upperBound < row { lower = middle + 1 } else { upper = middle }
        }
        return lower < stretches.count ? stretches[lower] : nil
    }
}

/// A version that is made of numbers, as `2.10.1-beta.2+7`, so that it comes before or after another one.
struct Release: Comparable {
    /// One part between dots: a number of any length, or a word, which comes behind all numbers.
    private enum Part: Comparable {
        case number(length: Int, digits: String)
        case word(String)

        init(_ text: Substring) {
            if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
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
    /// What it lacks to be the release itself; empty for the release.
    private let before: [Part]
    private let behind: [Part]

    /// Reads a version; nothing where it does not begin with numbers only.
    init?(_ text: String) {
        let parts = text.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
        let halves = (parts.first ?? "").split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        var release = halves.first ?? ""
        if release.hasPrefix("v") || release.hasPrefix("V") { release = release.dropFirst() }
        var numbers = Self.parts(release)
        guard numbers.allSatisfy(\.isNumber) else { return nil }
        while numbers.count > 1, numbers.last == .zero { numbers.removeLast() }
        self.numbers = numbers
        before = halves.count > 1 ? Self.parts(halves[1]) : []
        behind = parts.count > 1 ? Self.parts(parts[1]) : []
    }

    private static func parts(_ text: Substring) -> [Part] {
        text.split(separator: ".", omittingEmptySubsequences: false).map { Part($0) }
    }

    static func < (left: Self, right: Self) -> Bool {
        if left.numbers != right.numbers { return left.numbers.lexicographicallyPrecedes(right.numbers) }
        if left.before != right.before {
            if left.before.isEmpty || right.before.isEmpty { return right.before.isEmpty }
            return left.before.lexicographicallyPrecedes(right.before)
        }
        return left.behind.lexicographicallyPrecedes(right.behind)
    }
}

/// A version of an application, as far as versions have an order.
package struct ApplicationVersion: Equatable, Sendable {
    package var name: String?
    package var build: Int64?

    package init(name: String? = nil, build: Int64? = nil) {
        self.name = name
        self.build = build
    }

    /// As it is stored and as people write it: `2.0.0 (2500)`.
    package var text: String {
        let name = name ?? ""
        guard let build else { return name }
        return name.isEmpty ? "(\(build))" : "\(name) (\(build))"
    }

    package init(text: String) {
        var name = text[...]
        if text.hasSuffix(")"), let open = text.lastIndex(of: "("),
            let build = Int64(text[text.index(after: open)...].dropLast())
        {
            self.build = build
            name = text[..<open]
            if name.hasSuffix(" ") { name = name.dropLast() }
        }
        self.name = name.isEmpty ? nil : String(name)
    }

    /// Whether it came out after another one.
    ///
    /// Versions of numbers go by their numbers, and what comes before a release
    /// (`2.0-beta`) before it; then builds decide. Other words have no order:
    /// there another one than the one that is known is taken for newer.
    package func isNewer(than other: ApplicationVersion) -> Bool {
        switch (name, other.name) {
        case (nil, nil): return isLaterBuild(than: other, orElse: build != nil && other.build == nil)
        case (nil, _): return false
        case (_, nil): return true
        case (let own?, let known?):
            guard own != known else { return isLaterBuild(than: other, orElse: false) }
            guard let own = Release(own), let known = Release(known) else { return true }
            return own == known ? isLaterBuild(than: other, orElse: false) : known < own
        }
    }

    private func isLaterBuild(than other: ApplicationVersion, orElse answer: Bool) -> Bool {
        guard let build, let known = other.build else { return answer }
        return build > known
    }

    /// The newer one of two; of two without an order the one that is met last.
    package mutating func met(_ other: ApplicationVersion) {
        if other.isNewer(than: self) { self = other }
    }
}
