/// The size of one user's calls and replies in flight, and the user's connections that must wait.
///
/// Above the limit, no further calls of the user begin or are read, so the kernel makes the sender wait. Above half the
/// limit, each connection may have an equal share of the limit in flight. Without shares, the connections that are read
/// first would use the whole limit.
///
/// There are two exceptions. One connection with an incomplete message may always be read; otherwise several such
/// connections could block each other forever. A connection with very little in flight may also be read and begin
/// calls; otherwise one busy connection would delay the user's other connections.
///
/// Replies are limited in a similar way: above half the limit, only connections with very few unread bytes may begin
/// further calls. Otherwise one client that does not read its replies would block the user's other connections.
package struct UserLoad: Sendable {
    /// The limits for one user, in bytes.
    package struct Limits: Equatable, Sendable {
        /// The limit for calls: unanswered reports, and received messages whose calls have not begun.
        package var calls: Int
        /// The limit for replies: unread replies, and running queries at their typical size.
        package var replies: Int
        /// The bytes that are read from one user before other users have their turn.
        package var quantum: Int
        /// The size below which a connection has very little in flight.
        package var little: Int

        package init(calls: Int, replies: Int, quantum: Int, little: Int) {
            self.calls = calls
            self.replies = replies
            self.quantum = quantum
            self.little = little
        }
    }

    /// The bytes that one user may have in flight now: the limits, or less if memory is short.
    package struct Allowance: Equatable, Sendable {
        package var calls: Int
        package var replies: Int
    }

    package let limits: Limits
    /// The number of open connections.
    package private(set) var connections = 0
    /// The size of unanswered reports, in bytes.
    package private(set) var unanswered = 0
    /// The size of received messages whose calls have not begun, in bytes.
    package private(set) var received = 0
    /// The size of unread replies and running queries, in bytes.
    package private(set) var replies = 0
    /// The number of connections with calls in flight.
    private var active = 0

    /// The connections that wait, in the order in which they began to wait.
    private var waiting: [UInt64] = []
    /// The same connections as a set.
    private var waitingSet: Set<UInt64> = []
    /// The connection that may be read above the limit until its message is complete; nil if there is none.
    private var exempt: UInt64?
    private var round: UInt64 = 0
    /// The bytes read from the user's connections in this round.
    private var readInRound = 0

    package init(limits: Limits) {
        self.limits = limits
    }

    package mutating func connected() { connections += 1 }

    /// Handles the end of a connection. Its bytes must have been subtracted before.
    package mutating func disconnected(_ connection: UInt64) {
        connections -= 1
        if exempt == connection { exempt = nil }
        if waitingSet.remove(connection) != nil { waiting.removeAll { $0 == connection } }
    }

    // MARK: Bytes in flight

    /// Adds `difference` bytes to the size of unanswered reports; negative when reports are answered.
    package mutating func changed(unanswered difference: Int) { unanswered += difference }

    /// Adds `difference` bytes to the size of received messages whose calls have not begun; negative when calls begin.
    package mutating func changed(received difference: Int) { received += difference }

    /// Handles the first bytes in flight on a connection that had none.
    package mutating func began() { active += 1 }

    /// Handles the end of the last bytes in flight on a connection.
    package mutating func ended() { active -= 1 }

    /// Adds `difference` bytes to the size of unread replies and running queries; negative when replies are read.
    package mutating func changed(replies difference: Int) { replies += difference }

    /// Handles the end of a message. Afterwards, another connection may be read above the limit.
    package mutating func completed(_ connection: UInt64) {
        if exempt == connection { exempt = nil }
    }

    // MARK: Admission

    /// Returns `true` if a connection may begin a call.
    ///
    /// - Parameters:
    ///   - own: The bytes of its unanswered calls.
    ///   - unread: The bytes of its unread replies and running query.
    ///   - allowance: The current allowance.
    package func mayBegin(unanswered own: Int, unread: Int, within allowance: Allowance) -> Bool {
        mayQuery(unread: unread, within: allowance) && (unanswered <= allowance.calls || own < limits.little)
    }

    private func mayQuery(unread: Int, within allowance: Allowance) -> Bool {
        replies <= (unread < limits.little ? allowance.replies : allowance.replies / 2)
    }

    /// Returns the number of bytes of new calls above which no further call of a connection may begin; negative if none
    /// may begin now.
    ///
    /// - Parameters:
    ///   - own: The bytes of its unanswered calls.
    ///   - allowance: The current allowance.
    package func room(unanswered own: Int, within allowance: Allowance) -> Int {
        max(allowance.calls - unanswered, limits.little - 1 - own)
    }

    /// Returns the number of bytes that may be read from a connection now; 0 if it must wait.
    ///
    /// - Parameters:
    ///   - connection: The connection's id.
    ///   - maxBytes: The maximum to return.
    ///   - own: The bytes that the connection has in flight.
    ///   - isInMessage: `true` if it has sent part of a message.
    ///   - allowance: The current allowance.
    package mutating func maxReadBytes(
        _ connection: UInt64, maxBytes: Int, underWay own: Int, isInMessage: Bool, within allowance: Allowance
    ) -> Int {
        let calls = allowance.calls
        let underWay = unanswered + received
        if underWay <= calls / 2 || underWay <= calls && own < share(of: calls) { return maxBytes }
        if own < limits.little { return min(maxBytes, limits.little) }
        guard isInMessage, exempt == nil || exempt == connection else { return 0 }
        exempt = connection
        return maxBytes
    }

    /// Returns the bytes that each connection may have in flight while the user is above half the limit.
    private func share(of calls: Int) -> Int { calls / max(1, active) }

    /// Returns `true` if a connection may be read in this round: the user's quantum is not used up, or very little was
    /// read from the connection the last time.
    ///
    /// - Parameters:
    ///   - round: The number of the round.
    ///   - lastRead: The bytes read from the connection the last time.
    package mutating func hasTurn(inRound round: UInt64, lastRead: Int) -> Bool {
        if self.round != round {
            self.round = round
            readInRound = 0
        }
        return readInRound < limits.quantum || lastRead < limits.little
    }

    /// Counts bytes read in the current round.
    package mutating func read(_ count: Int) { readInRound += count }

    /// Adds a connection to those that wait until they may continue.
    package mutating func wait(_ connection: UInt64) {
        if waitingSet.insert(connection).inserted { waiting.append(connection) }
    }

    /// Removes and returns the connections that may continue, in the order in which they began to wait.
    ///
    /// - Parameters:
    ///   - allowance: The current allowance.
    ///   - own: Returns the bytes that a connection has in flight.
    ///   - unread: Returns the bytes of a connection's unread replies and running query.
    package mutating func takeResumable(
        within allowance: Allowance, underWay own: (UInt64) -> Int, unread: (UInt64) -> Int
    ) -> [UInt64] {
        guard !waiting.isEmpty, unanswered <= allowance.calls, replies <= allowance.replies else { return [] }
        // Above half the limit, only connections whose bytes in flight are at most half of their share continue.
        let maxOwn = unanswered > allowance.calls / 2 ? share(of: allowance.calls) / 2 : .max
        let woken = waiting.filter { own($0) <= maxOwn && mayQuery(unread: unread($0), within: allowance) }
        guard !woken.isEmpty else { return [] }
        waitingSet.subtract(woken)
        waiting.removeAll { !waitingSet.contains($0) }
        return woken
    }
}

/// The order in which connections that are ready at the same time are served.
///
/// A round of the event loop serves connections only for a short time and leaves the rest to the next round, so the
/// order determines which ones wait. First comes one connection of each user, then a second one of each, and so on.
/// Among users, and among the connections of a user, the one whose last turn is longest ago comes first. A user who
/// sends little therefore waits for at most one turn of each other user, however many connections the others have. The
/// poller reports at most 256 connections at once, in rotation. If more are ready, this order applies only to the
/// reported ones.
package struct ReadOrder: Sendable {
    /// A connection that is ready.
    package struct Candidate: Equatable, Sendable {
        /// The index of the event that the poller has reported.
        package var index: Int
        package var user: UInt32
        /// The round of the user's last turn.
        package var userRound: UInt64
        /// The round of the connection's last turn.
        package var round: UInt64
        /// The number of connections of the same user that come before this one.
        fileprivate var layer = 0

        package init(index: Int, user: UInt32, userRound: UInt64, round: UInt64) {
            (self.index, self.user, self.userRound, self.round) = (index, user, userRound, round)
        }
    }

    private var candidates: [Candidate] = []

    package init() {}

    /// Removes the candidates of the last round. Keeps their storage.
    package mutating func removeAll() { candidates.removeAll(keepingCapacity: true) }

    package mutating func add(_ candidate: Candidate) { candidates.append(candidate) }

    /// Returns the candidates in the order of their turns.
    package mutating func arranged() -> [Candidate] {
        guard candidates.count > 1 else { return candidates }
        candidates.sort { ($0.user, $0.round, $0.index) < ($1.user, $1.round, $1.index) }
        for index in 1..<candidates.count where candidates[index].user == candidates[index - 1].user {
            candidates[index].layer = candidates[index - 1].layer + 1
        }
        candidates.sort { ($0.layer, $0.userRound, $0.user) < ($1.layer, $1.userRound, $1.user) }
        return candidates
    }
}

/// Maps each user id to the user who is accountable for it, so that limits apply to people instead of ids.
///
/// One person can use many user ids: those assigned in `/etc/subuid`, and those that systemd-nspawn or
/// systemd-nsresourced assigns to containers. A limit per id would not limit that person. The mapping is only for
/// limits. Access rights depend on the user id that the kernel reports.
package struct AccountableUsers: Hashable, Sendable {
    /// The ids that systemd assigns to containers, 65,536 to each.
    ///
    /// Source: <https://systemd.io/UIDS-GIDS>, "Container UID ranges".
    package static let containerUsers: ClosedRange<UInt32> = 524_288...1_879_048_191
    /// Ids below this always belong to people and services, even if a line of `/etc/subuid` contains them. LXD, for
    /// example, adds `root:1000:1` to map one user into a container.
    package static let firstSubordinate: UInt32 = 65_536
    /// The number of ids of a container.
    private static let containerSize: UInt32 = 65_536
    /// The maximum number of valid lines of `/etc/subuid` that are used.
    package static let maxRanges = 4096

    private struct Range: Hashable, Sendable {
        var first: UInt32
        var last: UInt32
        /// The accountable user. Nil if the owner is not a person, since the range may then belong to containers of
        /// many users.
        var owner: UInt32?
    }

    /// In ascending order, without overlaps.
    private var ranges: [Range] = []
    private let hasContainerUsers: Bool

    /// - Parameter hasContainerUsers: `false` if a directory service assigns ids in `containerUsers` to people.
    package init(hasContainerUsers: Bool = true) {
        self.hasContainerUsers = hasContainerUsers
    }

    /// Reads the owners of subordinate ids. Invalid lines, and valid ones beyond `maxRanges`, are skipped.
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
            // LXD, Podman and others use the ranges of root and of system users for containers of many users.
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

    /// Returns the range that contains an id; nil if there is none.
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
