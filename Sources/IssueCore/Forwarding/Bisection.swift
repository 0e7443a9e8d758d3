/// Brings one batch to its end, in parts if need be: finds the lines that are refused and delivers all others.
///
/// A part of which some lines were refused is halved until the bad line
/// stands alone; only a line that was refused alone is given up. One bad line
/// of n costs at most 2·log2(n) requests, and a good line is sent again at
/// most log2(n) times, always with its own id. A part that is too large is
/// halved as well.
package struct Bisection: Equatable, Sendable {
    /// What goes into the next request.
    package struct Part: Equatable, Sendable {
        package var range: Range<Int>
        /// The line was too large and goes in its cut form.
        package var isCut = false
        /// An answer without sense was given for exactly this part already.
        var wasRepeated = false
        /// The other half of a refused part: if that is taken as a whole, some line in this one is refused.
        var otherHalf: Range<Int>?
        var isKnownBad = false

        init(_ range: Range<Int>) {
            self.range = range
        }
    }

    package enum Step: Equatable, Sendable {
        /// There is more to send.
        case proceed
        /// This line has to be cut before its part is sent.
        case cut(line: Int)
        /// So many lines are refused that it can't be their fault. None of them is given up.
        case stop
        case done
    }

    /// So many refused lines of one batch may be the lines' fault, also where they are most of those that were looked
    /// at.
    package static let maxDead = 32

    package private(set) var count: Int
    package private(set) var delivered: [Range<Int>] = []
    package private(set) var dead: [BatchOutcome.Dead] = []
    /// Among them are lines that the destination said it took, and that go again all the same.
    package private(set) var repeated = LineSet()
    /// What was learnt of the share that is refused.
    private var evidence = RefusalEvidence()
    /// The next one last.
    private var parts: [Part]
    private var inFlight: Part?

    package init(count: Int) {
        precondition(count > 0, "A batch without a line was to be sent")
        self.count = count
        parts = [Part(0..<count)]
    }

    package var isDone: Bool { parts.isEmpty && inFlight == nil }

    /// Some lines have come to their end, and others have not.
    package var isUnderWay: Bool { !isDone && !(delivered.isEmpty && dead.isEmpty) }

    /// As far as was seen, the destination takes most lines.
    package var isMostTaken: Bool { evidence.isMostTaken(delivered: deliveredCount, refused: refusedCount) }

    /// The lines that have not come to their end.
    package var left: LineSet { LineSet((parts + [inFlight].compactMap(\.self)).map(\.range)) }

    private var deliveredCount: Int { delivered.reduce(0) { $0 + $1.count } }
    private var refusedCount: Int { dead.count { $0.reason == .refused } }

    /// The next part to send, no longer than the limit.
    package mutating func next(atMost limit: Int? = nil) -> Part? {
        precondition(inFlight == nil, "A part was asked for while another is on its way")
        guard var part = parts.popLast() else { return nil }
        while part.isKnownBad, part.range.count > 1 {
            part = halve(part, isRefused: true)
        }
        if let limit, part.range.count > max(1, limit) {
            let middle = part.range.lowerBound + max(1, limit)
            parts.append(Part(middle..<part.range.upperBound))
            part = Part(part.range.lowerBound..<middle)
        }
        inFlight = part
        return part
    }

    /// The part was taken as a whole.
    package mutating func accepted() -> Step {
        let part = land()
        delivered.append(part.range)
        if let last = parts.indices.last, parts[last].otherHalf == part.range { parts[last].isKnownBad = true }
        return isDone ? .done : .proceed
    }

    /// Some lines of the part were refused.
    package mutating func partlyAccepted(_ answer: PartialAnswer) -> Step {
        let part = land()
        let length = part.range.count
        guard let successful = answer.successful, (0..<length).contains(successful) else {
            return repeatOnce(part)
        }
        evidence.met(refused: length - successful, of: length)
        let corruptionCheck = Set(answer.corruptionCheck.filter { (0..<length).contains($0) })
        if !corruptionCheck.isEmpty, corruptionCheck.count == length - successful {
            // The rules that are known explain the answer exactly.
            bury(part, corruptionCheck)
        } else if length == 1 {
            dead.append(.init(line: part.range.lowerBound, reason: .refused))
        } else {
            if successful > 0 { repeated.insert(part.range) }
            parts.append(halve(part, isRefused: true))
        }
        return afterRefusal()
    }

    /// The part is too large for one request.
    package mutating func tooLarge() -> Step {
        var part = land()
        if part.range.count > 1 {
            parts.append(halve(part, isRefused: false))
            return .proceed
        }
        if part.isCut {
            dead.append(.init(line: part.range.lowerBound, reason: .tooLarge))
            return isDone ? .done : .proceed
        }
        part.isCut = true
        parts.append(part)
        return .cut(line: part.range.lowerBound)
    }

    /// The part came to nothing and is next again.
    package mutating func notTaken() {
        parts.append(land())
    }

    /// Gives up all that is left.
    package mutating func giveUp(_ reason: DeadLetterReason) {
        if inFlight != nil { notTaken() }
        for part in parts.reversed() {
            dead += part.range.map { .init(line: $0, reason: reason) }
        }
        parts = []
    }

    private mutating func land() -> Part {
        guard let part = inFlight else {
            preconditionFailure("An answer came for a part that was never sent")
        }
        inFlight = nil
        return part
    }

    /// Leaves the right half behind and returns the left one.
    private mutating func halve(_ part: Part, isRefused: Bool) -> Part {
        let middle = part.range.lowerBound + part.range.count / 2
        var right = Part(middle..<part.range.upperBound)
        let left = Part(part.range.lowerBound..<middle)
        if isRefused { right.otherHalf = left.range }
        parts.append(right)
        return left
    }

    /// The answer says nothing, or contradicts itself: asked once more, then taken for a refusal.
    private mutating func repeatOnce(_ part: Part) -> Step {
        repeated.insert(part.range)
        guard part.wasRepeated else {
            var again = part
            again.wasRepeated = true
            parts.append(again)
            return .proceed
        }
        if part.range.count > 1 {
            parts.append(halve(part, isRefused: true))
        } else {
            dead.append(.init(line: part.range.lowerBound, reason: .refused))
        }
        return afterRefusal()
    }

    private mutating func bury(_ part: Part, _ corruptionCheck: Set<Int>) {
        var begin = part.range.lowerBound
        for line in corruptionCheck.sorted().map({ part.range.lowerBound + $0 }) {
            if begin < line { delivered.append(begin..<line) }
            dead.append(.init(line: line, reason: .refused))
            begin = line + 1
        }
        if begin < part.range.upperBound { delivered.append(begin..<part.range.upperBound) }
    }

    private mutating func afterRefusal() -> Step {
        guard evidence.isTheirFault(delivered: deliveredCount, refused: refusedCount) else {
            return isDone ? .done : .proceed
        }
        stop()
        return .stop
    }

    /// Takes back what was given up as refused: the fault is not the lines'.
    ///
    /// What has not been looked at goes first when it is tried again.
    package mutating func stop() {
        evidence.tookBack(refused: refusedCount)
        let back = dead.filter { $0.reason == .refused }.map { Part($0.line..<$0.line + 1) }
        dead.removeAll { $0.reason == .refused }
        parts = back.reversed() + parts.map { Part($0.range) }
    }

    /// Takes back what was refused, unless most lines were taken: it may still turn out not to be their fault.
    package mutating func takeBack() {
        if refusedCount > 0, !isMostTaken { stop() }
    }

    /// Goes on with the lines that are left, counted among themselves.
    package mutating func forgetEnded() {
        let left = left
        evidence.ended(delivered: deliveredCount, refused: refusedCount)
        repeated = repeated.counted(among: left)
        // The parts are all that is left, so each begins where those before it end.
        var places: [Int: Int] = [:]
        var end = 0
        for range in (parts + [inFlight].compactMap(\.self)).map(\.range).sorted(by: { $0.lowerBound < $1.lowerBound })
        {
            places[range.lowerBound] = end
            end += range.count
        }
        func moved(_ part: Part) -> Part {
            guard let place = places[part.range.lowerBound] else {
                preconditionFailure("A part is not among what is left")
            }
            var moved = Part(place..<place + part.range.count)
            moved.wasRepeated = part.wasRepeated
            moved.isKnownBad = part.isKnownBad
            return moved
        }
        parts = parts.map(moved)
        inFlight = inFlight.map(moved)
        delivered = []
        dead = []
        count = left.count
    }
}

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
        return refused > max(Bisection.maxDead, delivered + self.delivered, told)
    }

    func isMostTaken(delivered: Int, refused: Int) -> Bool {
        max(delivered + self.delivered, told) > max(refused + self.refused, takenBack)
    }

    /// How many lines were said to be refused, where most were said to be taken.
    private var told: Int { largest.refused * 2 <= largest.count ? largest.refused : 0 }
}

/// An answer by which some lines were taken and others not (Logz.io's 400).
package struct PartialAnswer: Equatable, Sendable {
    /// How many lines were taken, as far as the answer says so.
    package var successful: Int?
    /// The lines of the request, counted from nothing, that are known to break the destination's rules.
    package var corruptionCheck: [Int]

    package init(successful: Int?, corruptionCheck: [Int] = []) {
        self.successful = successful
        self.corruptionCheck = corruptionCheck
    }

    /// The same of a part of which not every line was sent, since some had nothing left to send: they count as taken.
    ///
    /// - Parameter sent: The places in the part of the lines that were sent.
    package func ofPart(count: Int, sent: [Int]) -> PartialAnswer {
        let left = count - sent.count
        return PartialAnswer(
            successful: successful.map { min($0, .max - left) + left },
            corruptionCheck: corruptionCheck.compactMap { sent.indices.contains($0) ? sent[$0] : nil })
    }
}
