import Testing

@testable import IssueCore

struct BisectionTests {
    /// A destination that refuses some lines and counts how often it has accepted each of the others.
    private struct Destination {
        var poison: Set<Int> = []
        var huge: Set<Int> = []
        var maxLines = Int.max
        var tellsCounts = true
        var taken: [Int: Int] = [:]
        var requests = 0

        mutating func answer(_ part: Bisection.Part, of bisection: inout Bisection) -> Bisection.Step {
            requests += 1
            if part.range.count > maxLines || (!huge.isDisjoint(with: part.range) && !part.isCut) {
                return bisection.tooLarge()
            }
            let bad = poison.intersection(part.range)
            for line in part.range where !bad.contains(line) { taken[line, default: 0] += 1 }
            if bad.isEmpty { return bisection.accepted() }
            return bisection.partiallyAccepted(
                PartialAnswer(successful: tellsCounts ? part.range.count - bad.count : nil))
        }

        mutating func run(_ bisection: inout Bisection, atMost limit: Int? = nil) -> Bisection.Step {
            while let part = bisection.next(atMost: limit) {
                let step = answer(part, of: &bisection)
                if step == .done || step == .stop { return step }
            }
            return .done
        }
    }

    @Test("One bad line among five hundred is found at any position, within 2·log2(n) requests after the first")
    func onePoison() {
        for line in 0..<500 {
            var destination = Destination(poison: [line])
            var bisection = Bisection(count: 500)

            #expect(destination.run(&bisection) == .done)
            #expect(bisection.dead == [.init(line: line, reason: .refused)])
            #expect(bisection.delivered.map(\.count).reduce(0, +) == 499)
            #expect(destination.requests - 1 <= 18)
            #expect(destination.taken.values.allSatisfy { $0 <= 10 })
        }
    }

    @Test("Lines that must not be sent again stay refused, however many they are and whatever happens later")
    func final() {
        var bisection = Bisection(count: 200)
        let first = bisection.next(atMost: 60)
        #expect(first?.range == 0..<60)
        let refusal = PartialAnswer(successful: 0, invalidLines: Array(0..<60), isFinal: true)
        #expect(bisection.partiallyAccepted(refusal) == .proceed)
        #expect(bisection.hasPartialOutcome)
        _ = bisection.next(atMost: 60)
        bisection.requestFailed()
        bisection.stop()
        #expect(bisection.left == LineSet([60..<200]))
        #expect(bisection.finallyDead.map(\.line) == Array(0..<60))
        bisection.removeFinished()
        #expect(bisection.finallyDead.isEmpty)
        while let part = bisection.next() {
            let lines = Array(0..<part.range.count)
            _ = bisection.partiallyAccepted(PartialAnswer(successful: 0, invalidLines: lines, isFinal: true))
        }
        #expect(bisection.isDone && bisection.finallyDead.count == 140 && bisection.dead.isEmpty)
    }

    @Test("Lines of a final refusal that were not sent are skipped")
    func finalWithUnsent() {
        var bisection = Bisection(count: 3)
        _ = bisection.next()
        let answer = PartialAnswer(successful: 0, invalidLines: [0, 1], isFinal: true).ofPart(count: 3, sent: [0, 2])
        #expect(bisection.partiallyAccepted(answer, unsent: LineSet([1..<2])) == .done)
        #expect(bisection.finallyDead.map(\.line) == [0, 2])
        #expect(bisection.skipped == [1..<2] && bisection.delivered.isEmpty)
    }

    @Test("Each line is either delivered or dead, and only refused lines are dead", arguments: 0..<60 as Range<UInt64>)
    func property(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        let count = Int(traffic.number(below: 300)) + 1
        var destination = Destination()
        let (poisons, huges) = (traffic.number(below: 20), traffic.number(below: 4))
        for _ in 0..<poisons { destination.poison.insert(Int(traffic.number(below: Int64(count)))) }
        for _ in 0..<huges { destination.huge.insert(Int(traffic.number(below: Int64(count)))) }
        destination.maxLines = traffic.happens(oneIn: 2) ? 40 : .max
        destination.tellsCounts = !traffic.happens(oneIn: 3)
        var bisection = Bisection(count: count)

        #expect(destination.run(&bisection, atMost: traffic.happens(oneIn: 3) ? 10 : nil) == .done)

        let delivered = bisection.delivered.flatMap { Array($0) }
        #expect((delivered + bisection.dead.map(\.line)).sorted() == Array(0..<count))
        #expect(Set(bisection.dead.map(\.line)) == destination.poison)
        #expect(delivered.allSatisfy { destination.taken[$0] != nil })
        #expect(bisection.isDone)
    }

    @Test("If the lines known to be refused explain the response exactly, nothing is sent again")
    func invalidLines() {
        var bisection = Bisection(count: 5)
        _ = bisection.next()

        #expect(bisection.partiallyAccepted(PartialAnswer(successful: 3, invalidLines: [1, 4])) == .done)
        #expect(bisection.delivered == [0..<1, 2..<4])
        #expect(bisection.dead.map(\.line) == [1, 4])
    }

    @Test(
        "After a response with missing or impossible counts, the same lines are sent once more before they are halved",
        arguments: [nil, 2, 7, -1])
    func invalid(successful: Int?) {
        var bisection = Bisection(count: 2)

        #expect(bisection.next()?.range == 0..<2)
        #expect(bisection.partiallyAccepted(PartialAnswer(successful: successful)) == .proceed)
        #expect(bisection.next()?.range == 0..<2)
        #expect(bisection.partiallyAccepted(PartialAnswer(successful: successful)) == .proceed)
        #expect(bisection.next()?.range == 0..<1)
        #expect(bisection.dead.isEmpty)
    }

    @Test("A single line that is too large is truncated, and given up if that does not help")
    func cut() {
        var bisection = Bisection(count: 1)

        _ = bisection.next()
        #expect(bisection.tooLarge() == .cut(line: 0))
        #expect(bisection.next()?.isCut == true)
        #expect(bisection.tooLarge() == .done)
        #expect(bisection.dead == [.init(line: 0, reason: .tooLarge)])
    }

    @Test("If more than 32 lines and the majority are refused, bisection stops and no line is given up")
    func stop() {
        var destination = Destination(poison: Set(0..<200))
        var bisection = Bisection(count: 200)

        #expect(destination.run(&bisection) == .stop)
        #expect(bisection.dead.isEmpty)

        destination.poison = []
        #expect(destination.run(&bisection) == .done)
        #expect(bisection.delivered.map(\.count).reduce(0, +) == 200)
    }

    @Test("A part whose request failed is sent again first; giving up a batch gives up all its remaining lines")
    func requestFailed() {
        var bisection = Bisection(count: 30)
        _ = bisection.next(atMost: 10)
        _ = bisection.accepted()
        _ = bisection.next(atMost: 10)
        bisection.requestFailed()

        #expect(bisection.next()?.range == 10..<20)
        bisection.giveUp()
        #expect(bisection.isDone)
        #expect(bisection.delivered == [0..<10])
        #expect(bisection.dead.map(\.line) == Array(10..<30))
    }
}

/// Users of the lines: one user must not be able to pause a destination for others.
extension BisectionTests {
    /// Runs a bisection of lines of these users. All lines of the users in `bad` are bad.
    private func run(_ users: [UInt32?], bad: Set<UInt32>) -> (step: Bisection.Step, Bisection, Destination) {
        var destination = Destination()
        for (line, user) in users.enumerated() {
            if let user, bad.contains(user) { destination.poison.insert(line) }
        }
        var bisection = Bisection(count: users.count, users: users)
        let step = destination.run(&bisection)
        return (step, bisection, destination)
    }

    @Test("The bad lines of one user are given up, however many they are, if those of another user are accepted")
    func oneBadUser() {
        let bad = [UInt32?](repeating: 1001, count: 300)
        let good: [UInt32?] = [nil, 1000, 1000]
        let batches: [[UInt32?]] = [bad + good, good + bad, bad + good + bad, [1000] + bad]
        for users in batches {
            let (step, bisection, destination) = run(users, bad: [1001])
            #expect(step == .done)
            #expect(bisection.dead.count == users.count { $0 == 1001 })
            #expect(bisection.delivered.map(\.count).reduce(0, +) == users.count { $0 != 1001 })
            #expect(Set(bisection.dead.map(\.line)) == destination.poison)
            #expect(bisection.isMajorityAccepted)
        }
    }

    @Test("A destination that refuses the lines of all users is paused, and no line is given up")
    func everyUserRefused() {
        let users = [UInt32?](repeating: 1001, count: 300) + [UInt32?](repeating: 1000, count: 64)
        let (step, bisection, destination) = run(users, bad: [1000, 1001])
        #expect(step == .stop)
        #expect(bisection.dead.isEmpty)
        #expect(!bisection.isMajorityAccepted)
        #expect(destination.requests < 150)
    }

    @Test("A destination that refuses the lines of most users is paused, although it accepts those of one")
    func mostUsersRefused() {
        let users: [UInt32?] = (0..<400).map { UInt32(1000 + $0 % 4) }
        let (step, bisection, _) = run(users, bad: [1001, 1002, 1003])
        #expect(step == .stop)
        #expect(bisection.dead.isEmpty)
    }

    @Test("A destination is paused if it refuses all lines of the only user; summaries do not count as a user")
    func onlyUser() {
        let users: [UInt32?] = [UInt32?](repeating: 1000, count: 100) + [nil]
        let (step, bisection, _) = run(users, bad: [1000])
        #expect(step == .stop)
        #expect(bisection.dead.isEmpty)
    }

    @Test("When the lines with an outcome are removed, the other lines keep their users")
    func usersOfTheRest() {
        let users: [UInt32?] = [1000] + [UInt32?](repeating: 1001, count: 200)
        var destination = Destination(poison: Set(1...200))
        var bisection = Bisection(count: users.count, users: users)
        while bisection.dead.count < 40, let part = bisection.next(atMost: 10) {
            #expect(destination.answer(part, of: &bisection) == .proceed)
        }
        let given = bisection.dead.count
        bisection.removeFinished()
        destination.poison = Set(0..<bisection.left.count)
        #expect(destination.run(&bisection) == .done)
        #expect(bisection.dead.count == 200 - given)
    }
}

extension BisectionTests {
    @Test("Lines without content count as accepted, and the indexes of the others are mapped back")
    func left() {
        let answer = PartialAnswer(successful: 2, invalidLines: [1, 3, 7]).ofPart(count: 6, sent: [0, 2, 4, 5])
        #expect(answer.successful == 4)
        #expect(answer.invalidLines == [2, 5])
        let result = DeliveryResult(
            .partial(PartialAnswer(successful: 2, invalidLines: [1, 3, 7])), ResponseSummary("an answer"))
        let ofPart = result.ofPart(count: 6, sent: [0, 2, 4, 5])
        #expect(ofPart.verdict == .partial(answer))
        #expect(ofPart.unsent == LineSet([1..<2, 3..<4]))
        #expect(PartialAnswer(successful: nil).ofPart(count: 3, sent: [1]).successful == nil)
    }
}

/// Lines after which a destination closes the connection without a response.
extension BisectionTests {
    /// Sends lines to a destination that does not respond to some of them, or to no request while it is down.
    ///
    /// - Returns: The number of requests without a response.
    private func run(
        _ bisection: inout Bisection, unanswerable: Set<Int>, requests: Int = 1000, isUp: (Int) -> Bool = { _ in true }
    ) -> Int {
        var failedCount = 0
        var limit: Int?
        for request in 0..<requests {
            guard let part = bisection.next(atMost: limit) else { break }
            if isUp(request), unanswerable.isDisjoint(with: part.range) {
                _ = bisection.accepted()
                limit = limit.map { min($0 * 10, 1000) }
            } else {
                failedCount += 1
                _ = bisection.unanswered()
                limit = 1
            }
        }
        return failedCount
    }

    @Test(
        "A line that gets no response is found and given up, and all others are delivered",
        arguments: [0, 3, 250, 400])
    func oneUnanswered(line: Int) {
        var bisection = Bisection(count: 500)
        let failedCount = run(&bisection, unanswerable: [line])
        #expect(bisection.isDone)
        #expect(bisection.dead == [.init(line: line, reason: .refused)])
        #expect(bisection.delivered.map(\.count).reduce(0, +) == 499)
        #expect(failedCount <= 30)
    }

    @Test("Adjacent lines of one user that get no response are given up, and the lines of another user are delivered")
    func manyUnanswered() {
        let users = [UInt32?](repeating: 1001, count: 20) + [UInt32?](repeating: 1000, count: 200)
        var bisection = Bisection(count: users.count, users: users)
        _ = run(&bisection, unanswerable: Set(0..<20))
        #expect(bisection.delivered.map(\.count).reduce(0, +) == 200)
        #expect(bisection.isBlocked)
        var roundCount = 0
        while !bisection.isDone, roundCount < 100 {
            roundCount += 1
            // One accepted request would not suffice: the destination could be failing for every second request.
            for _ in 0..<2 { bisection.otherRequestEnded(isAccepted: true) }
            _ = bisection.next(atMost: 1)
            _ = bisection.unanswered()
        }
        #expect(roundCount <= 80)
        #expect(bisection.dead.map(\.line).sorted() == Array(0..<20))
        #expect(bisection.delivered.map(\.count).reduce(0, +) == 200)
    }

    @Test("In an outage no line is given up, whether or not lines were accepted before")
    func outage() {
        var bisection = Bisection(count: 100)
        _ = run(&bisection, unanswerable: [], isUp: { _ in false })
        #expect(bisection.dead.isEmpty)
        #expect(bisection.left.count == 100)

        // An intermittent outage.
        _ = run(&bisection, unanswerable: [], isUp: { $0 / 20 % 2 == 1 })
        #expect(bisection.dead.isEmpty)
        #expect(bisection.isDone)

        bisection = Bisection(count: 100)
        _ = bisection.next(atMost: 10)
        _ = bisection.accepted()
        _ = run(&bisection, unanswerable: [], isUp: { _ in false })
        #expect(bisection.dead.isEmpty)
        #expect(bisection.left.count == 90)
    }

    @Test("If no other line is left, a line is given up only after requests of other batches were accepted")
    func lastUnanswered() {
        var bisection = Bisection(count: 2)
        _ = run(&bisection, unanswerable: [1], requests: 50)
        #expect(bisection.dead.isEmpty)
        #expect(bisection.isBlocked)
        var roundCount = 0
        var isGivenUp = false
        while !isGivenUp, roundCount < 10 {
            roundCount += 1
            // One accepted request would not suffice: the destination could be failing for every second request.
            for _ in 0..<2 { bisection.otherRequestEnded(isAccepted: true) }
            _ = bisection.next()
            isGivenUp = bisection.unanswered()
        }
        // The line's first request came directly after the accepted line of its own batch, so it was a proof already.
        #expect(roundCount == Bisection.maxUnanswered - 1)
        #expect(bisection.dead == [.init(line: 1, reason: .refused)])
        #expect(bisection.isDone)
    }

    @Test(
        "If a destination fails at regular intervals, such as for every second request, no line is given up",
        arguments: 2...5)
    func regularFailures(interval: Int) {
        let two = [UInt32?](repeating: 1000, count: 100) + [UInt32?](repeating: 1001, count: 100)
        for users in [two, []] {
            var bisection = Bisection(count: 200, users: users)
            _ = run(&bisection, unanswerable: [], isUp: { $0 % interval != 0 })
            #expect(bisection.dead.isEmpty)
            #expect(bisection.isDone)
        }
    }

    @Test("A line is not given up if its failures alternate with single accepted requests of another batch")
    func alternatingBatches() {
        var bisection = Bisection(count: 1)
        for _ in 0..<40 {
            bisection.otherRequestEnded(isAccepted: true)
            _ = bisection.next()
            let isGivenUp = bisection.unanswered()
            #expect(!isGivenUp)
        }
        // Two accepted requests in a row show that the destination does not fail for every second request.
        for _ in 0..<4 {
            for _ in 0..<2 { bisection.otherRequestEnded(isAccepted: true) }
            _ = bisection.next()
            _ = bisection.unanswered()
        }
        #expect(bisection.dead == [.init(line: 0, reason: .refused)])
    }

    @Test("The failure of a suspect of another batch does not show that the destination is the cause")
    func suspectOfOtherBatch() {
        func isGivenUp(isOfSuspect: Bool) -> Bool {
            var bisection = Bisection(count: 1)
            for _ in 0..<Bisection.maxUnanswered {
                bisection.otherRequestEnded(isAccepted: false, isOfSuspect: isOfSuspect)
                for _ in 0..<2 { bisection.otherRequestEnded(isAccepted: true) }
                _ = bisection.next()
                if bisection.unanswered() { return true }
            }
            return false
        }
        #expect(isGivenUp(isOfSuspect: true))
        #expect(!isGivenUp(isOfSuspect: false))
    }

    @Test("Lines of an accepted request that were not sent count as skipped, not as delivered")
    func partlyAccepted() {
        var bisection = Bisection(count: 6)
        _ = bisection.next(atMost: 4)
        let step = bisection.accepted(unsent: LineSet([0..<1, 2..<3]))
        #expect(step == .proceed)
        #expect(bisection.delivered == [1..<2, 3..<4])
        #expect(bisection.skipped == [0..<1, 2..<3])
        _ = bisection.next()
        let end = bisection.partiallyAccepted(
            PartialAnswer(successful: 0, invalidLines: [0]).ofPart(count: 2, sent: [1]), unsent: LineSet([0..<1]))
        #expect(end == .done)
        #expect(bisection.dead == [.init(line: 5, reason: .refused)])
        #expect(bisection.skipped == [0..<1, 2..<3, 4..<5])
        #expect(bisection.delivered == [1..<2, 3..<4])
    }

    @Test("Lines that were not sent do not show that the destination works")
    func skipped() {
        var bisection = Bisection(count: 40, users: [1001] + [UInt32?](repeating: 1000, count: 39))
        _ = bisection.next(atMost: 1)
        let step = bisection.skip()
        #expect(step == .proceed)
        #expect(bisection.skipped == [0..<1])
        var destination = Destination(poison: Set(1..<40))
        let end = destination.run(&bisection)
        #expect(end == .stop)
        #expect(!bisection.isMajorityAccepted)
    }

    @Test("Lines of a request that were not sent do not show that the destination works either")
    func partlySent() {
        var bisection = Bisection(count: 500)
        _ = bisection.next()
        // Only forty of them still have content, and all of these are refused.
        let answer = PartialAnswer(successful: 0).ofPart(count: 500, sent: Array(0..<40))
        _ = bisection.partiallyAccepted(answer, unsent: LineSet([40..<500]))
        var destination = Destination(poison: Set(0..<40))
        let end = destination.run(&bisection, atMost: 1)
        #expect(end == .stop)
    }

    @Test("Refused lines are sent again once a request is accepted, but not before each further request with a suspect")
    func keptRefusals() {
        var bisection = Bisection(count: 2)
        for _ in 0..<Bisection.maxUnanswered {
            #expect(bisection.next(atMost: 1)?.range == 0..<1)
            let isGivenUp = bisection.unanswered()
            #expect(!isGivenUp)
        }
        #expect(bisection.next()?.range == 1..<2)
        let refusal = bisection.partiallyAccepted(PartialAnswer(successful: 0))
        #expect(refusal == .proceed)
        for _ in 0..<2 {
            #expect(bisection.next()?.range == 0..<1)
            let isGivenUp = bisection.unanswered()
            #expect(!isGivenUp)
            let isKept = bisection.keepRefusals()
            #expect(isKept)
        }
        #expect(bisection.next()?.range == 0..<1)
        let acceptance = bisection.accepted()
        #expect(acceptance == .proceed)
        #expect(bisection.next()?.range == 1..<2)
        let end = bisection.partiallyAccepted(PartialAnswer(successful: 0))
        #expect(end == .done)
        #expect(bisection.delivered == [0..<1])
        #expect(bisection.dead == [.init(line: 1, reason: .refused)])
    }

    @Test("If a request of another batch fails as well, a line is not given up")
    func failuresOfOthers() {
        var bisection = Bisection(count: 2)
        _ = run(&bisection, unanswerable: [1], requests: 50)
        for round in 0..<40 {
            bisection.otherRequestEnded(isAccepted: round % 2 == 0)
            guard round % 2 == 0 else { continue }
            _ = bisection.next()
            let isGivenUp = bisection.unanswered()
            #expect(!isGivenUp)
        }
        #expect(bisection.dead.isEmpty)
    }

    @Test("Lines of a user whose lines got no response in an earlier batch are given up sooner")
    func knownUser() {
        func failures(known: Set<UInt32>) -> Int {
            let users: [UInt32?] = [1001] + [UInt32?](repeating: 1000, count: 99)
            var bisection = Bisection(count: 100, users: users, unansweredUsers: known)
            let count = run(&bisection, unanswerable: [0])
            #expect(bisection.dead == [.init(line: 0, reason: .refused)])
            #expect(bisection.unansweredUsers == [1001])
            return count
        }
        #expect(
            failures(known: []) - failures(known: [1001])
                == Bisection.maxUnanswered - Bisection.maxUnansweredOfKnownUser)
    }
}
