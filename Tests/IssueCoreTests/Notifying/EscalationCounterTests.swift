import IssueCore
import IssueProtocol
import Testing

@Suite("Escalation of issues")
struct EscalationCounterTests {
    private static let rate = Rate(10, per: .seconds(120))

    private func instant(_ seconds: Int64) -> RecordLogInstant { RecordLogInstant(milliseconds: seconds * 1000) }

    private func group(_ number: Int64) -> GroupID { GroupID(rawValue: number) }

    @Test("An issue escalates at the occurrence that completes the number in a period, wherever the period begins")
    func sliding() {
        var counter = EscalationCounter(Self.rate)
        for second in 0..<5 as Range<Int64> {
            let isEarly = counter.count(1, of: group(1), uid: 1000, at: instant(100 + second))
            #expect(!isEarly)
        }
        // Periods are not aligned: occurrences before and after 120 s add up.
        for second in 0..<4 as Range<Int64> {
            let isEarly = counter.count(1, of: group(1), uid: 1000, at: instant(125 + second))
            #expect(!isEarly)
        }
        let isEscalated = counter.count(1, of: group(1), uid: 1000, at: instant(129))
        #expect(isEscalated)
    }

    @Test("Occurrences that are a period apart do not add up")
    func apart() {
        var counter = EscalationCounter(Self.rate)
        for round in 0..<50 as Range<Int64> {
            // Nine in a moment, and then none for the rest of the period.
            let isEscalated = counter.count(9, of: group(1), uid: 1000, at: instant(round * 120))
            #expect(!isEscalated)
        }
    }

    @Test("A record counts with all its occurrences, and each group on its own")
    func occurrences() {
        var counter = EscalationCounter(Self.rate)
        let first = counter.count(9, of: group(1), uid: 1000, at: instant(0))
        let other = counter.count(9, of: group(2), uid: 1000, at: instant(0))
        let huge = counter.count(.max, of: group(3), uid: 1000, at: instant(0))
        let hugeAgain = counter.count(.max, of: group(3), uid: 1000, at: instant(120))
        let second = counter.count(1, of: group(1), uid: 1000, at: instant(1))
        #expect(!first && !other && huge && hugeAgain && second)
    }

    @Test("An issue that continues is reported once in a period")
    func onceInAPeriod() {
        var counter = EscalationCounter(Self.rate)
        var reports: [Int64] = []
        for second in 0..<600 as Range<Int64> where counter.count(5, of: group(1), uid: 1000, at: instant(second)) {
            reports.append(second)
        }
        #expect(reports == [1, 121, 241, 361, 481])
    }

    @Test("Counts and reports that are stored and loaded continue where they were")
    func restored() {
        var counter = EscalationCounter(Self.rate)
        _ = counter.count(9, of: group(1), uid: 1000, at: instant(0))
        _ = counter.count(10, of: group(2), uid: 1000, at: instant(0))
        let changes = counter.takeChanges(at: instant(0))
        #expect(changes.entries.map(\.group) == [group(1), group(2)] && changes.removed == [])
        #expect(counter.takeChanges(at: instant(0)) == EscalationCounter.Changes())
        var restored = EscalationCounter(Self.rate, entries: changes.entries)
        let tenth = restored.count(1, of: group(1), uid: 1000, at: instant(1))
        let again = restored.count(10, of: group(2), uid: 1000, at: instant(1))
        #expect(tenth && !again)
    }

    @Test("A group without occurrences for about a period is forgotten, but not before it may be reported again")
    func forgotten() {
        var counter = EscalationCounter(Self.rate)
        _ = counter.count(10, of: group(1), uid: 1000, at: instant(5))
        _ = counter.count(1, of: group(2), uid: 1000, at: instant(5))
        _ = counter.takeChanges(at: instant(5))
        #expect(counter.takeChanges(at: instant(121)).removed == [group(2)])
        #expect(counter.takeChanges(at: instant(125)).removed == [group(1)])
        #expect(counter.count == 0)
        // A group that comes back afterwards is stored again, not removed.
        _ = counter.count(1, of: group(1), uid: 1000, at: instant(126))
        let changes = counter.takeChanges(at: instant(126))
        #expect(changes.entries.map(\.group) == [group(1)] && changes.removed == [])
    }

    @Test("A user with any number of issues does not keep another user's issue from escalating")
    func hostile() {
        var counter = EscalationCounter(Self.rate, maxGroups: 100)
        var reports = 0
        for number in 0..<9 as Range<Int64> {
            // Each of these groups is new, so the table is full again and again.
            for noise in 0..<1000 as Range<Int64> {
                _ = counter.count(1, of: group(10_000 + number * 1000 + noise), uid: 1000, at: instant(number))
            }
            if counter.count(1, of: group(1), uid: 2000, at: instant(number)) { reports += 1 }
            #expect(counter.count <= 100)
        }
        if counter.count(1, of: group(1), uid: 2000, at: instant(9)) { reports += 1 }
        #expect(reports == 1)
    }

    @Test("A full table removes from the store what it removes from memory")
    func removed() {
        var counter = EscalationCounter(Self.rate, maxGroups: 10)
        _ = counter.count(10, of: group(1), uid: 1000, at: instant(0))
        for number in 2...10 as ClosedRange<Int64> {
            _ = counter.count(1, of: group(number), uid: 1000, at: instant(0))
        }
        _ = counter.takeChanges(at: instant(0))
        _ = counter.count(1, of: group(11), uid: 2000, at: instant(0))
        let changes = counter.takeChanges(at: instant(0))
        #expect(changes.removed.count == 5 && !changes.removed.contains(group(1)))
        #expect(changes.entries.map(\.group) == [group(11)])
        #expect(counter.count == 6)
    }
}
