import SQLiteKit

extension Inspection {
    /// Forgets all records of an application after they were erased.
    func erased(app: String) {
        let gone = Set(series.values.filter { $0.app == app }.map(\.id))
        let accounts = Set(gone.compactMap { series[$0]?.account })
        totals = totals.filter { !gone.contains($0.key) }
        closedTotals = closedTotals.filter { !gone.contains($0.key) }
        closedCounts = closedCounts.filter { !gone.contains($0.key.series) }
        received = received.filter { !accounts.contains($0.key) }
        openRows.removeAll { gone.contains($0.series) }
    }
}
