/// Whether it is the lines' fault that so many of a batch are refused, or rather the sender's or the account's.
struct RefusalEvidence: Equatable, Sendable {
    /// Lines of the batch that have come to their end and left it.
    private var delivered = 0
    private var refused = 0
    /// The most that were refused before that was taken back.
    private var takenBack = 0
    /// What was said of the largest part of which some were refused, that of all lines if they went at once.
    private var largest = (refused: 0, count: 0)

    static func == (left: RefusalEvidence, right: RefusalEvidence) -> Bool {
        left.delivered == right.delivered && left.refused == right.refused && left.takenBack == right.takenBack
            && left.largest == right.largest
    }

    mutating func met(refused: Int, of count: Int) {
        if count > largest.count { largest = (refused, count) }
    }

    mutating func tookBack(refused: Int) { takenBack = max(takenBack, refused) }

    mutating func ended(delivered: Int, refused: Int) {
        self.delivered += delivered
        self.refused += refused
    }

    /// Most of those that have come to their end were refused, and more than was said of all of them.
    ///
    /// - Parameter delivered: Of the lines that are in the batch still.
    func isTheirFault(delivered: Int, refused: Int) -> Bool {
        let refused = refused + self.refused
        return refused > max(Bisection.mostDead, delivered + self.delivered, told)
    }

    func isMostTaken(delivered: Int, refused: Int) -> Bool {
        max(delivered + self.delivered, told) > max(refused + self.refused, takenBack)
    }

    /// How many lines were said to be refused, where most were said to be taken.
    private var told: Int { largest.refused * 2 <= largest.count ? largest.refused : 0 }
}
