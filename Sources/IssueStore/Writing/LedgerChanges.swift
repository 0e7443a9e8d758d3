import IssueProtocol
import SQLiteKit

/// What one transaction changes in the ledger, gathered so that each sum is written once.
struct LedgerChanges {
    struct Sum {
        var records: Int64 = 0
        var occurrences: Int64 = 0
    }

    private struct Line: Hashable {
        var destination: Int64
        var account: Int64
        var fate: Int64
    }

    /// The number that stands for "received" beside the fates.
    static let received: Int64 = 7

    private var sums: [Line: Sum] = [:]

    var isEmpty: Bool { sums.isEmpty }

    /// An account's records came in.
    mutating func received(_ sum: Sum, account: Int64, destinations: [Int64]) {
        add(sum, destination: 0, account: account, fate: Self.received)
        for destination in destinations {
            add(sum, destination: destination, account: account, fate: Self.received)
            add(sum, destination: destination, account: account, fate: Int64(Fate.pending.rawValue))
        }
    }

    /// An account's records have another fate than before.
    mutating func moved(_ sum: Sum, account: Int64, destination: Int64, from: Fate, to: Fate) {
        let negative = Sum(records: -sum.records, occurrences: -sum.occurrences)
        add(negative, destination: destination, account: account, fate: Int64(from.rawValue))
        add(sum, destination: destination, account: account, fate: Int64(to.rawValue))
    }

    /// An account's records are erased, and with them what a destination has been given and what became of them there.
    mutating func erased(_ sum: Sum, account: Int64, destination: Int64, fate: Fate?) {
        let negative = Sum(records: -sum.records, occurrences: -sum.occurrences)
        add(negative, destination: destination, account: account, fate: Self.received)
        if let fate { add(negative, destination: destination, account: account, fate: Int64(fate.rawValue)) }
    }

    private mutating func add(_ sum: Sum, destination: Int64, account: Int64, fate: Int64) {
        let line = Line(destination: destination, account: account, fate: fate)
        sums[line, default: Sum()].records += sum.records
        sums[line, default: Sum()].occurrences += sum.occurrences
    }

    func write(on connection: Connection) throws {
        for (line, sum) in sums {
            try connection.withStatement(
                """
                INSERT INTO ledger (destination, account, fate, records, occurrences) VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT DO UPDATE SET records = records + ?4, occurrences = occurrences + ?5
                """
            ) { statement in
                statement.bind(line.destination, at: 1)
                statement.bind(line.account, at: 2)
                statement.bind(line.fate, at: 3)
                statement.bind(sum.records, at: 4)
                statement.bind(sum.occurrences, at: 5)
                try statement.run()
            }
        }
    }
}
