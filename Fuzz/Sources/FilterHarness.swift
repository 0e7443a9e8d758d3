import CWork
import IssueCore
import IssueProtocol
import Synchronization
import UnixIO

@testable import IssueStore

/// A query with any filter returns the same as a plain scan, or is refused with the name of the invalid field. Its work
/// is limited. Queries run on a real store.
///
/// Input: a byte that selects the viewer and the order, and the JSON of the filter.
final class FilterHarness {
    /// Three times the maximum work measured for a query on this store. Work is the sum of the steps of SQLite's
    /// virtual machine, the pages read, and the comparisons of our own code.
    private static let maxWork: UInt64 = 8_000_000

    static func run(_ input: Span<UInt8>) {
        guard input.count > 1, let filter = try? IssueFilter(json: input.extracting(1..<input.count)) else { return }
        let selector = input[0]
        shared.withLock { shared in
            do {
                let harness = try shared ?? FilterHarness()
                shared = harness
                harness.check(filter, selector: selector)
            } catch {
                fatalError("The sample store can't be created: \(error)")
            }
        }
    }

    /// Created with the first input.
    private static let shared = Mutex<FilterHarness?>(nil)

    private func check(_ filter: IssueFilter, selector: UInt8) {
        let viewer = [Viewer.everything, .user(1000), .user(1001), .nothing][Int(selector & 3)]
        let matching = self.matching(filter, viewer)
        checkRecords(filter, viewer, isAscending: selector & 4 == 0, matching)
        // The store has no deployment, so no group matches a filter with one.
        let matchingGroups = filter.sinceDeployment == nil ? matching : []
        checkGroups(filter, viewer, ResultOrder.allCases[Int(selector >> 3 & 3)], matchingGroups)
        checkHistogram(filter, viewer, matchingGroups)
    }

    // MARK: Queries

    private func checkRecords(
        _ filter: IssueFilter, _ viewer: Viewer, isAscending: Bool, _ matching: [Row]
    ) {
        var refusals = self.refusals(filter)
        if let name = filter.destination, name != "a" { refusals.insert("destination") }
        if filter.sinceDeployment != nil { refusals.insert("since_deploy") }
        guard
            let ids = result(
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
        let expected = matching.filter {
            $0.isWithin(filter) && $0.hasFate(filter) && hasContent(filter, $0.entry.record)
        }.map(\.entry.id)
        let inOrder = isAscending ? expected : expected.reversed()
        require(ids == inOrder, "\(filter) finds \(ids) instead of \(inOrder)")
    }

    private func checkGroups(
        _ filter: IssueFilter, _ viewer: Viewer, _ order: ResultOrder, _ matching: [Row]
    ) {
        var refusals = self.refusals(filter)
        if filter.outcomes != nil || filter.destination != nil { refusals.insert("fates") }
        guard
            let page = result(
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
        let (minimum, maximum) = counts(filter, inMatchingGroups(matching, filter))
        require(found.isSubset(of: maximum.keys), "\(filter) finds groups without a matching record")
        require(found.isSuperset(of: minimum.keys), "\(filter) finds \(found) instead of \(minimum)")
        for group in page.groups {
            let range = (minimum[group.id] ?? 0)...(maximum[group.id] ?? 0)
            require(range.contains(group.records), "\(group.id) has \(group.records) records instead of \(range)")
        }
    }

    private func checkHistogram(_ filter: IssueFilter, _ viewer: Viewer, _ matching: [Row]) {
        guard
            let frame = try? HistogramFrame(
                bucket: .seconds(3600), since: filter.since ?? SampleStore.start, until: filter.until, now: end)
        else { return }
        var refusals = self.refusals(filter)
        if filter.outcomes != nil || filter.destination != nil { refusals.insert("fates") }
        guard
            let series = result(refusals, { try reader.histogram(filter, frame, by: .app, viewer: viewer) })
        else { return }
        let counted = series.reduce(0) { $0 + $1.counts.reduce(0, +) }
        let (minimum, maximum) = counts(filter, inMatchingGroups(matching, filter))
        // The last minute counts as a whole, even if the filter ends within it.
        require(
            counted <= maximum.values.reduce(0, +), "\(filter) counts \(counted) records; at most \(maximum) match")
        guard filter.until.map({ $0 >= filter.since ?? SampleStore.start }) ?? true else {
            return
        }
        require(
            counted >= minimum.values.reduce(0, +), "\(filter) counts \(counted) records; at least \(minimum) match")
    }

    /// Runs a query and returns its result, or nil if it was refused.
    ///
    /// - Parameter refusals: The invalid fields. The query must be refused for one of them, or succeed if there are
    ///   none.
    private func result<Value>(_ refusals: Set<String>, _ query: () throws -> Value) -> Value? {
        let before = fuzz_work()
        let result = Result(catching: query)
        let work = fuzz_work() - before
        require(work <= Self.maxWork, "A query takes \(work) steps")
        switch result {
        case .success(let value):
            require(refusals.isEmpty, "A query with invalid fields was not refused: \(refusals)")
            return value
        case .failure(QueryFailure.invalidFilter(let field, let reason)):
            require(refusals.contains(field), "A query was wrongly refused for \(field): \(reason)")
            return nil
        case .failure(let error): fatalError("A query failed: \(error)")
        }
    }

    // MARK: Expected results

    /// Returns the minimum and maximum number of records per group. Closed ranges have counts per minute, so records
    /// within the first and last minute of the filter may be counted or not.
    private func counts(
        _ filter: IssueFilter, _ matching: [Row]
    ) -> (minimum: [String: Int], maximum: [String: Int]) {
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

    /// Returns the rows of the groups that match the text, metadata and context of the filter: by their title, or by at
    /// least one record.
    private func inMatchingGroups(_ matching: [Row], _ filter: IssueFilter) -> [Row] {
        guard filter.text != nil || filter.metadata != nil || !filter.contextConditions.isEmpty else {
            return matching
        }
        let groups = Set(
            matching.filter { row in
                hasContent(filter, row.title) || row.isWithin(filter) && hasContent(filter, row.entry.record)
            }.map(\.group))
        return matching.filter { groups.contains($0.group) }
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
        /// The group's title and domain.
        var title: IssueRecord

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
                    title: IssueRecord(message: group.title, domain: group.domain)))
        }
        require(Set(rows.map(\.state)) == [.open, .muted], "No group is muted")
        require(Set(rows.map(\.fates.count)) == [0, 1], "No record has a fate")
        // The files stay open, so their data exists until this process ends.
        for ending in ["", "-wal", "-shm"] { try FileSystem.remove(path + ending) }
    }

    /// Returns the rows that match the filter, without regard to its times, fates, text, metadata and context.
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
        }
    }

    /// Returns `true` if a record matches the text, metadata and context of the filter. The metadata of a record in the
    /// sample store has at most one member.
    private func hasContent(_ filter: IssueFilter, _ record: IssueRecord) -> Bool {
        for (ids, own) in [
            (filter.traceIDs?.map { $0.lowercased() }, record.context.traceID),
            (filter.requestIDs, record.context.requestID), (filter.endUsers, record.context.user),
        ] {
            guard let ids else { continue }
            guard let own, ids.contains(own) else { return false }
        }
        let member = record.metadata?.asObject?.first
        let value = member.flatMap { $0.value.asString ?? $0.value.asInteger.map { "\($0)" } }
        if let entries = filter.metadata {
            guard let member, let value else { return false }
            let keys = Set(entries.map { Array($0.utf8.prefix { $0 != 0x3D }) })
            let own = "\(member.key)=\(value)".utf8
            guard keys == [Array(member.key.utf8)], entries.contains(where: { $0.utf8.elementsEqual(own) }) else {
                return false
            }
        }
        guard let text = filter.text else { return true }
        let causes = record.causes.flatMap { [$0.domain, $0.message] }
        let texts = ([record.message, record.domain, value] + causes).compactMap { $0.map { PlainSearch.lower($0) } }
        return PlainSearch.terms(text).allSatisfy { term in
            texts.contains { PlainSearch.contains($0, PlainSearch.lower(term)) }
        }
    }

    /// Returns the fields of the filter for which a query must be refused.
    func refusals(_ filter: IssueFilter) -> Set<String> {
        var fields: Set<String> = []
        let counts: KeyValuePairs<String, Int?> = [
            "apps": filter.apps?.count, "versions": filter.versions?.count,
            "environments": filter.environments?.count, "domains": filter.domains?.count,
            "codes": filter.codes?.count, "files": filter.files?.count, "groups": filter.groups?.count,
            "users": filter.users?.count, "units": filter.units?.count, "states": filter.states?.count,
            "fates": filter.outcomes?.count, "metadata": filter.metadata?.count,
            "trace_ids": filter.traceIDs?.count, "request_ids": filter.requestIDs?.count,
            "end_users": filter.endUsers?.count,
        ]
        for (field, count) in counts where count ?? 0 > 256 { fields.insert(field) }
        let isID = { (id: String) in
            let digits = id.utf8.dropFirst()
            return id.hasPrefix("g") && digits.count == 16
                && digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        }
        if filter.groups?.allSatisfy(isID) == false { fields.insert("groups") }
        if filter.metadata?.contains(where: { ($0.utf8.firstIndex(of: 0x3D) ?? $0.startIndex) == $0.startIndex })
            == true
        {
            fields.insert("metadata")
        }
        let isTrace = { (id: String) in
            id.utf8.count == 32 && id.contains { $0 != "0" }
                && id.utf8.allSatisfy { "0123456789abcdefABCDEF".utf8.contains($0) }
        }
        if filter.traceIDs?.allSatisfy(isTrace) == false { fields.insert("trace_ids") }
        let text = filter.text ?? ""
        let parts = text.utf8.split { byte in
            byte < 0x80 && !Character(Unicode.Scalar(byte)).isLetter && !Character(Unicode.Scalar(byte)).isNumber
        }
        if text.utf8.count > 1024 || PlainSearch.terms(text).count > 16 || parts.count > 64 {
            fields.insert("text")
        }
        return fields
    }
}
