/// Judges whether refused lines are bad themselves, or whether the sender or the account is the cause.
struct RefusalEvidence: Equatable, Sendable {
    /// The outcomes of lines that have already been removed from the batch.
    private var delivered = 0
    private var refused = 0
    /// The users of those lines.
    private(set) var triedUsers = TriedUsers()
    /// The largest number of refusals that were taken back.
    private var maxTakenBack = 0
    /// The size of the largest part with refused lines, and how many of its lines were refused. If all lines are sent
    /// at once, this is the whole batch.
    private var (largestRefused, largestCount) = (0, 0)

    mutating func met(refused: Int, of count: Int) {
        if count > largestCount { (largestRefused, largestCount) = (refused, count) }
    }

    mutating func recordTakenBack(refused: Int) { maxTakenBack = max(maxTakenBack, refused) }

    /// - Parameter users: The users of these lines and of those removed before.
    mutating func ended(delivered: Int, refused: Int, _ users: TriedUsers) {
        self.delivered += delivered
        self.refused += refused
        triedUsers = users
    }

    /// Returns `true` if the lines are probably not the cause. The number of refused lines is then above
    /// `Bisection.maxDead`, the number of delivered lines, and the number stated in the response for the largest part.
    ///
    /// - Parameters:
    ///   - delivered: The number of delivered lines that are still in the batch.
    ///   - refused: The number of refused lines that are still in the batch.
    func isSystemicFailure(delivered: Int, refused: Int) -> Bool {
        let refused = refused + self.refused
        return refused > max(Bisection.maxDead, delivered + self.delivered, statedRefusals)
    }

    func isMajorityAccepted(delivered: Int, refused: Int) -> Bool {
        max(delivered + self.delivered, statedRefusals) > max(refused + self.refused, maxTakenBack)
    }

    /// The number of refused lines stated in the response for the largest part, if at least half of its lines were
    /// accepted; otherwise 0.
    private var statedRefusals: Int { largestRefused * 2 <= largestCount ? largestRefused : 0 }
}

/// The users whose lines the destination has accepted or refused.
struct TriedUsers: Equatable, Sendable {
    private(set) var accepted: Set<UInt32> = []
    private(set) var refused: Set<UInt32> = []

    mutating func accept(_ users: ArraySlice<UInt32?>) {
        var last: UInt32?
        for case let user? in users where user != last {
            accepted.insert(user)
            last = user
        }
    }

    mutating func refuse(_ user: UInt32?) {
        if let user { refused.insert(user) }
    }

    /// `true` if some users had lines refused, and at least as many other users had all of their tried lines accepted.
    /// The refused lines are then bad themselves, however many they are.
    var isMajorityAccepted: Bool {
        !refused.isEmpty && accepted.count { !refused.contains($0) } >= refused.count
    }
}

/// A response that accepts some lines and refuses others (Logz.io's 400).
package struct PartialAnswer: Equatable, Sendable {
    /// The number of accepted lines; nil if the response does not state it.
    package var successful: Int?
    /// The indexes of the lines in the request that are known to break the destination's rules.
    package var invalidLines: [Int]
    /// The number of lines that were not sent because they had no content. `successful` includes them, but they say
    /// nothing about the destination.
    package private(set) var unsentCount = 0

    package init(successful: Int?, invalidLines: [Int] = []) {
        self.successful = successful
        self.invalidLines = invalidLines
    }

    /// Returns the response for a part from which some lines were not sent because they had no content. Those count as
    /// accepted.
    ///
    /// - Parameters:
    ///   - count: The number of lines in the part.
    ///   - sent: The indexes, within the part, of the lines that were sent.
    package func ofPart(count: Int, sent: [Int]) -> PartialAnswer {
        let left = count - sent.count
        var answer = PartialAnswer(
            successful: successful.map { min($0, .max - left) + left },
            invalidLines: invalidLines.compactMap { sent.indices.contains($0) ? sent[$0] : nil })
        answer.unsentCount = left
        return answer
    }
}
