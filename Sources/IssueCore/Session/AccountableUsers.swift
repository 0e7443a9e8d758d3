/// Maps each user id to the user accountable for it, so that limits count people instead of ids.
///
/// One person can act under many user ids: those assigned in `/etc/subuid`, and those of containers started by
/// systemd-nspawn or systemd-nsresourced. With a limit per id, that person would have no limit. This mapping is for
/// limits only: access depends on the user id that the kernel reports.
package struct AccountableUsers: Hashable, Sendable {
    /// The ids that systemd assigns to containers, 65,536 to each.
    ///
    /// Source: <https://systemd.io/UIDS-GIDS>, "Container UID ranges".
    package static let containerUsers: ClosedRange<UInt32> = 524_288...1_879_048_191
    /// Ids below this belong to people and services, whatever a file states. LXD, for example, writes `root:1000:1` to
    /// map one user into a container.
    package static let firstSubordinate: UInt32 = 65_536
    /// The number of ids of a container.
    private static let containerSize: UInt32 = 65_536
    /// The maximum number of lines of `/etc/subuid` that are read.
    package static let maxRanges = 4096

    private struct Range: Hashable, Sendable {
        var first: UInt32
        var last: UInt32
        /// The owner; nil if it is a service that gives parts of the range to many containers.
        var owner: UInt32?
    }

    /// In ascending order, without overlaps.
    private var ranges: [Range] = []
    private let hasContainerUsers: Bool

    /// - Parameter hasContainerUsers: `false` if a directory service assigns ids in `containerUsers` to people.
    package init(hasContainerUsers: Bool = true) {
        self.hasContainerUsers = hasContainerUsers
    }

    /// Reads the owners of subordinate ids. Invalid lines are skipped.
    ///
    /// - Parameters:
    ///   - subordinates: The content of `/etc/subuid`; see `subuid(5)`.
    ///   - users: The content of `/etc/passwd`, which maps names to ids.
    ///   - hasContainerUsers: `false` if a directory service assigns ids in `containerUsers` to people.
    package init(subordinates: [UInt8], users: [UInt8], hasContainerUsers: Bool = true) {
        self.init(hasContainerUsers: hasContainerUsers)
        var found: [(name: ArraySlice<UInt8>, first: UInt32, last: UInt32)] = []
        for line in subordinates.split(separator: UInt8(ascii: "\n")) {
            guard found.count < Self.maxRanges else { break }
            let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            guard fields.count == 3, !fields[0].isEmpty, let first = Self.number(fields[1]),
                let count = Self.number(fields[2]), count > 0
            else { continue }
            let last = first.addingReportingOverflow(count - 1)
            found.append((fields[0], first, last.overflow ? .max : last.partialValue))
        }
        let numbers = Self.numbers(of: Set(found.map { Array($0.name) }), in: users)
        // If ranges overlap, the one that starts first takes precedence.
        var free = UInt64(Self.firstSubordinate)
        for range in found.sorted(by: { ($0.first, $0.last) < ($1.first, $1.last) }) {
            guard free <= UInt64(range.last) else { continue }
            let number = numbers[Array(range.name)] ?? Self.number(range.name)
            // The ranges of root and of system users are pools from which LXD, Podman and others serve containers of
            // many users.
            let isPerson = number.map { $0 >= 1000 && $0 < Self.firstSubordinate } ?? false
            let first = max(range.first, UInt32(free))
            ranges.append(Range(first: first, last: range.last, owner: isPerson ? number : nil))
            free = UInt64(range.last) + 1
        }
    }

    /// Returns the accountable user id: the owner of a subordinate id, the first id of a container, or otherwise the id
    /// itself.
    package func owner(of uid: UInt32) -> UInt32 {
        guard uid >= Self.firstSubordinate else { return uid }
        if let range = range(with: uid) {
            return range.owner ?? uid - (uid - range.first) % Self.containerSize
        }
        return isContainerUser(uid) ? uid - uid % Self.containerSize : uid
    }

    /// Returns `true` if systemd assigns this id to containers, so that another container may have it later.
    package func isRecycled(_ uid: UInt32) -> Bool {
        isContainerUser(uid) && range(with: uid) == nil
    }

    private func isContainerUser(_ uid: UInt32) -> Bool {
        hasContainerUsers && Self.containerUsers.contains(uid)
    }

    private func range(with uid: UInt32) -> Range? {
        let next = ranges.firstPosition { $0.last >= uid }
        return next < ranges.count && ranges[next].first <= uid ? ranges[next] : nil
    }

    /// Returns the ids of the named users in `/etc/passwd`.
    private static func numbers(of names: Set<[UInt8]>, in users: [UInt8]) -> [[UInt8]: UInt32] {
        var numbers: [[UInt8]: UInt32] = [:]
        guard !names.isEmpty else { return [:] }
        for line in users.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
            guard fields.count == 4, names.contains(Array(fields[0])), let number = number(fields[2]) else { continue }
            if numbers[Array(fields[0])] == nil { numbers[Array(fields[0])] = number }
        }
        return numbers
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt32? {
        guard (1...10).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt32(exactly: digits.reduce(0 as UInt64) { $0 * 10 + UInt64($1 - 0x30) })
    }
}
