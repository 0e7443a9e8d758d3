import IssueCore
import IssueProtocol
import IssueStore

/// What one walk over the log has gathered so far.
struct Walk {
    var batch: NewBatch
    var walked = 0
    /// What is made of its lines, of which none is kept.
    let body: any PreparedBody
    /// Whose records take how many bytes of its lines.
    private(set) var users: [UInt32: Int] = [:]
    private var builder: BatchBuilder
    private var withheld: [Int64: NewBatch.Tally] = [:]
    private var summarised: [Int64: NewBatch.Tally] = [:]

    init(_ batch: NewBatch, _ limit: BatchLimit, _ body: any PreparedBody) {
        self.batch = batch
        self.body = body
        builder = BatchBuilder(limit: limit)
    }

    /// The most that it was to hold.
    var limit: BatchLimit { builder.limit }
    var isFull: Bool { builder.isFull }
    var lineCount: Int { builder.count }
    var lineBytes: Int { builder.bytes }

    /// - Parameter user: The user whose record it is; nil for a summary.
    mutating func add(_ line: [UInt8], of user: UInt32?) {
        body.add(line)
        builder.add(bytes: line.count + 1)
        if let user { users[user, default: 0] += line.count + 1 }
    }

    mutating func withhold(_ candidate: Candidate) {
        batch.withheld.append(candidate.record)
        Self.count(1, candidate.count, of: candidate.account, in: &withheld)
    }

    mutating func summarise(_ candidate: Candidate, _ reason: SuppressionReason) {
        batch.held[reason, default: []].append(candidate.record)
        Self.count(1, candidate.count, of: candidate.account, in: &summarised)
    }

    /// Counts records whose rows are noted one by one.
    mutating func summarise(_ run: HeldRun) {
        Self.count(run.records, run.occurrences, of: run.account, in: &summarised)
    }

    /// The batch with all its sums.
    var finished: NewBatch {
        var batch = batch
        batch.withheldTally = Array(withheld.values)
        batch.summarised = Array(summarised.values)
        return batch
    }

    private static func count(
        _ records: Int64, _ occurrences: Int64, of account: Int64, in tallies: inout [Int64: NewBatch.Tally]
    ) {
        let none = NewBatch.Tally(account: account, records: 0, occurrences: 0)
        tallies[account, default: none].records += records
        tallies[account, default: none].occurrences += occurrences
    }
}
