import IssueCore
import IssueProtocol
import SQLiteKit

/// Walks the rows of some series in the order of their ids, range by range.
///
/// Downwards it follows the chain of each series' posting rows, so that a rare
/// series costs no more than a common one. Upwards it takes the ranges in turn.
struct RecordWalk {
    /// The ids that come next, the next one last.
    private var ready: [Int64] = []
    /// All series when nil.
    private let series: [Int64]?
    private let isAscending: Bool
    private let bound: Int64
    private let lastClosed: Int64
    private var isOpenDone = false
    /// For each series, the range in which it occurs next, going down.
    private var chain: [Int64: [Int64]] = [:]
    /// The range to look at next, going up.
    private var nextRange: Int64 = 0

    init(series: [Int64]?, isAscending: Bool, from row: Int64?, on reader: StoreReader) throws {
        self.series = series
        self.isAscending = isAscending
        bound = row ?? (isAscending ? 0 : .max)
        lastClosed = try reader.lastClosedID()
        guard series != nil else { return }
        if isAscending {
            nextRange =
                try reader.connection.withStatement("SELECT coalesce(min(id), 0) FROM ranges WHERE last_id > ?1") {
                    statement in
                    statement.bind(bound, at: 1)
                    return try statement.first { $0.int64(0) } ?? 0
                }
        } else {
            try findChain(on: reader)
        }
    }

    /// The next row, or nothing at the end.
    mutating func next(on reader: StoreReader) throws -> Int64? {
        while ready.isEmpty {
            guard try fetch(on: reader) else { return nil }
        }
        return ready.removeLast()
    }

    /// How many rows are read at a time where no series is asked for.
    private static let stretch: Int64 = 256

    private mutating func fetch(on reader: StoreReader) throws -> Bool {
        guard series != nil else { return try fetchAny(on: reader) }
        if isAscending {
            if nextRange > 0 { return try fetchRange(on: reader) }
            if isOpenDone { return false }
            try fetchOpen(on: reader)
            return true
        }
        if !isOpenDone {
            try fetchOpen(on: reader)
            return true
        }
        return try fetchChain(on: reader)
    }

    private var edge: Int64?

    /// A stretch of all rows.
    private mutating func fetchAny(on reader: StoreReader) throws -> Bool {
        let start = edge ?? bound
        let ids =
            isAscending
            ? try reader.connection.withStatement("SELECT id FROM records WHERE id > ?1 ORDER BY id LIMIT ?2") {
                statement in
                statement.bind(start, at: 1)
                statement.bind(Self.stretch, at: 2)
                return try statement.all { $0.int64(0) }
            }
            : try reader.connection.withStatement("SELECT id FROM records WHERE id < ?1 ORDER BY id DESC LIMIT ?2") {
                statement in
                statement.bind(start, at: 1)
                statement.bind(Self.stretch, at: 2)
                return try statement.all { $0.int64(0) }
            }
        edge = ids.last
        ready = ids.reversed()
        return !ids.isEmpty
    }

    /// The rows of the open range, which has no posting lists yet.
    private mutating func fetchOpen(on reader: StoreReader) throws {
        isOpenDone = true
        let wanted = Set(series ?? [])
        var ids: [Int64] = []
        try reader.connection.withStatement("SELECT id, series FROM records WHERE id > ?1 ORDER BY id") { statement in
            statement.bind(isAscending ? max(lastClosed, bound) : lastClosed, at: 1)
            try statement.forEach { if wanted.contains($0.int64(1)) { ids.append($0.int64(0)) } }
        }
        ready = isAscending ? ids.reversed() : ids.filter { $0 < bound }
    }

    private mutating func findChain(on reader: StoreReader) throws {
        for series in series ?? [] {
            let last = try reader.connection.withStatement("SELECT last_range FROM totals WHERE series = ?1") {
                statement in
                statement.bind(series, at: 1)
                return try statement.first { $0.int64(0) }
            }
            if let last { chain[last, default: []].append(series) }
        }
    }

    /// The newest range in which any of the series occurs.
    private mutating func fetchChain(on reader: StoreReader) throws -> Bool {
        guard let range = chain.keys.max(), let members = chain.removeValue(forKey: range) else { return false }
        var ids: [Int64] = []
        let firstID = try Self.firstID(of: range, on: reader)
        for series in members {
            let found = try posting(range, series, on: reader)
            // Retention has taken it: there is nothing further down either.
            guard let found else { continue }
            if let previous = found.previous { chain[previous, default: []].append(series) }
            if let firstID, firstID < bound { ids += PostingList.decode(found.ids, base: firstID) ?? [] }
        }
        ready = ids.filter { $0 < bound }.sorted()
        return true
    }

    private mutating func fetchRange(on reader: StoreReader) throws -> Bool {
        let range = nextRange
        nextRange =
            try reader.connection.withStatement("SELECT coalesce(min(id), 0) FROM ranges WHERE id > ?1") { statement in
                statement.bind(range, at: 1)
                return try statement.first { $0.int64(0) } ?? 0
            }
        var ids: [Int64] = []
        let firstID = try Self.firstID(of: range, on: reader) ?? 0
        for series in series ?? [] {
            guard let found = try posting(range, series, on: reader) else { continue }
            ids += PostingList.decode(found.ids, base: firstID) ?? []
        }
        ready = ids.filter { $0 > bound }.sorted(by: >)
        return true
    }

    private func posting(
        _ range: Int64, _ series: Int64, on reader: StoreReader
    ) throws -> (previous: Int64?, ids: [UInt8])? {
        try reader.connection.withStatement("SELECT previous, ids FROM postings WHERE range = ?1 AND series = ?2") {
            statement in
            statement.bind(range, at: 1)
            statement.bind(series, at: 2)
            return try statement.first { ($0.optionalInt64(0), $0.bytes(1)) }
        }
    }

    private static func firstID(of range: Int64, on reader: StoreReader) throws -> Int64? {
        try reader.connection.withStatement("SELECT first_id FROM ranges WHERE id = ?1") { statement in
            statement.bind(range, at: 1)
            return try statement.first { $0.int64(0) }
        }
    }
}
