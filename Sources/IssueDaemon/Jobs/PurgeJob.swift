import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Erases the records that match a filter, in small steps between commits, and reports where copies may be left.
struct PurgeJob {
    private let filter: IssueFilter
    private let isDryRun: Bool

    /// The number of records that one transaction erases.
    private static let recordsAtATime = 512

    init(_ parameters: PurgeParameters) {
        filter = parameters.filter
        isDryRun = parameters.isDryRun ?? false
    }

    func run(_ run: inout JobRun) throws -> PurgeReply {
        guard filter != IssueFilter() else {
            throw QueryFailure.invalidFilter(field: "filter", reason: "an empty one would erase everything")
        }
        let reader = try run.reader()
        let last = try reader.newest()
        guard !isDryRun else {
            var count: Int64 = 0
            try walk(reader, through: last, &run) { rows in
                count += Int64(rows.count)
                return count
            }
            return PurgeReply(count: count, unreachable: try unreachable(Erasure(), run))
        }
        // Only records in closed ranges can be erased: a closed range stores which ids were assigned.
        try run.writer.perform { try $0.closeOpenRange() }
        var erasure = Erasure()
        let writer = run.writer
        try walk(reader, through: last, &run) { rows in
            erasure.add(try writer.perform { try $0.erase(rows) })
            return erasure.records
        }
        try finish(erasure, run)
        // Always, because an earlier purge may have been interrupted here.
        let leftInFile = try eraseUnusedBytes(erasure, &run)
        run.log.notice(.jobPurged, ["records": "\(erasure.records)"])
        return PurgeReply(
            count: erasure.records, unreachable: leftInFile + (try unreachable(erasure, run)))
    }

    private func walk(
        _ reader: StoreReader, through last: RowID, _ run: inout JobRun, _ body: ([RowID]) throws -> Int64
    ) throws {
        var edge: RowID? = 0
        while let above = edge {
            let found = try run.reading {
                try reader.rows(filter, above: above, through: last, limit: Self.recordsAtATime)
            }
            let count = try body(found.rows)
            edge = found.edge
            try run.progress(PurgeReply(count: count))
        }
    }

    private func finish(_ erasure: Erasure, _ run: JobRun) throws {
        let writer = run.writer
        let isWhole =
            filter.since == nil && filter.until == nil && filter.outcomes == nil && RecordMatcher(filter) == nil
        var series = erasure.series.sorted()[...]
        while !series.isEmpty {
            let some = Array(series.prefix(StoreWriter.maxSeriesPerTransaction))
            series = series.dropFirst(some.count)
            try writer.perform { try $0.finishErasing(some, isWhole: isWhole) }
        }
        // Processes, senders and accounts that are no longer referenced are erased with the records.
        try Collection(isErasing: true).run(run)
        let unreported = try run.reading { try run.reader().unreportedDeployments() }
        let filter = filter
        try writer.perform { try $0.eraseDeployments(unreported, filter) }
    }

    /// How long readers of the store may block the pass over the file.
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
                return ["\(pass.unread) pages of the database that can't be read: see issuectl status"]
            case .waiting, nil:
                guard lastStep.duration(to: Clock.monotonic) < Self.timeout else {
                    return ["the free space of the database, which was in use by readers: repeat the purge"]
                }
                Clock.sleep(for: .milliseconds(5))
            }
            try run.progress(PurgeReply(count: erasure.records))
        }
    }

    /// Lists the places outside the database where erased records may be left.
    private func unreachable(_ erasure: Erasure, _ run: JobRun) throws -> [String] {
        var remaining: [String] = []
        for name in try FileSystem.names(in: run.folder).sorted()
        where !name.hasSuffix("-wal") && !name.hasSuffix("-shm") {
            for (beginning, kind) in [
                (BackupJob.beginning, "the backup"), ("damaged-", "the database that was set aside"),
                ("repaired-", "the database that was set aside"),
            ] where name.hasPrefix("\(run.fileName).\(beginning)") {
                remaining.append("\(kind) \(run.folder)/\(name)")
            }
        }
        for (destination, count) in erasure.delivered.sorted(by: { $0.key < $1.key }) {
            remaining.append("\(count) of them at the destination \(destination)")
        }
        return remaining
    }
}

/// Makes dead letters pending again, in small steps between commits.
struct RequeueJob {
    private let parameters: RequeueParameters

    private static let lettersAtATime = 256

    init(_ parameters: RequeueParameters) {
        self.parameters = parameters
    }

    func run(_ run: inout JobRun) throws -> RequeueReply {
        let letters = try run.reader().deadLetterNumbers(parameters)
        var count: Int64 = 0
        var left = letters[...]
        while !left.isEmpty {
            let some = Array(left.prefix(Self.lettersAtATime))
            left = left.dropFirst(some.count)
            count += try run.writer.perform { try $0.requeue(some) }
            try run.progress(RequeueReply(count: count))
        }
        if count > 0 { run.log.notice(.jobRequeued, ["count": "\(count)"]) }
        return RequeueReply(count: count, left: Int64(letters.count) - count)
    }
}
