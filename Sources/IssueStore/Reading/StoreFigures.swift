import IssueCore
import IssueProtocol
import SQLiteKit

/// The figures of all users, read in one snapshot. Each viewer is shown only their own.
package struct StoreFigures: Sendable {
    struct Destination: Sendable {
        var name: String
        var kind: String
        var ledgers: [Int64: Ledger]
        var oldestPending: Timestamp?
    }

    var code = ""
    var records: Int64 = 0
    var bytes: Int64 = 0
    var oldest: Timestamp?
    var faults: [String] = []
    /// By user, as are the ledgers.
    var groups: [Int64: Int64] = [:]
    var received: [Int64: Int64] = [:]
    var destinations: [Destination] = []
    /// The largest first.
    var suppressions: [(user: Int64, suppression: Suppression)] = []
    /// How many of them a viewer is told of.
    private static let maxSuppressions = 50

    /// Returns the figures that a viewer may see.
    package func visible(to viewer: Viewer) -> StoreReader.Figures {
        let received = Self.sum(received, viewer)
        let groups = Self.sum(groups, viewer)
        let held = suppressions.filter { viewer.uid == nil || $0.user == viewer.uid }
        let isAll = viewer == .everything
        let store =
            isAll
            ? StoreStatus(
                id: code, records: records, groups: groups, bytes: bytes, oldest: oldest, freeBytes: nil,
                faults: faults)
            : StoreStatus(
                id: code, records: received, groups: groups, bytes: nil, oldest: nil, freeBytes: nil, faults: [])
        return StoreReader.Figures(
            store: store, received: received,
            ledgers: destinations.map { destination in
                StoreReader.DestinationFigures(
                    name: destination.name, kind: destination.kind, ledger: Self.sum(destination.ledgers, viewer),
                    oldestPending: isAll ? destination.oldestPending : nil)
            },
            suppressions: held.prefix(Self.maxSuppressions).map(\.suppression),
            otherSuppressions: max(0, held.count - Self.maxSuppressions))
    }

    private static func sum(_ values: [Int64: Int64], _ viewer: Viewer) -> Int64 {
        if let user = viewer.uid { return values[user] ?? 0 }
        return values.values.reduce(0) { $0.clampedSum($1) }
    }

    private static func sum(_ ledgers: [Int64: Ledger], _ viewer: Viewer) -> Ledger {
        if let user = viewer.uid { return ledgers[user] ?? Ledger() }
        var sum = Ledger()
        for ledger in ledgers.values {
            sum.received = sum.received.clampedSum(ledger.received)
            for fate in Fate.allCases { sum[fate] = sum[fate].clampedSum(ledger[fate]) }
        }
        return sum
    }
}
