import IssueCore
import IssueProtocol
import Testing

@Suite("Lines that are refused")
struct RefusedLinesTests {
    private static var unlimited: ForwardSettings {
        var settings = ForwardSettings()
        settings.sendRate = .unlimited
        return settings
    }

    @Test(
        "A part of a batch that is refused costs only the bad lines, many as they may be",
        arguments: [1, 33, 40, 100, 200, 249])
    func partly(bad: Int) {
        for seed in 0..<10 as Range<UInt64> {
            var traffic = Traffic(seed: seed)
            var run = ForwardingRun(Self.unlimited, seed: seed)
            while run.poison.count < bad { run.poison.insert(Int(traffic.number(below: 500))) }
            run.report(500)
            run.run(until: 600)
            #expect(run.dead == bad, "seed \(seed)")
            #expect(run.delivered == 500 - bad, "seed \(seed)")
            #expect(run.requests.count <= 1 + bad * 18)
        }
    }

    @Test("The same where all bad ones stand together, at the beginning or at the end")
    func together() {
        for first in [0, 460] {
            var run = ForwardingRun(Self.unlimited, seed: 1)
            run.poison = Set(first..<first + 40)
            run.report(500)
            run.run(until: 600)
            #expect(run.dead == 40)
            #expect(run.delivered == 460)
        }
    }

    @Test("Where most are refused the destination is paused, none is given up, and what is express still goes")
    func mostly() {
        var run = ForwardingRun(Self.unlimited, seed: 2)
        run.poison = Set(0..<500).subtracting([10, 20, 499])
        run.report(500)
        run.run(until: 30)
        #expect(run.forwarding.view.reason == "many_lines_refused")
        #expect(run.dead == 0)
        let before = run.requests.count
        run.report(1, isPriority: true)
        #expect(run.requests.count == before + 1)
        #expect(run.requests.last?.isPriority == true)
        #expect(run.requests.last?.isTaken == true)
        // And it is as it was: nobody is told that all is well.
        #expect(run.forwarding.view.reason == "many_lines_refused")
        // Each try looks at other lines, so that the good ones arrive.
        run.run(until: 20 * 3600)
        #expect(run.dead == 0)
        #expect(run.delivered == 4)
    }

    @Test("What is critical goes while a batch is being taken apart, before its next part")
    func overtaking() {
        var run = ForwardingRun(Self.unlimited, seed: 3)
        run.poison = Set(stride(from: 0, to: 500, by: 12))
        run.mood = { _ in .slow(1) }
        run.critical = [20, 61.5]
        run.report(500)
        run.run(until: 600)
        for time in [20, 61.5] {
            #expect(run.requests.first { $0.isPriority && $0.begun >= time }.map { $0.begun < time + 1.1 } == true)
        }
        #expect(run.dead == run.poison.count)
        #expect(run.pendingLines == 0)
    }

    @Test("What came to its end is stored before the batch does: a restart does not begin anew")
    func progress() {
        var run = ForwardingRun(Self.unlimited, seed: 4)
        run.poison = Set(stride(from: 0, to: 500, by: 12))
        var answers = 0
        run.mood = { $0 < 2 ? .takes : $0 < 50 ? .answers(.serverError) : .takes }
        run.report(500)
        run.run(until: 20)
        answers = run.delivered + run.dead
        #expect(answers > 0)
        run.restart()
        run.run(until: 600)
        #expect(run.dead == run.poison.count)
        #expect(run.delivered == 500 - run.poison.count)
    }
}

@Suite("Sets of lines")
struct LineSetTests {
    @Test("They hold what was put in, in any order, and count it among others", arguments: 0..<20 as Range<UInt64>)
    func property(seed: UInt64) {
        var traffic = Traffic(seed: seed)
        var (set, other) = (LineSet(), LineSet())
        var (plain, plainOther): (Set<Int>, Set<Int>) = ([], [])
        for _ in 0..<12 {
            let first = Int(traffic.number(below: 80))
            let range = first..<first + Int(traffic.number(below: 9))
            if traffic.happens(oneIn: 2) {
                set.insert(range)
                plain.formUnion(range)
            } else {
                other.insert(range)
                plainOther.formUnion(range)
            }
        }
        #expect(set.count == plain.count)
        #expect((0..<100).allSatisfy { set.contains($0) == plain.contains($0) })
        #expect(zip(set.ranges, set.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
        let places = plainOther.sorted()
        let counted = Set(places.indices.filter { plain.contains(places[$0]) })
        #expect(Set(set.counted(among: other).ranges.flatMap { Array($0) }) == counted)
        set.formUnion(other)
        #expect(set.count == plain.union(plainOther).count)
    }
}
