import CWork
import IssueCore
import IssueProtocol
import Synchronization
import UnixIO

@testable import IssueStore

/// A query with any filter finds the same as a plain scan, or is refused with the name of the invalid part. Its work is
/// limited. Queries are run by SQLite and its full-text index on a real store.
///
/// Input: a byte that selects the viewer and the order, and the filter's JSON.
final class FilterHarness {
    /// Three times the maximum measured for a query on this store: steps of SQLite's virtual machine, pages read, and
    /// comparisons of our own code.
    private static let maxWork: UInt64 = 2_000_000

    static func run(_ input: Span<UInt8>) {
        guard input.count > 1, let filter = try? IssueFilter(json: input.extracting(1..<input.count)) else { return }
        let how = input[0]
        shared.withLock { shared in
            do {
                let harness = try shared ?? FilterHarness()
                shared = harness
                harness.ask(filter, how)
            } catch {
                fatalError("The sample store can't be created: \(error)")
            }
        }
    }

    /// Created with the first input.
    private static let shared = Mutex<FilterHarness?>(nil)

    private func ask(_ filter: IssueFilter, _ how: UInt8) {
        let viewer = [Viewer.everything, .user(1000), .user(1001), .nothing][Int(how & 3)]
        let matching = self.matching(filter, viewer)
        askRecords(filter, viewer, isAscending: how & 4 == 0, matching)
        askGroups(filter, viewer, ResultOrder.allCases[Int(how >> 3 & 3)], matching)
        askHistogram(filter, viewer, matching)
    }

    // MARK: Queries

    private func askRecords(
        _ filter: IssueFilter, _ viewer: Viewer, isAscending: Bool, _ matching: [Row]
    ) {
        var refusals = self.refusals(filter)
        if let name = filter.destination, name != "a" { refusals.insert("destination") }
        guard
            let ids = answer(
                refusals,
                {
                    var ids: [String] = []
                    var after: String?
                    repeat {
                        let page = try reader.records(
                            .init(filter: filter, isAscending: isAscending, limit: 90, after: after), viewer: viewer)
                        require(page.records.count <= 90, "A page has more than 90 records")
                        ids += page.records.map(\.id)
                        after = page.next
                    } while after != nil
                    return ids
                })
        else { return }
        let expected = matching.filter { $0.isWithin(filter) && $0.hasFate(filter) }.map(\.entry.id)
        let inOrder = isAscending ? expected : expected.reversed()
        guard Self.isComparable(filter) else {
            return require(Set(ids).isSubset(of: expected), "\(filter) finds more than the same filter without text")
        }
        require(ids == inOrder, "\(filter) finds \(ids) instead of \(inOrder)")
    }

    private func askGroups(
        _ filter: IssueFilter, _ viewer: Viewer, _ order: ResultOrder, _ matching: [Row]
    ) {
        var refusals = self.refusals(filter)
        if filter.outcomes != nil || filter.destination != nil { refusals.insert("fates") }
        guard
            let page = answer(
                refusals,
                {
                    try reader.groups(
                        .init(
                            filter: filter, order: order, limit: 1000, after: nil, sparkline: 5, now: end),
                        viewer: viewer)
                })
        else { return }
        let found = Set(page.groups.map(\.id))
        require(
            found.count == page.groups.count && page.next == nil, "A group is listed twice, or there is a second page")
        let (least, most) = counts(filter, matching)
        require(found.isSubset(of: most.keys), "\(filter) finds groups without a matching record")
        guard Self.isComparable(filter) else { return }
        require(found.isSuperset(of: least.keys), "\(filter) finds \(found) instead of \(least)")
        for group in page.groups {
            let range = (least[group.id] ?? 0)...(most[group.id] ?? 0)
            require(range.contains(group.records), "\(group.id) has \(group.records) records instead of \(range)")
        }
    }

    private func askHistogram(_ filter: IssueFilter, _ viewer: Viewer, _ matching: [Row]) {
        guard
            let frame = try? HistogramFrame(
                bucket: .seconds(3600), since: filter.since ?? SampleStore.start, until: filter.until, now: end)
        else { return }
        var refusals = self.refusals(filter)
        if filter.outcomes != nil || filter.destination != nil { refusals.insert("fates") }
        guard
            let series = answer(refusals, { try reader.histogram(filter, frame, by: .app, viewer: viewer) })
        else { return }
        let counted = series.reduce(0) { $0 + $1.counts.reduce(0, +) }
        let (least, most) = counts(filter, matching)
        // The last minute counts as a whole, even if the filter ends within it.
        require(counted <= most.values.reduce(0, +), "\(filter) counts \(counted) records; at most \(most) match")
        guard Self.isComparable(filter), filter.until.map({ $0 >= filter.since ?? SampleStore.start }) ?? true else {
            return
        }
        require(counted >= least.values.reduce(0, +), "\(filter) counts \(counted) records; at least \(least) match")
    }

    /// Runs a query and returns its result, or nil if it was refused.
    ///
    /// - Parameter refusals: The invalid fields. The query must be refused for one of them, or succeed if there are
    ///   none.
    private func answer<Answer>(_ refusals: Set<String>, _ ask: () throws -> Answer) -> Answer? {
        let before = fuzz_work()
        let result = Result(catching: ask)
        let work = fuzz_work() - before
        require(work <= Self.maxWork, "A query takes \(work) steps")
        switch result {
        case .success(let answer):
            require(refusals.isEmpty, "A query with invalid fields was not refused: \(refusals)")
            return answer
        case .failure(QueryFailure.invalidFilter(let field, let reason)):
            require(refusals.contains(field), "A query was wrongly refused for \(field): \(reason)")
            return nil
        case .failure(let error): fatalError("A query failed: \(error)")
        }
    }

    // MARK: Expected results

    /// Returns the minimum and maximum number of records per group. Closed ranges have counts per minute, so records
    /// within the first and last minute of the filter may count or not.
    private func counts(
        _ filter: IssueFilter, _ matching: [Row]
    ) -> (least: [String: Int], most: [String: Int]) {
        var wide = filter
        let minute: Int64 = 60_000
        wide.since = filter.since.map {
            IssueTimestamp(millisecondsSince1970: $0.millisecondsSince1970 / minute * minute)
        }
        wide.until = filter.until.map {
            IssueTimestamp(millisecondsSince1970: $0.millisecondsSince1970 / minute * minute + minute - 1)
        }
        func count(_ filter: IssueFilter) -> [String: Int] {
            Dictionary(grouping: matching.filter { $0.isWithin(filter) }, by: \.group).mapValues { $0.count }
        }
        return (count(filter), count(wide))
    }

    /// Whether the plain scan splits the text as the index does. The index knows the letters of all scripts, the plain
    /// scan only those of ASCII.
    private static func isComparable(_ filter: IssueFilter) -> Bool {
        filter.text?.utf8.allSatisfy { $0 < 0x80 } ?? true
    }

    /// Keeps the database and its WAL open.
    private let writer: StoreWriter
    let reader: StoreReader
    private var rows: [Row] = []
    let end: IssueTimestamp

    struct Row {
        var entry: SampleStore.Entry
        var group: String
        var state: GroupState
        var fates: [IssueFate]
        /// The terms of the group's title, and those of its domain.
        var columns: [[String]]

        func isWithin(_ filter: IssueFilter) -> Bool {
            (filter.since.map { entry.receivedAt >= $0 } ?? true)
                && (filter.until.map { entry.receivedAt <= $0 } ?? true)
        }

        func hasFate(_ filter: IssueFilter) -> Bool {
            filter.outcomes.map { fates in
                self.fates.contains {
                    fates.contains($0.outcome) && [nil, $0.destination].contains(filter.destination)
                }
            } ?? true
        }
    }

    private init() throws {
        fuzz_count_statements()
        let path = "\(SampleStore.folder)/filter.db"
        writer = try StoreWriter(SampleStore.settings(path, code: 42))
        let entries = try SampleStore.fill(writer, calls: 0..<60)
        reader = try StoreReader(path: path)
        end = SampleStore.start.advanced(by: .seconds(3600))
        let muted = try reader.record(row: entries[0].row)?.stored.group ?? ""
        _ = try writer.set(
            TriageState(.muted), ofGroup: try reader.subject(muted, viewer: .everything).group)
        let all = StoreReader.GroupQuery(
            filter: IssueFilter(), order: .newest, limit: 1000, after: nil, sparkline: nil, now: end)
        let groups = try reader.groups(all, viewer: .everything).groups
        for entry in entries {
            let id = try reader.record(row: entry.row)?.stored.group
            guard let group = groups.first(where: { $0.id == id }) else { fatalError("A record has no group") }
            rows.append(
                Row(
                    entry: entry, group: group.id, state: group.state,
                    fates: try reader.snapshot { try reader.fates(ofRow: entry.row) },
                    columns: [Self.words(group.title), Self.words(group.domain ?? "")]))
        }
        require(Set(rows.map(\.state)) == [.open, .muted], "No group is muted")
        require(Set(rows.map(\.fates.count)) == [0, 1], "No record has a fate")
        // The files stay open, so their data exists until this process ends.
        for ending in ["", "-wal", "-shm"] { try FileSystem.remove(path + ending) }
    }

    /// Returns the rows that match all of the filter except times and fates.
    func matching(_ filter: IssueFilter, _ viewer: Viewer) -> [Row] {
        rows.filter { row in
            let record = row.entry.record
            func holds<Value: Equatable>(_ list: [Value]?, _ value: Value?) -> Bool {
                list.map { list in value.map { list.contains($0) } ?? false } ?? true
            }
            let file = record.source?.fileID ?? ""
            return (viewer == .everything || viewer == .user(row.entry.uid))
                && holds(filter.apps, record.app?.name ?? SampleStore.command)
                && holds(filter.versions, record.app?.version)
                && holds(filter.environments, record.app?.environment)
                && (record.severity ?? .error) >= (filter.level ?? .debug)
                && holds(filter.domains, record.domain) && holds(filter.codes, record.code.map { Int($0) })
                && (filter.files?.contains { file == $0 || file.hasSuffix("/" + $0) } ?? true)
                && holds(filter.groups, row.group) && holds(filter.users, row.entry.uid)
                && holds(filter.units, SampleStore.unit) && holds(filter.states, row.state)
                && hasWords(filter, row)
        }
    }

    /// Returns whether the row matches the filter's text. Each word of the text is one or more adjacent terms
    /// of one column, and the last of these may be the beginning of a longer term.
    private func hasWords(_ filter: IssueFilter, _ row: Row) -> Bool {
        guard let text = filter.text, Self.isComparable(filter) else { return true }
        let words = text.utf8.split { $0 <= 0x20 }
        guard !words.isEmpty else { return true }
        // The index ignores a word without letters and digits, unless the text has no other word.
        let phrases = words.map { Self.words(String(decoding: $0, as: UTF8.self)) }.filter { !$0.isEmpty }
        return !phrases.isEmpty && phrases.allSatisfy { phrase in row.columns.contains { Self.has($0, phrase) } }
    }

    private static func has(_ column: [String], _ phrase: [String]) -> Bool {
        guard column.count >= phrase.count else { return false }
        return (0...column.count - phrase.count).contains { start in
            zip(column[start...], phrase).enumerated().allSatisfy { index, pair in
                index == phrase.count - 1 ? pair.0.hasPrefix(pair.1) : pair.0 == pair.1
            }
        }
    }

    private static func words(_ text: String) -> [String] {
        text.lowercased().utf8.split { !(0x30...0x39).contains($0) && !(0x61...0x7A).contains($0) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the fields of the filter for which a query must be refused.
    func refusals(_ filter: IssueFilter) -> Set<String> {
        var fields: Set<String> = []
        let counts: KeyValuePairs<String, Int?> = [
            "apps": filter.apps?.count, "versions": filter.versions?.count,
            "environments": filter.environments?.count, "domains": filter.domains?.count,
            "codes": filter.codes?.count, "files": filter.files?.count, "groups": filter.groups?.count,
            "users": filter.users?.count, "units": filter.units?.count, "states": filter.states?.count,
            "fates": filter.outcomes?.count,
        ]
        for (field, count) in counts where count ?? 0 > 256 { fields.insert(field) }
        let isID = { (id: String) in
            let digits = id.utf8.dropFirst()
            return id.hasPrefix("g") && digits.count == 16
                && digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        }
        if filter.groups?.allSatisfy(isID) == false { fields.insert("groups") }
        let text = filter.text ?? ""
        let parts = text.utf8.split { byte in
            byte < 0x80 && !Character(Unicode.Scalar(byte)).isLetter && !Character(Unicode.Scalar(byte)).isNumber
        }
        if text.utf8.count > 1024 || text.utf8.split(whereSeparator: { $0 <= 0x20 }).count > 16 || parts.count > 64 {
            fields.insert("text")
        }
        return fields
    }
}
