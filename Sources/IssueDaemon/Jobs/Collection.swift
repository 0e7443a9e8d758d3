import IssueProtocol
import IssueStore

/// Removes what nothing refers to any more, behind what retention or a purge has removed.
struct Collection {
    /// Whether nothing but their ids may stay of the newest rows either, which are never removed.
    var isErasing = false

    func run(_ run: JobRun) throws {
        let writer = run.writer
        let reader = try run.reader()
        let kept = try writer.perform { try $0.keptSince(wall: Clock.wall, monotonic: Clock.monotonic) }
        let old = try writer.perform { try $0.lastOldRange(wall: Clock.wall, monotonic: Clock.monotonic) }
        var references = StoreReader.References()
        while try run.reading({ try reader.read(&references) }) { try run.goOn() }
        let unreferenced = try run.reading { try reader.unreferenced(references, quietSince: old) }
        let edge = references.edge
        for some in Self.portions(unreferenced.series) {
            try writer.perform { try $0.collect(series: some, seenThrough: edge) }
            try run.goOn()
        }
        for some in Self.portions(unreferenced.processes) {
            try writer.perform { try $0.collect(processes: some, seenThrough: edge) }
            try run.goOn()
        }
        while try writer.perform({ try $0.collectOwners() }) { try run.goOn() }
        if isErasing {
            try writer.perform { try $0.eraseNewestOwners(processes: unreferenced.processes, seenThrough: edge) }
            while try writer.perform({ try $0.collectOwners() }) { try run.goOn() }
        }
        try collectCounts(run)
        try rollUpCounts(run)
        var number: Int64? = 0
        while let above = number {
            number = try writer.perform { try $0.collectSummaries(above: above, before: kept) }
            try run.goOn()
        }
    }

    /// Removes counts of series that are not there any more.
    func collectCounts(_ run: JobRun) throws {
        let writer = run.writer
        var minute: Int64? = 0
        while let from = minute {
            minute = try writer.perform { try $0.collectCounts(from: from) }
            try run.goOn()
        }
    }

    /// Keeps what is old by the hour. With a wall clock that is set wrong that may be too early, and loses no sum.
    private func rollUpCounts(_ run: JobRun) throws {
        let writer = run.writer
        let time = Clock.wall.advanced(by: .zero - StoreWriter.countsByHour)
        var minute: Int64? = 0
        while let from = minute {
            minute = try writer.perform { try $0.rollUpCounts(from: from, before: time) }
            try run.goOn()
        }
    }

    private static func portions(_ ids: [Int64]) -> [[Int64]] {
        stride(from: 0, to: ids.count, by: StoreWriter.collectedAtATime).map {
            Array(ids[$0..<min(ids.count, $0 + StoreWriter.collectedAtATime)])
        }
    }
}
