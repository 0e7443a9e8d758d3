import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Erases the records that match a filter, in small steps between commits, and reports where copies may be left. A dry
/// run counts the records instead of erasing them.
struct PurgeJob {
    private let filter: IssueFilter
    private let isDryRun: Bool

    /// The maximum number of records that one transaction erases.
    private static let recordsAtATime = 512

    init(_ parameters: PurgeParameters) {
        filter = parameters.filter
        isDryRun = parameters.isDryRun ?? false
    }

    func run(_ run: inout JobRun) throws -> PurgeReply {
        guard filter != IssueFilter() else {
            throw QueryFailure.invalidFilter(
                field: "filter", reason: "an empty filter would erase all records; set a condition")
        }
        let reader = try run.reader()
        let last = try reader.newest()
        guard !isDryRun else {
            var count: Int64 = 0
            var deliveries: [String: Int64] = [:]
            // A copy, because `walk` has exclusive access to `run`.
            let current = run
            let damaged = try walk(reader, through: last, &run) { rows in
                count += Int64(rows.count)
                deliveries.merge(try current.reading { try reader.deliveries(of: rows) }, uniquingKeysWith: +)
                return count
            }
            return PurgeReply(count: count, unreachable: Self.text(damaged) + (try unreachable(deliveries, run)))
        }
        // Only records in closed ranges can be erased: a closed range stores which ids were assigned.
        try run.writer.perform { try $0.closeOpenRange() }
        var erasure = Erasure()
        let writer = run.writer
        let damaged = try walk(reader, through: last, &run) { rows in
            erasure.add(try writer.perform { try $0.erase(rows) })
            return erasure.records
        }
        let kept = try finish(erasure, run)
        // Done even if no record was erased, because an earlier purge may have been interrupted here.
        let leftInFile = try eraseUnusedBytes(erasure, &run)
        run.log.notice(.jobPurged, ["records": "\(erasure.records)"])
        return PurgeReply(
            count: erasure.records,
            unreachable: Self.text(damaged) + kept + leftInFile + (try unreachable(erasure.delivered, run)))
    }

    /// Calls `body` with the matching rows, a portion at a time, and reports the count that `body` returns as progress.
    ///
    /// - Returns: The damaged blocks that may contain further matching rows, keyed by the id of their first row.
    private func walk(
        _ reader: StoreReader, through last: RowID, _ run: inout JobRun, _ body: ([RowID]) throws -> Int64
    ) throws -> [RowID: DamagedBlock] {
        var edge: RowID? = 0
        var damaged: [RowID: DamagedBlock] = [:]
        while let above = edge {
            let found = try run.reading {
                try reader.rows(filter, above: above, through: last, limit: Self.recordsAtATime)
            }
            let count = try body(found.rows)
            edge = found.edge
            damaged.merge(found.damaged) { $1 }
            try run.progress(PurgeReply(count: count))
        }
        // The records of other damaged blocks may be in no posting list, so it is not known whether they match.
        var examined = RowID.min
        while let some = try run.reading({ try reader.unlistedDamagedBlocks(above: examined) }) {
            for block in some.blocks { damaged[block.rows.lowerBound] = block }
            examined = some.last
            try run.checkCancellation()
        }
        return damaged
    }

    /// Returns a text for the damaged blocks that may contain matching records; empty if there are none.
    private static func text(_ damaged: [RowID: DamagedBlock]) -> [String] {
        guard !damaged.isEmpty else { return [] }
        let records = damaged.values.reduce(0) { $0 + $1.records }
        return [
            "\(records) record\(records == 1 ? "" : "s") in damaged blocks, which may match and can't be erased one by "
                + "one: see Operations.md, A block is damaged"
        ]
    }

    /// Erases the rows that only erased records referenced, and the deployments that the purge includes.
    ///
    /// - Returns: A text if something is kept because of damaged blocks; otherwise an empty array.
    private func finish(_ erasure: Erasure, _ run: JobRun) throws -> [String] {
        let writer = run.writer
        let filter = filter
        let isWhole = filter.includesWholeSeries
        let series = try run.reading { try run.reader().series(toEraseBy: filter, erasure.series) }
        for some in series.sorted().portions(of: StoreWriter.maxSeriesPerTransaction) {
            try writer.perform { try $0.finishErasing(some, isWhole: isWhole) }
        }
        // Processes, senders and accounts that are no longer referenced are erased with the records, except
        // those that records in damaged blocks may refer to.
        let kept = try Collection(purge: filter).run(run)
        let unreported = try run.reading { try run.reader().unreportedDeployments() }
        try writer.perform { try $0.eraseDeployments(unreported, filter) }
        guard kept > 0 else { return [] }
        return [
            "commands and units of senders that have no readable records, but may have some in damaged blocks: "
                + "see Operations.md, A block is damaged"
        ]
    }

    /// How long readers of the store may block a step of the pass over the file.
    private static let timeout: Duration = .seconds(60)

    /// Overwrites deleted data in the file.
    ///
    /// - Returns: A text for each place where something may be left.
    private func eraseUnusedBytes(_ erasure: Erasure, _ run: inout JobRun) throws -> [String] {
        let writer = run.writer
        try writer.perform { $0.beginErasingUnusedBytes() }
        defer {
            writer.admitReaders()
            try? writer.perform { $0.endErasingUnusedBytes() }
        }
        var pass = StoreWriter.UnusedBytesPass()
        var lastStep = Clock.monotonic
        while true {
            let before = pass
            let result = try writer.runExclusively { writer in
                var pass = before
                let step = try writer.eraseUnusedBytes(&pass)
                return (step: step, pass: pass)
            }
            if let result { pass = result.pass }
            switch result?.step {
            case .more: lastStep = Clock.monotonic
            case .done:
                guard pass.unread > 0 else { return [] }
                return [
                    "\(pass.unread) page\(pass.unread == 1 ? "" : "s") of the database that can't be read: "
                        + "see issuectl status"
                ]
            case .waiting, nil:
                guard lastStep.duration(to: Clock.monotonic) < Self.timeout else {
                    return [
                        "the free space of the database, because a query or another program blocked erasing it: "
                            + "repeat the purge"
                    ]
                }
                Clock.sleep(for: .milliseconds(5))
            }
            try run.progress(PurgeReply(count: erasure.records))
        }
    }

    /// Lists the places where erased records may be left, and the overflow application if it may contain records of
    /// the filter's applications.
    ///
    /// - Parameter deliveries: For each destination, by name, the number of records that it has or may have received.
    private func unreachable(_ deliveries: [String: Int64], _ run: JobRun) throws -> [String] {
        var remaining: [String] = []
        for name in try FileSystem.names(in: run.folder).sorted() where !name.hasSuffix("-shm") {
            // A WAL that is not empty may contain records, even if its database was removed.
            if name.hasSuffix("-wal"), (try? FileSystem.status(of: "\(run.folder)/\(name)").size) ?? 0 == 0 { continue }
            for (beginning, kind) in [
                (BackupJob.beginning, "the backup"), ("damaged-", "the database that was set aside"),
                ("repaired-", "the database that was set aside"),
            ] where name.hasPrefix("\(run.fileName).\(beginning)") {
                remaining.append("\(kind) \(run.folder)/\(name)")
            }
        }
        for (destination, count) in deliveries.sorted(by: { $0.key < $1.key }) {
            remaining.append("\(count) of the \(isDryRun ? "" : "erased ")records at the destination \(destination)")
        }
        if !run.notifierNames.isEmpty {
            let names = run.notifierNames.joined(separator: ", ")
            remaining.append("messages with text of records that may have been sent by: \(names)")
        }
        if try run.reading({ try run.reader().mayOverflow(filter) }) {
            let name = (filter.apps?.count ?? 0) > 1 ? "one of these names" : "this name"
            remaining.append(
                "records of the overflow application, some of which may have been reported with \(name): "
                    + "see RateLimits.md")
        }
        return remaining
    }
}

/// Removes rows that are no longer referenced after retention or a purge, and combines old counts.
struct Collection {
    /// The filter of the purge that this is part of; nil if it is not part of one.
    ///
    /// A purge also erases the issues that are kept without records, if the filter includes all records of their
    /// applications. It also clears the newest process, sender and account if nothing refers to them. These rows can't
    /// be removed, because SQLite would assign their ids again.
    var purge: IssueFilter?

    /// Removes the rows and combines the counts.
    ///
    /// - Returns: The number of processes without readable records that are kept because of damaged blocks.
    @discardableResult
    func run(_ run: JobRun) throws -> Int {
        let writer = run.writer
        let reader = try run.reader()
        let start = try writer.perform { try $0.retentionStart(wall: Clock.wall, monotonic: Clock.monotonic) }
        let old = try writer.perform { try $0.expiredRanges(wall: Clock.wall, monotonic: Clock.monotonic) }
        var references = StoreReader.References()
        // The writer itself examines the records after the last one that was examined here. So that it has few to
        // examine while reports arrive, new records are examined here before each portion.
        func catchUp() throws {
            while try run.reading({ try reader.read(&references) }) { try run.checkCancellation() }
            try run.checkCancellation()
        }
        try catchUp()
        let unreferenced = try run.reading { try reader.unreferenced(references, quietSince: old) }
        for some in unreferenced.series.portions(of: StoreWriter.maxCollectedRows) {
            try catchUp()
            let (gone, edge) = (some.filter { !references.series.contains($0) }, references.edge)
            try writer.perform { try $0.collect(series: gone, seenThrough: edge) }
        }
        var kept = 0
        for some in unreferenced.processes.portions(of: StoreWriter.maxCollectedRows) {
            try catchUp()
            let (gone, edge) = (some.filter { !references.processes.contains($0) }, references.edge)
            kept += try writer.perform { try $0.collect(processes: gone, seenThrough: edge) }
        }
        try collectIssues(run)
        while try writer.perform({ try $0.collectOwners() }) { try run.checkCancellation() }
        if purge != nil {
            try catchUp()
            let (processes, edge) = (
                unreferenced.processes.filter { !references.processes.contains($0) }, references.edge
            )
            try writer.perform { try $0.eraseNewestOwners(processes: processes, seenThrough: edge) }
            while try writer.perform({ try $0.collectOwners() }) { try run.checkCancellation() }
        }
        // Removes the counts of series that no longer exist.
        try forEachPortion(run) { try $0.collectCounts(from: $1) }
        // Old counts are combined by hour. If the wall clock is wrong, this may happen too early, but no total is lost.
        let time = Clock.wall.advanced(by: .zero - StoreWriter.hourlyCountsAge)
        try forEachPortion(run) { try $0.rollUpCounts(from: $1, before: time) }
        try forEachPortion(run) { try $0.collectSummaries(above: $1, before: start, now: Clock.wall) }
        return kept
    }

    /// Removes issues without records: in a purge, those that it includes; otherwise the oldest ones of each user whose
    /// kept issues take too much space.
    private func collectIssues(_ run: JobRun) throws {
        if let purge {
            guard purge.includesWholeApplications else { return }
            return try forEachPortion(run) {
                try $0.eraseIssues(above: GroupID(rawValue: $1), apps: purge.apps, users: purge.users)?.rawValue
            }
        }
        var kept = try run.writer.perform { KeptIssues($0.retention) }
        while kept.position != nil {
            let before = kept
            kept = try run.writer.perform { writer in
                var kept = before
                try writer.collectIssues(&kept)
                return kept
            }
            try run.checkCancellation()
        }
    }

    /// Runs `body` on the writer thread, first with 0 and then with the number that `body` returned last, until it
    /// returns nil.
    private func forEachPortion(
        _ run: JobRun, _ body: @escaping @Sendable (StoreWriter, Int64) throws -> Int64?
    ) throws {
        var next: Int64? = 0
        while let number = next {
            next = try run.writer.perform { try body($0, number) }
            try run.checkCancellation()
        }
    }
}
