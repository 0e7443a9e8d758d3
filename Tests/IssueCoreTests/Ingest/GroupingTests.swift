import Foundation
import IssueCore
import Testing

/// Scores the rule of the fingerprint on the messages in `Benchmarks/grouping`.
@Suite("The grouping of messages")
struct GroupingTests {
    private struct Sample: Hashable {
        var system: Substring
        var set: Substring
        var group: Substring
        var message: Substring
    }

    private struct Score {
        /// The share of messages whose group is exactly the expected one.
        var accuracy: Double
        /// The share of pairs of messages in a group that belong together.
        var precision: Double

        init(_ samples: [Sample]) {
            var expected: [Substring: Set<Int>] = [:]
            var groups: [[UInt8]: Set<Int>] = [:]
            for (index, sample) in samples.enumerated() {
                expected[sample.group, default: []].insert(index)
                groups[TemplateOfText(String(sample.message)).template, default: []].insert(index)
            }
            let right = Set(expected.values)
            let exact = groups.values.filter { right.contains($0) }.reduce(0) { $0 + $1.count }
            var pairs = (together: 0, right: 0)
            for group in groups.values {
                pairs.together += group.count * (group.count - 1) / 2
                let parts = Dictionary(grouping: group) { samples[$0].group }
                pairs.right += parts.values.reduce(0) { $0 + $1.count * ($1.count - 1) / 2 }
            }
            accuracy = Double(exact) / Double(samples.count)
            precision = pairs.together == 0 ? 1 : Double(pairs.right) / Double(pairs.together)
        }
    }

    private static func samples() throws -> [Sample] {
        let file = URL(filePath: #filePath).appending(path: "../../../../Benchmarks/grouping/messages.tsv").standardized
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").dropFirst().map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            try #require(fields.count == 4, "\(line)")
            return Sample(system: fields[0], set: fields[1], group: fields[2], message: fields[3])
        }
    }

    @Test(
        "On average per system, 88 % of the messages are grouped as by people, and 1.5 % of the pairs wrongly merged",
        arguments: [("tuning", 0.90), ("held-out", 0.88)])
    func agrees(set: String, accuracy: Double) throws {
        let systems = Dictionary(grouping: try Self.samples().filter { $0.set == set }) { $0.system }
        try #require(systems.count >= 9)
        let scores = systems.values.map { Score($0) }
        let mean = { (value: (Score) -> Double) in scores.reduce(0) { $0 + value($1) } / Double(scores.count) }
        #expect(mean(\.accuracy) >= accuracy)
        #expect(mean(\.precision) >= 0.985)
    }

    @Test("The grouping of messages is judged by at least 600 messages, of which at least a quarter are held out")
    func isJudged() throws {
        let samples = try Self.samples()
        let heldOut = samples.count { $0.set == "held-out" }
        #expect(samples.count >= 600)
        #expect(heldOut * 4 >= samples.count)
        #expect(samples.allSatisfy { $0.set == "held-out" || $0.set == "tuning" })
    }
}
