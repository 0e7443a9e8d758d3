import IssueCore
import Testing

@Suite("A set of many separate lines")
struct SeparateLinesTests {
    @Test(
        "A set of many lines equals a set of integers, however its ranges overlap, touch and follow one another"
    )
    func agreesWithNumbers() {
        var random = SeededGenerator(seed: 15)
        for _ in 0..<2000 {
            let bound = 1 + Int(random.number(below: 40))
            let (first, second) = (random.ranges(below: bound), random.ranges(below: bound))
            var inserted = LineSet()
            for range in first { inserted.insert(range) }
            #expect(inserted == LineSet(first))
            var union = inserted
            union.formUnion(LineSet(second))
            #expect(numbers(union) == numbers(inserted).union(second.joined()))
            for set in [inserted, union] { expectNormalForm(set) }
            for line in 0...bound { #expect(inserted.contains(line) == Set(first.joined()).contains(line)) }
            for range in second where !range.isEmpty {
                #expect(inserted.contains(range) == Set(first.joined()).isSuperset(of: range))
            }
            let left = LineSet(second)
            let counted = inserted.counted(among: left)
            let expected = numbers(left).sorted().enumerated().filter { inserted.contains($0.element) }.map(\.offset)
            #expect(numbers(counted) == Set(expected))
            expectNormalForm(counted)
        }
    }

    @Test(
        "A set of many separate lines holds every second line of a long batch without comparing all pairs of ranges",
        .timeLimit(.minutes(5)))
    func separateLines() {
        let lines = (0..<300_000).map { 2 * $0..<2 * $0 + 1 }
        let set = LineSet(lines)
        #expect(set.ranges == lines)
        #expect(LineSet(lines.reversed()) == set)
        #expect(set.counted(among: set).ranges == [0..<lines.count])
        #expect(set.counted(among: LineSet([0..<2 * lines.count])) == set)
        var union = set
        union.formUnion(LineSet(lines.map { $0.lowerBound + 1..<$0.upperBound + 1 }))
        #expect(union.ranges == [0..<2 * lines.count])
        #expect(lines.allSatisfy { set.contains($0.lowerBound) && !set.contains($0.upperBound) })
    }

    @Test(
        "A destination may refuse many lines of a part from which equally many other lines were not sent",
        .timeLimit(.minutes(5)))
    func separateUnsentLines() {
        let count = 300_000
        // Of every three lines, the first is not sent, and the second is refused.
        let sent = (0..<count).filter { $0 % 3 != 0 }
        let answer = PartialAnswer(
            successful: sent.count / 2, invalidLines: sent.indices.filter { $0.isMultiple(of: 2) })
        let unsent = LineSet.lines(missingFrom: sent, count: count)
        var bisection = Bisection(count: count)
        _ = bisection.next()
        let step = bisection.partiallyAccepted(answer.ofPart(count: count, sent: sent), unsent: unsent)
        #expect(step == .done)
        #expect(bisection.skipped.count == count / 3)
        #expect(bisection.delivered == sent.filter { $0 % 3 == 2 }.map { $0..<$0 + 1 })
        #expect(bisection.dead.map(\.line) == sent.filter { $0 % 3 == 1 })
    }

    @Test("Merged batches have the summaries of both, then the records of both in ascending order")
    func mergedLines() {
        let order = MergedLines(summaries: (1, 2), [3, 7, 9], [5, 8])
        let merged = order.values(ofFirst: ["s", "3", "7", "9"], ofSecond: ["t", "u", "5", "8"])
        #expect(merged == ["s", "t", "u", "3", "5", "7", "8", "9"])
        let lines = order.lines(ofFirst: LineSet([0..<2]), ofSecond: LineSet([1..<3]))
        #expect(lines.ranges.joined().map { merged[$0] } == ["s", "u", "3", "5"])
        #expect(order.values(ofFirst: [], ofSecond: [1, 2, 3, 4]).isEmpty)
        #expect(MergedLines(summaries: (0, 0), [1], []).values(ofFirst: [1], ofSecond: []) == [1])
    }

    private func numbers(_ set: LineSet) -> Set<Int> { Set(set.ranges.joined()) }

    private func expectNormalForm(_ set: LineSet) {
        #expect(set.ranges.allSatisfy { !$0.isEmpty })
        #expect(zip(set.ranges, set.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
        #expect(set.count == numbers(set).count)
    }
}

extension SeededGenerator {
    fileprivate mutating func ranges(below bound: Int) -> [Range<Int>] {
        (0..<number(below: 9)).map { _ in
            let start = Int(number(below: Int64(bound)))
            return start..<min(bound, start + Int(number(below: 6)))
        }
    }
}
