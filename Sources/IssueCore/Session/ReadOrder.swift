/// The order in which connections that are ready at the same time are served.
///
/// A round of the event loop serves connections only for a short time and leaves the rest to the next one. So the order
/// decides who waits: first comes one connection of each user, then a second one of each, and so on. Among users, and
/// among the connections of a user, the one whose last turn is longest ago is first. A user who sends little therefore
/// waits for at most one turn of each other user, however many connections the others have. The poller reports at most
/// 256 connections at once, and the kernel rotates them, so with more than that the turns are those among 256.
package struct ReadOrder: Sendable {
    /// A connection that is ready.
    package struct Candidate: Equatable, Sendable {
        /// Identifies the event.
        package var index: Int
        package var user: UInt32
        /// The round of the user's last turn.
        package var userRound: UInt64
        /// The round of the connection's last turn.
        package var round: UInt64
        /// The number of connections of the same user that come first.
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
        for place in 1..<candidates.count where candidates[place].user == candidates[place - 1].user {
            candidates[place].layer = candidates[place - 1].layer + 1
        }
        candidates.sort { ($0.layer, $0.userRound, $0.user) < ($1.layer, $1.userRound, $1.user) }
        return candidates
    }
}
