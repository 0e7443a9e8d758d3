import IssueCore

/// What was said of the groups whose records come in now; the database holds all of it.
struct StandingTable {
    /// What has to be known of a series to judge its records by.
    struct Series {
        var group: Int64
        var version: ApplicationVersion
    }

    private static let capacity = 8192

    private var series: [Int64: Series] = [:]
    private var standings: [Int64: GroupStanding] = [:]

    mutating func series(_ id: Int64, or find: () throws -> Series?) rethrows -> Series? {
        if let known = series[id] { return known }
        let found = try find()
        if series.count >= Self.capacity { series.removeAll() }
        series[id] = found
        return found
    }

    mutating func standing(of group: Int64, or find: () throws -> GroupStanding) rethrows -> GroupStanding {
        if let known = standings[group] { return known }
        let found = try find()
        if standings.count >= Self.capacity { standings.removeAll() }
        standings[group] = found
        return found
    }

    /// It has changed.
    mutating func forget(_ group: Int64) {
        standings[group] = nil
    }

    mutating func removeAll() {
        series.removeAll()
        standings.removeAll()
    }
}
