/// Puts what many users wait for in an order in which they take turns.
package enum UserTurns {
    /// Returns the places of all entries: the first of each user, then the second of each, and so on.
    ///
    /// In each round system users come first, and otherwise the order stays as
    /// it was.
    ///
    /// - Parameter users: Whose each entry is.
    package static func order(_ users: [UInt32]) -> [Int] {
        var rounds: [[Int]] = []
        var counts: [UInt32: Int] = [:]
        for (place, user) in users.enumerated() {
            let round = counts[user, default: 0]
            counts[user] = round + 1
            if round == rounds.count { rounds.append([]) }
            rounds[round].append(place)
        }
        return rounds.flatMap { round in
            round.filter { SystemUsers.contains(users[$0]) } + round.filter { !SystemUsers.contains(users[$0]) }
        }
    }
}
