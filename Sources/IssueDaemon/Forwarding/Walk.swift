import IssueCore
import IssueProtocol
import IssueStore

/// What one walk over the log has gathered so far.
struct Walk {
    var batch: NewBatch
    var lines: [[UInt8]] = []
    var walked = 0
    private var builder: BatchBuilder
    private var withheld: [Int64: NewBatch.Tally] = [:]
    private var summarised: [Int64: NewBatch.Tally] = [:]

    init(_ batch: NewBatch, _ limit: BatchLimit) {
        self.batch = batch
        builder = BatchBuilder(limit: limit)
    }

    var isFull: Bool { builder.isFull }

    mutating func add(_ line: [UInt8], id: Int64) {
        lines.append(line)
        builder.add(id, bytes: line.count + 1)
    }

    mutating func withhold(_ candidate: Candidate) {
        batch.withheld.append(candidate.record)
        Self.count(candidate, in: &withheld)
    }

    mutating func summarise(_ candidate: Candidate, _ reason: SuppressionReason) {
        batch.held[reason, default: []].append(candidate.record)
        Self.count(candidate, in: &summarised)
    }

    /// The batch with all its sums.
    var finished: NewBatch {
        var batch = batch
        batch.withheldTally = Array(withheld.values)
        batch.summarised = Array(summarised.values)
        return batch
    }

    private static func count(_ candidate: Candidate, in tallies: inout [Int64: NewBatch.Tally]) {
        var tally =
            tallies[candidate.account] ?? NewBatch.Tally(account: candidate.account, records: 0, occurrences: 0)
        tally.records += 1
        tally.occurrences += candidate.count
        tallies[candidate.account] = tally
    }
}
