/// Finds the lines of a batch that the destination refuses, and delivers all others.
///
/// A part with refused lines is halved until the bad line is sent alone. A line that got a response counts as refused
/// only if it was refused alone, or if it is known exactly which lines the response refuses. One bad line among n costs
/// at most 2·log2(n) additional requests, and a good line is resent at most log2(n) times, always with the same id. A
/// part that is too large is halved as well.
///
/// A line may also make the destination hang or close the connection. A line that was sent alone and got no response is
/// then sent alternately with other lines. It counts as refused only if it keeps getting no response while each request
/// in between is accepted. In an outage no request is accepted, so no line is given up this way. The number of requests
/// in between varies, so that a destination that fails for every second request is not mistaken for one that refuses
/// the line.
package struct Bisection: Equatable, Sendable {
    /// The lines to put into the next request.
    package struct Part: Equatable, Sendable {
        package var range: Range<Int>
        /// Whether the line was too large and is sent in truncated form.
        package var isCut = false
        /// Whether an inconsistent response was already received for exactly this part.
        var wasRepeated = false
        /// The other half of a refused part. If all of it is accepted, a line in this half must be bad.
        var otherHalf: Range<Int>?
        /// Whether at least one of the lines must be bad. The part is then halved without being sent as a whole.
        var isKnownBad = false
        /// The number of requests with only this line that got no response.
        var unansweredCount = 0
        /// The number of proofs: requests with only this line that got no response, directly after `acceptedNeeded`
        /// accepted requests. Reset when a request that does not consist of a suspect fails.
        var provenCount = 0
        /// Whether the line, since its last proof, also got no response to a request that did not come directly after
        /// an accepted one.
        var hasFailedAgain = false
        /// Whether this single line may be the reason why the destination did not respond.
        var isSuspect = false

        init(_ range: Range<Int>) {
            self.range = range
        }

        /// Returns the part with new indexes of its lines, without `otherHalf` and `isCut`.
        func moved(to range: Range<Int>) -> Part {
            var moved = self
            moved.range = range
            moved.otherHalf = nil
            moved.isCut = false
            return moved
        }

        /// The number of consecutive accepted requests after which a request without a response is a proof.
        ///
        /// Two before every second proof, unless `hasFailedAgain`. If one always sufficed, a line could be given up at
        /// a destination that fails for every second request, such as a load balancer with one broken server: it could
        /// accept all other lines and never this one.
        var acceptedNeeded: Int { provenCount % 2 == 1 && !hasFailedAgain ? 2 : 1 }
    }

    package enum Step: Equatable, Sendable {
        /// There are more lines to send.
        case proceed
        /// This line must be truncated before its part is sent.
        case cut(line: Int)
        /// Too many lines are refused. The lines are probably not the cause. None of them is given up.
        case stop
        case done
    }

    /// Up to this number, refused lines are considered bad themselves even if they are the majority of the lines tried.
    package static let maxDead = 32
    /// A line counts as refused after this number of proofs: requests that had only this line, came directly after
    /// accepted requests and got no response. Also the number of requests without a response after which a line becomes
    /// a suspect at the latest, and after which the batch is stuck.
    package static let maxUnanswered = 5
    /// The number of proofs that suffice if another line of the same user was already given up after proofs.
    package static let maxUnansweredOfKnownUser = 3
    /// Without a proof, other lines are sent before suspects only while there are fewer suspects than this.
    private static let maxSuspects = 8

    package private(set) var delivered: [Range<Int>] = []
    /// Lines that were not sent because their records were removed. They say nothing about the destination.
    package private(set) var skipped: [Range<Int>] = []
    package private(set) var dead: [BatchOutcome.Dead] = []
    /// Refused lines that must not be sent again (`PartialAnswer.isFinal`). They are never taken back.
    package private(set) var finallyDead: [BatchOutcome.Dead] = []
    /// Lines that are sent again although the destination may have accepted them.
    package private(set) var repeated = LineSet()
    /// The evidence about the share of refused lines.
    private var evidence = RefusalEvidence()
    /// The accountable user of each line, nil for a summary or a correction; empty if the users are unknown.
    private var users: [UInt32?]
    /// A stack: the last part is sent next.
    private var parts: [Part]
    private var inFlight: Part?
    /// The number of accepted requests since the last failed one. Includes requests of other batches.
    private var acceptedInSequence = 0
    private var hasSuspects = false
    /// Whether the last failed request of this batch consisted of a suspect.
    private(set) var isLastFailureOfSuspect = false
    /// Whether uncertain refusals (see `takeBack`) were kept after a failed request with a suspect.
    private var hasKeptRefusals = false
    /// Whether a single line got no response directly after an accepted request.
    private var hasProof = false
    /// The number of requests of this batch without a response since the last accepted request of any batch.
    private var unansweredInSequence = 0
    /// Whether `maxUnanswered` requests got no response without an accepted one in between, or all remaining lines
    /// became suspects. Reset when a request of this batch is accepted.
    private(set) var isStuck = false
    /// The users of lines that were given up because they got no response, in this batch or earlier ones.
    package private(set) var unansweredUsers: Set<UInt32>

    /// - Parameters:
    ///   - count: The number of lines of the batch.
    ///   - users: The accountable user of each line, nil for a summary or a correction; empty if the users are unknown.
    ///   - unansweredUsers: The users of lines of earlier batches that were given up because they got no response.
    package init(count: Int, users: [UInt32?] = [], unansweredUsers: Set<UInt32> = []) {
        precondition(count > 0, "A batch must have at least one line")
        precondition(users.isEmpty || users.count == count, "Each line must have a user or nil")
        self.users = users
        self.unansweredUsers = unansweredUsers
        parts = [Part(0..<count)]
    }

    /// Whether other batches may be sent first: the destination works, but probably responds to none of the remaining
    /// lines, or enough of these have been tried often.
    package var isBlocked: Bool { isProven || isExhausted }

    /// Whether the destination works, but probably responds to none of the remaining lines.
    var isProven: Bool { hasProof && isStuck }

    /// Whether each remaining line, or `maxSuspects` of them, was sent alone `maxUnanswered` times and got no response.
    private var isExhausted: Bool {
        let count = parts.count { $0.unansweredCount >= Self.maxUnanswered }
        return count > 0 && count >= min(parts.count, Self.maxSuspects)
    }

    /// Whether priority records may be sent before this batch, even if it has priority records itself: it is blocked,
    /// or it is stuck and no line of a user without suspects is left.
    var yieldsToPriority: Bool { isBlocked || isStuck && !hasLine(ofOtherThan: suspectUsers) }

    /// The users of the suspects.
    var suspectUsers: Set<UInt32> {
        users.isEmpty ? [] : Set(parts.compactMap { $0.isSuspect ? users[$0.range.lowerBound] : nil })
    }

    /// Whether a line without an outcome belongs to a user who is not in `known`.
    private func hasLine(ofOtherThan known: Set<UInt32>) -> Bool {
        !users.isEmpty
            && parts.contains { part in
                part.range.contains { line in users[line].map { !known.contains($0) } ?? false }
            }
    }

    /// Moves the next run of lines of users other than `known` to the top of the stack. Returns `false` if there are
    /// none, or if `known` is empty.
    mutating func begin(withOtherThan known: Set<UInt32>) -> Bool {
        !known.isEmpty && !users.isEmpty && moveToTop(otherThan: known)
    }

    /// Whether only suspects are left, and more requests of other batches must be accepted before the next request
    /// without a response is a proof.
    var needsOtherRequests: Bool {
        isBlocked && parts.allSatisfy { $0.isSuspect && $0.acceptedNeeded > acceptedInSequence }
    }

    package var isDone: Bool { parts.isEmpty && inFlight == nil }

    /// Whether some lines have an outcome and others do not.
    package var hasPartialOutcome: Bool {
        !isDone && !(delivered.isEmpty && skipped.isEmpty && dead.isEmpty && finallyDead.isEmpty)
    }

    /// Whether, as far as known, the destination accepts the majority of the lines, or `TriedUsers` shows that the
    /// refused lines are bad themselves.
    package var isMajorityAccepted: Bool {
        evidence.isMajorityAccepted(delivered: deliveredCount, refused: refusedCount)
            || triedUsers.isMajorityAccepted
    }

    /// The lines without an outcome.
    package var left: LineSet { LineSet((parts + [inFlight].compactMap(\.self)).map(\.range)) }

    private var deliveredCount: Int { delivered.reduce(0) { $0 + $1.count } }
    private var refusedCount: Int { dead.count { $0.reason == .refused } }

    /// Returns the next part to send, or nil if none is left.
    ///
    /// - Parameter limit: The maximum number of lines; nil for no limit.
    package mutating func next(atMost limit: Int? = nil) -> Part? {
        precondition(inFlight == nil, "A part was requested while another is in flight")
        if hasSuspects { orderSuspects() }
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

    /// Handles a response that accepts the whole part.
    ///
    /// - Parameter unsent: The lines of the part, as indexes in it, that were not sent because their records were
    ///   removed.
    package mutating func accepted(unsent: LineSet = LineSet()) -> Step {
        let part = takeInFlight()
        finish(part.range, of: part, except: unsent)
        acceptedInSequence += 1
        unansweredInSequence = 0
        isStuck = false
        if let last = parts.indices.last, parts[last].otherHalf == part.range { parts[last].isKnownBad = true }
        if part.isSuspect { clearSuspects() }
        // The kept refusals may be old, and the destination works now.
        if hasKeptRefusals { takeBack() }
        return isDone ? .done : .proceed
    }

    /// Handles a response that refuses some lines of the part.
    ///
    /// - Parameters:
    ///   - answer: The response. Lines that were not sent count as accepted.
    ///   - unsent: The lines of the part, as indexes in it, that were not sent because their records were removed.
    package mutating func partiallyAccepted(_ answer: PartialAnswer, unsent: LineSet = LineSet()) -> Step {
        let part = takeInFlight()
        let length = part.range.count
        guard let successful = answer.successful, (0..<length).contains(successful) else {
            return repeatOnce(part)
        }
        let invalidLines = Set(answer.invalidLines.filter { (0..<length).contains($0) })
        if answer.isFinal, invalidLines.count == length - successful {
            let known = dead.count
            markDead(part, invalidLines, unsent: unsent)
            finallyDead += dead[known...]
            dead.removeSubrange(known...)
            return isDone ? .done : .proceed
        }
        evidence.recordPart(refused: length - successful, of: length - unsent.count)
        if !invalidLines.isEmpty, invalidLines.count == length - successful {
            // It is known which lines the response refuses.
            markDead(part, invalidLines, unsent: unsent)
        } else if length == 1 {
            dead.append(.init(line: part.range.lowerBound, reason: .refused))
        } else {
            if successful > unsent.count { repeated.insert(part.range) }
            parts.append(halve(part, isRefused: true))
        }
        return afterRefusal()
    }

    /// Handles a response that states that the part is too large for one request.
    package mutating func tooLarge() -> Step {
        var part = takeInFlight()
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

    /// Puts the part back after a failed request, to be sent next.
    package mutating func requestFailed() {
        let part = takeInFlight()
        noteFailure(of: part)
        parts.append(part)
    }

    /// Handles a request that was sent but got no response. The part is put back, unless it is a single line that is
    /// given up.
    ///
    /// - Returns: `true` if the line was given up.
    package mutating func unanswered() -> Bool {
        var part = takeInFlight()
        let followsAccepted = acceptedInSequence > 0
        let isProof = acceptedInSequence >= part.acceptedNeeded
        noteFailure(of: part)
        unansweredInSequence += 1
        if unansweredInSequence >= Self.maxUnanswered { isStuck = true }
        guard part.range.count == 1 else {
            // The destination worked just before, so some of the lines may be the cause.
            if followsAccepted { part = halve(part, isRefused: false) }
            parts.append(part)
            return false
        }
        let line = part.range.lowerBound
        let user = users.isEmpty ? nil : users[line]
        part.unansweredCount += 1
        if followsAccepted { hasProof = true } else { part.hasFailedAgain = true }
        if isProof {
            part.provenCount += 1
            part.hasFailedAgain = false
        }
        let isKnownUser = user.map { unansweredUsers.contains($0) } ?? false
        guard part.provenCount >= (isKnownUser ? Self.maxUnansweredOfKnownUser : Self.maxUnanswered) else {
            if followsAccepted || part.unansweredCount >= Self.maxUnanswered {
                part.isSuspect = true
                hasSuspects = true
            }
            parts.append(part)
            if part.isSuspect, parts.allSatisfy(\.isSuspect) { isStuck = true }
            return false
        }
        takeBack()
        dead.append(.init(line: line, reason: .refused))
        if let user { unansweredUsers.insert(user) }
        return true
    }

    /// Records the result of a request for another batch of the same destination.
    ///
    /// - Parameters:
    ///   - isAccepted: `true` if it was accepted.
    ///   - isOfSuspect: `true` if it consisted of a suspect of the other batch.
    package mutating func otherRequestEnded(isAccepted: Bool, isOfSuspect: Bool = false) {
        if isAccepted {
            acceptedInSequence += 1
            unansweredInSequence = 0
        } else {
            acceptedInSequence = 0
            if !isOfSuspect { discardProofs() }
        }
    }

    /// Handles a part that was not sent because the records of all its lines were removed.
    package mutating func skip() -> Step {
        skipped.append(takeInFlight().range)
        return isDone ? .done : .proceed
    }

    private mutating func noteFailure(of part: Part) {
        acceptedInSequence = 0
        isLastFailureOfSuspect = part.isSuspect
        if hasSuspects, !part.isSuspect { discardProofs() }
    }

    /// Discards the proofs after a failed request with other lines, because the destination may be the cause of all
    /// failures.
    private mutating func discardProofs() {
        for index in parts.indices {
            parts[index].provenCount = 0
            parts[index].hasFailedAgain = false
        }
    }

    /// After enough accepted requests, moves a suspect to the top of the stack. Otherwise, if a suspect is at the top,
    /// moves other lines above it, unless there are none or, without a proof, `maxSuspects` is reached.
    private mutating func orderSuspects() {
        guard parts.contains(where: \.isSuspect) else {
            hasSuspects = false
            return
        }
        if let index = parts.lastIndex(where: { $0.isSuspect && $0.acceptedNeeded <= acceptedInSequence }) {
            parts.append(parts.remove(at: index))
            return
        }
        guard parts.last?.isSuspect == true else { return }
        let suspects = parts.filter(\.isSuspect).map(\.range.lowerBound)
        // Otherwise every line would become a suspect in an outage, and would then have to be sent alone.
        guard hasProof || suspects.count < Self.maxSuspects else { return }
        if !users.isEmpty {
            let known = Set(suspects.map { users[$0] }.compactMap(\.self))
            if moveToTop(otherThan: known) { return }
        }
        guard let index = parts.lastIndex(where: { !$0.isSuspect }) else { return }
        parts.append(parts.remove(at: index))
    }

    /// After a suspect was accepted, joins adjacent suspects without a proof into parts again: the destination was
    /// probably the cause of their failures.
    private mutating func clearSuspects() {
        let cleared = parts.filter { $0.isSuspect && $0.provenCount == 0 }.map(\.range)
        parts.removeAll { $0.isSuspect && $0.provenCount == 0 }
        parts += LineSet(cleared).ranges.reversed().map { Part($0) }
    }

    /// Gives up all lines without an outcome, because the time for retries has elapsed.
    package mutating func giveUp() {
        if inFlight != nil { requestFailed() }
        for part in parts.reversed() {
            dead += part.range.map { .init(line: $0, reason: .retriesExpired) }
        }
        parts = []
    }

    private mutating func takeInFlight() -> Part {
        guard let part = inFlight else {
            preconditionFailure("A response arrived although no part is in flight")
        }
        inFlight = nil
        return part
    }

    /// Pushes the right half onto the stack and returns the left half.
    private mutating func halve(_ part: Part, isRefused: Bool) -> Part {
        let middle = part.range.lowerBound + part.range.count / 2
        var right = Part(middle..<part.range.upperBound)
        let left = Part(part.range.lowerBound..<middle)
        if isRefused { right.otherHalf = left.range }
        parts.append(right)
        return left
    }

    /// Handles an inconsistent response: the first time, the part is sent again; the second time, it is treated as
    /// refused.
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

    private mutating func markDead(_ part: Part, _ invalidLines: Set<Int>, unsent: LineSet) {
        var start = part.range.lowerBound
        for line in invalidLines.sorted().map({ part.range.lowerBound + $0 }) {
            finish(start..<line, of: part, except: unsent)
            dead.append(.init(line: line, reason: .refused))
            start = line + 1
        }
        finish(start..<part.range.upperBound, of: part, except: unsent)
    }

    /// Marks lines of a part as delivered, except those that were not sent. These are skipped.
    ///
    /// - Parameters:
    ///   - lines: The lines, as indexes in the batch.
    ///   - part: The part to which they belong.
    ///   - unsent: The lines that were not sent, as indexes in the part.
    private mutating func finish(_ lines: Range<Int>, of part: Part, except unsent: LineSet) {
        var start = lines.lowerBound
        let offset = part.range.lowerBound
        let firstRange = unsent.ranges.firstPosition { $0.upperBound + offset > lines.lowerBound }
        for range in unsent.ranges[firstRange...] {
            let skippedLines = (range.lowerBound + offset..<range.upperBound + offset).clamped(to: lines)
            guard !skippedLines.isEmpty else { break }
            if start < skippedLines.lowerBound { delivered.append(start..<skippedLines.lowerBound) }
            skipped.append(skippedLines)
            start = skippedLines.upperBound
        }
        if start < lines.upperBound { delivered.append(start..<lines.upperBound) }
    }

    private mutating func afterRefusal() -> Step {
        guard evidence.isSystemicFailure(delivered: deliveredCount, refused: refusedCount) else {
            return isDone ? .done : .proceed
        }
        // All lines of one user may be bad, however many there are. The lines of other users show whether the
        // destination refuses everything.
        let tried = triedUsers
        if tried.isMajorityAccepted { return isDone ? .done : .proceed }
        if tried.refused.count == 1, moveToTop(otherThan: tried.refused) { return .proceed }
        stop()
        return .stop
    }

    /// The users whose lines were accepted or refused so far, including lines that were removed from the batch since.
    private var triedUsers: TriedUsers {
        var tried = evidence.triedUsers
        guard !users.isEmpty else { return tried }
        for range in delivered { tried.accept(users[range]) }
        for one in dead where one.reason == .refused { tried.refuse(users[one.line]) }
        return tried
    }

    /// Moves the next run of lines of users other than `known` to the top of the stack.
    ///
    /// - Returns: `false` if no other user has lines without an outcome.
    private mutating func moveToTop(otherThan known: Set<UInt32>) -> Bool {
        let users = users
        func isOther(_ line: Int) -> Bool { users[line].map { !known.contains($0) } ?? false }
        for index in parts.indices.reversed() {
            let range = parts[index].range
            guard let first = range.first(where: isOther) else { continue }
            let end = (first..<range.upperBound).first { !isOther($0) } ?? range.upperBound
            let part = parts.remove(at: index)
            guard first..<end != range else {
                parts.append(part)
                return true
            }
            // Nothing is known about the pieces of a part that is split.
            let rest = [end..<range.upperBound, range.lowerBound..<first].filter { !$0.isEmpty }
            parts.insert(contentsOf: rest.map { Part($0) }, at: index)
            parts.append(Part(first..<end))
            return true
        }
        return false
    }

    /// Takes back all refusals, because the lines are probably not the cause.
    ///
    /// These lines are sent last at the next attempt.
    package mutating func stop() {
        evidence.recordTakenBack(refused: refusedCount)
        let back = dead.filter { $0.reason == .refused }.map { Part($0.line..<$0.line + 1) }
        dead.removeAll { $0.reason == .refused }
        parts = back.reversed() + parts.map { Part($0.range) }
    }

    /// Takes back all refusals if they are uncertain, that is, unless `isMajorityAccepted`. Later responses may show
    /// that the lines are not the cause.
    package mutating func takeBack() {
        hasKeptRefusals = false
        if refusedCount > 0, !isMajorityAccepted { stop() }
    }

    /// Keeps uncertain refusals after a failed request with a suspect, until a request is accepted or a request with
    /// other lines fails.
    ///
    /// If they were taken back, the refused lines would be sent again before the next request with the suspect. Their
    /// responses would reset the time for retries, and the proofs would be lost, so the batch would never end.
    ///
    /// - Returns: `false` if the last failed request did not consist of a suspect, if there are no uncertain refusals,
    ///   or if other lines have an outcome that must be stored.
    mutating func keepRefusals() -> Bool {
        let refusedCount = refusedCount
        guard isLastFailureOfSuspect, refusedCount > 0, refusedCount == dead.count, delivered.isEmpty, skipped.isEmpty,
            finallyDead.isEmpty, !isMajorityAccepted
        else { return false }
        hasKeptRefusals = true
        return true
    }

    /// Removes the lines with an outcome and renumbers the others.
    package mutating func removeFinished() {
        let left = left
        let tried = triedUsers
        evidence.recordRemoved(delivered: deliveredCount, refused: refusedCount, tried)
        if !users.isEmpty { users = left.ranges.flatMap { users[$0] } }
        repeated = repeated.counted(among: left)
        // The parts cover all remaining lines, so in the new numbering each one starts where the previous one ends.
        var indexes: [Int: Int] = [:]
        var end = 0
        for range in (parts + [inFlight].compactMap(\.self)).map(\.range).sorted(by: { $0.lowerBound < $1.lowerBound })
        {
            indexes[range.lowerBound] = end
            end += range.count
        }
        func moved(_ part: Part) -> Part {
            guard let index = indexes[part.range.lowerBound] else {
                preconditionFailure("A part is not among the remaining lines")
            }
            return part.moved(to: index..<index + part.range.count)
        }
        parts = parts.map(moved)
        inFlight = inFlight.map(moved)
        delivered = []
        skipped = []
        dead = []
        finallyDead = []
    }

    /// Whether the batch can be merged with another one: no line is in flight, and no outcome waits to be stored.
    var isMergeable: Bool { inFlight == nil && !hasPartialOutcome }

    /// Adds the lines of another batch. Both must be mergeable.
    mutating func merge(_ other: Bisection, order: MergedLines) {
        precondition(isMergeable && other.isMergeable, "A batch is merged while some of its lines have an outcome")
        repeated = order.lines(ofFirst: repeated, ofSecond: other.repeated)
        users = order.values(ofFirst: users, ofSecond: other.users)
        // The lines of this batch are sent first.
        parts =
            other.parts.flatMap { part in
                order.lines(ofSecond: LineSet([part.range])).ranges.map { part.moved(to: $0) }
            }
            + parts.flatMap { part in
                order.lines(ofFirst: LineSet([part.range])).ranges.map { part.moved(to: $0) }
            }
        evidence.merge(other.evidence)
        unansweredUsers.formUnion(other.unansweredUsers)
        hasProof = hasProof || other.hasProof
        hasSuspects = true
        isStuck = isStuck || other.isStuck
        acceptedInSequence = 0
    }
}

/// Judges whether refused lines are bad themselves, or whether the destination or the account at the destination is the
/// cause.
struct RefusalEvidence: Equatable, Sendable {
    /// The numbers of delivered and of refused lines that have already been removed from the batch.
    private var delivered = 0
    private var refused = 0
    /// The users of those lines.
    private(set) var triedUsers = TriedUsers()
    /// The largest number of refusals that were taken back.
    private var maxTakenBack = 0
    /// The number of refused lines in the largest part that had any, and the number of lines sent in it. If all lines
    /// are sent at once, this part is the whole batch.
    private var (largestRefused, largestCount) = (0, 0)

    /// Records a response that refuses lines of a part.
    mutating func recordPart(refused: Int, of count: Int) {
        if count > largestCount { (largestRefused, largestCount) = (refused, count) }
    }

    mutating func recordTakenBack(refused: Int) { maxTakenBack = max(maxTakenBack, refused) }

    /// Adds the evidence about another batch.
    mutating func merge(_ other: RefusalEvidence) {
        delivered += other.delivered
        refused += other.refused
        triedUsers.merge(other.triedUsers)
        maxTakenBack = max(maxTakenBack, other.maxTakenBack)
        recordPart(refused: other.largestRefused, of: other.largestCount)
    }

    /// Adds the outcomes of lines that are removed from the batch.
    ///
    /// - Parameter users: The users of these lines and of the lines removed before.
    mutating func recordRemoved(delivered: Int, refused: Int, _ users: TriedUsers) {
        self.delivered += delivered
        self.refused += refused
        triedUsers = users
    }

    /// Returns `true` if the lines are probably not the cause. The number of refused lines is then above
    /// `Bisection.maxDead`, the number of delivered lines, and `statedRefusals`.
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

    mutating func merge(_ other: TriedUsers) {
        accepted.formUnion(other.accepted)
        refused.formUnion(other.refused)
    }

    /// Whether some users had lines refused, and at least as many other users had all of their tried lines accepted.
    /// The refused lines are then bad themselves, however many they are.
    var isMajorityAccepted: Bool {
        !refused.isEmpty && accepted.count { !refused.contains($0) } >= refused.count
    }
}

/// A response that refuses some or all lines.
package struct PartialAnswer: Equatable, Sendable {
    /// The number of accepted lines; nil if the response does not state it.
    package var successful: Int?
    /// The indexes of the lines in the request that are known to be refused.
    package var invalidLines: [Int]
    /// Whether the refused lines must not be sent again, whatever the cause is. `invalidLines` then has all of them.
    package var isFinal: Bool

    package init(successful: Int?, invalidLines: [Int] = [], isFinal: Bool = false) {
        self.successful = successful
        self.invalidLines = invalidLines
        self.isFinal = isFinal
    }

    /// Returns the response for a part from which some lines were not sent because their records were removed. The
    /// unsent lines count as accepted.
    ///
    /// - Parameters:
    ///   - count: The number of lines in the part.
    ///   - sent: The indexes, within the part, of the lines that were sent, in ascending order.
    package func ofPart(count: Int, sent: [Int]) -> PartialAnswer {
        let unsentCount = count - sent.count
        return PartialAnswer(
            successful: successful.map { min($0, .max - unsentCount) + unsentCount },
            invalidLines: invalidLines.compactMap { sent.indices.contains($0) ? sent[$0] : nil }, isFinal: isFinal)
    }
}
