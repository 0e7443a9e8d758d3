import SQLiteKit

extension Inspection {
    /// Forgets all records of an application after they were erased.
    func erased(app: String) {
        let gone = Set(series.values.filter { $0.app == app }.map(\.id))
        let accounts = Set(gone.compactMap { series[$0]?.account })
        forget(gone)
        received = received.filter { !accounts.contains($0.key) }
        openRows.removeAll { gone.contains($0.series) }
    }

    /// Forgets the sums of series that retention has removed to free space, and adds a complaint if one still has
    /// records.
    func noteRemovedSeries(_ connection: DatabaseConnection) throws {
        let known = try Statement("SELECT id FROM series ORDER BY id", on: connection).all { $0.int64(0) }
        removedSeries = (known.last ?? 0) - Int64(known.count) - missingSeries
        guard removedSeries != 0 else { return }
        missingSeries += removedSeries
        let gone = Set(series.keys).subtracting(known)
        forget(gone)
        for id in gone { series[id] = nil }
        let orphans = try Statement(
            "SELECT count(*) FROM records WHERE series NOT IN (SELECT id FROM series)", on: connection
        ).first { $0.int64(0) }
        if orphans != 0 { complaints.append("\(orphans ?? 0) rows have a series that was removed") }
    }

    private func forget(_ gone: Set<Int64>) {
        totals = totals.filter { !gone.contains($0.key) }
        closedTotals = closedTotals.filter { !gone.contains($0.key) }
        closedCounts = closedCounts.filter { !gone.contains($0.key.series) }
    }
}
