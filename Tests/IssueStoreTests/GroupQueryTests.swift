import IssueCore
import IssueProtocol
import IssueStore
import SQLiteKit
import Testing

@Suite("A query for groups")
struct GroupQueryTests {
    /// A group as counted by a plain scan of the sent records.
    private struct Counted: Equatable {
        var records: Int64 = 0
        var occurrences: Int64 = 0
    }

    private func recount(_ entries: [SentLog.Entry], _ reader: StoreReader) throws -> [String: Counted] {
        var groups: [String: Counted] = [:]
        for entry in entries {
            let group = try #require(try reader.record(row: entry.row)?.stored.group)
            groups[group, default: Counted()].records += 1
            groups[group, default: Counted()].occurrences += entry.record.count ?? 1
        }
        return groups
    }

    @Test("A sum of occurrences is limited to the largest integer, so that commits and queries do not fail")
    func manyOccurrences() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let records = (1...2 as ClosedRange<Int64>).map { line in
                var record = IssueRecord(message: "m", source: SourceLocation(line: line))
                record.count = 1_000_000_000
                return record
            }
            for _ in 0..<2 {
                _ = try store.store(records, to: writer)
                try writer.closeOpenRange()
                for table in ["totals", "ledger"] {
                    try store.shell().execute(composedSQL: "UPDATE \(table) SET occurrences = 9223372036854775800")
                }
            }
            _ = try store.store(records, to: writer)
            let reader = try store.reader()
            var bounded = IssueFilter()
            bounded.since = IssueTimestamp(millisecondsSince1970: 0)
            for order in ResultOrder.allCases {
                let query = StoreReader.GroupQuery(
                    filter: IssueFilter(), order: order, limit: 10, after: nil, sparkline: nil, now: store.wall)
                let group = try #require(try reader.groups(query, viewer: .everything).groups.first)
                #expect(group.occurrences == Int.max)
                #expect(try reader.groups(.of(bounded), viewer: .everything).groups.map(\.records) == [6])
            }
        }
    }

    @Test(
        "A query for groups returns what a plain recount finds, for every filter",
        arguments: [Viewer.everything, .user(1001)])
    func agrees(viewer: Viewer) throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 41
            let writer = try store.writer()
            let log = try SentLog.filled(store, writer)
            let reader = try store.reader()
            for filter in RecordQueryTests.filters {
                let page = try reader.groups(.of(filter), viewer: viewer)
                // In closed ranges, times are exact to the minute.
                var wide = filter
                wide.since = filter.since.map {
                    IssueTimestamp(millisecondsSince1970: $0.millisecondsSince1970 / 60_000 * 60_000)
                }
                wide.until = filter.until.map {
                    IssueTimestamp(millisecondsSince1970: $0.millisecondsSince1970 / 60_000 * 60_000 + 59_999)
                }
                let most = try recount(log.matching(wide, viewer), reader)
                let least = try recount(log.matching(filter, viewer), reader)
                #expect(page.groups.count >= least.count && page.groups.count <= most.count)
                #expect(Set(page.groups.map(\.id)).count == page.groups.count)
                for group in page.groups {
                    let (low, high) = (least[group.id] ?? Counted(), most[group.id] ?? Counted())
                    #expect((low.records...high.records).contains(Int64(group.records)))
                    #expect((low.occurrences...high.occurrences).contains(Int64(group.occurrences)))
                }
            }
        }
    }

    @Test("A query for groups describes each group by its records")
    func describes() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 30
            let writer = try store.writer()
            let log = try SentLog.filled(store, writer)
            let reader = try store.reader()
            let page = try reader.groups(.all, viewer: .everything)
            let byGroup = try Dictionary(grouping: log.entries) { try reader.record(row: $0.row)?.stored.group ?? "" }
            #expect(Set(page.groups.map(\.id)) == Set(byGroup.keys))
            for group in page.groups {
                let own = try #require(byGroup[group.id])
                #expect(group.firstSeen == own.first?.receivedAt)
                #expect(group.lastSeen == own.last?.receivedAt)
                #expect(group.newestRecord == own.last?.id)
                #expect(group.level == own.compactMap(\.record.severity).max())
                #expect(group.user == own[0].process.sender.uid)
                #expect(group.app == own[0].app)
                #expect(group.domain == own[0].record.domain)
                #expect(group.code == own[0].record.code.map { Int($0) })
                #expect(group.firstVersion == own[0].record.app?.version)
                #expect(group.state == .open)
                #expect(!group.title.contains { $0.unicodeScalars.contains { $0.value < 0x20 } })
            }
        }
    }

    @Test("If a group's messages have no words besides values, its title names the function, the file and the line")
    func names() throws {
        func record(_ template: String, _ values: [String], _ source: IssueProtocol.SourceLocation) -> IssueRecord {
            var message = template
            for value in values { message.replace("{}", with: value, maxReplacements: 1) }
            var record = IssueRecord(message: message, template: template)
            record.parts = values.map { .string($0) }
            record.source = source
            return record
        }
        let cart = IssueProtocol.SourceLocation(
            fileID: "Shop/Cart.swift", line: 7, function: "checkout()", module: "Shop")
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store(
                [
                    record("{}", ["ann"], cart), record("{}", ["bob"], cart), record("{}: {}", ["a", "b"], cart),
                    record("{}", ["c"], .init(fileID: "main.swift")),
                    record("{}", ["d"], .init(function: "f\n()")), record("{}", ["e"], .init()),
                    record("User: {}", ["g"], cart),
                ], to: writer)
            let groups = try store.reader().groups(.all, viewer: .everything).groups
            #expect(
                Set(groups.map { "\($0.records) \($0.title)" }) == [
                    "2 <value> in checkout() (Cart.swift:7)", "1 <value>: <value> in checkout() (Cart.swift:7)",
                    "1 <value> (main.swift)", "1 <value> in f ()", "1 <value>", "1 User: <value>",
                ])
        }
    }

    @Test("A query with a start time returns each group's true last time, and no first time before the start's minute")
    func clips() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 30
            let writer = try store.writer()
            let log = try SentLog.filled(store, writer)
            var filter = IssueFilter()
            let since = log.entries[20].receivedAt
            filter.since = since
            let minute = IssueTimestamp(millisecondsSince1970: since.millisecondsSince1970 / 60_000 * 60_000)
            let reader = try store.reader()
            let all = try reader.groups(.all, viewer: .everything).groups
            let clipped = try reader.groups(.of(filter), viewer: .everything).groups
            #expect(clipped.contains { group in all.contains { $0.id == group.id && $0.firstSeen < minute } })
            for group in clipped {
                #expect(group.lastSeen == all.first { $0.id == group.id }?.lastSeen)
                #expect((minute...group.lastSeen).contains(group.firstSeen))
            }
        }
    }

    @Test(
        "A query for groups returns all pages without loss or repetition, in each order",
        arguments: ResultOrder.allCases)
    func pages(order: ResultOrder) throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 50
            let writer = try store.writer()
            _ = try SentLog.filled(store, writer)
            let reader = try store.reader()
            let whole = try reader.groups(.of(IssueFilter(), order: order), viewer: .everything)
            #expect(whole.groups.count > 15)
            #expect(whole.next == nil)
            for limit in [1, 3, 10] {
                var ids: [String] = []
                var after: String?
                repeat {
                    let page = try reader.groups(
                        .of(IssueFilter(), order: order, limit: limit, after: after), viewer: .everything)
                    ids += page.groups.map(\.id)
                    #expect(page.groups.count == limit || page.next == nil)
                    after = page.next
                } while after != nil
                #expect(ids == whole.groups.map(\.id))
            }
            let groups = whole.groups
            for (one, next) in zip(groups, groups.dropFirst()) {
                switch order {
                case .newest: #expect(one.lastSeen >= next.lastSeen)
                case .oldest: #expect(one.firstSeen <= next.firstSeen)
                case .most: #expect(one.occurrences >= next.occurrences)
                case .worst: #expect((one.level, one.lastSeen) >= (next.level, next.lastSeen))
                }
            }
        }
    }

    @Test("A query for groups returns a sparkline that sums to the records that match the filter")
    func sparkles() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 33
            let writer = try store.writer()
            let log = try SentLog.filled(store, writer)
            let reader = try store.reader()
            var filters = [IssueFilter(), IssueFilter(), IssueFilter()]
            filters[1].versions = ["1.1"]
            filters[2].level = .error
            filters[2].since = log.entries[0].receivedAt
            for (filter, buckets) in zip(filters + filters, [1, 7, 60, 24, 1000, 2]) {
                let page = try reader.groups(
                    .of(filter, sparkline: buckets, now: store.wall), viewer: .everything)
                #expect(!page.groups.isEmpty)
                for group in page.groups {
                    #expect(group.sparkline.count == buckets)
                    #expect(group.sparkline.reduce(0, +) == group.records)
                }
            }
        }
    }

    @Test("A query for groups filters by group ids and states, and rejects invalid ids")
    func answersForIDs() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store([IssueRecord(message: "a"), IssueRecord(message: "b")], to: writer)
            let reader = try store.reader()
            let all = try reader.groups(.all, viewer: .everything).groups
            var filter = IssueFilter()
            filter.groups = [all[1].id, "g0000000000000000"]
            #expect(try reader.groups(.of(filter), viewer: .everything).groups == [all[1]])
            filter.states = [.muted]
            #expect(try reader.groups(.of(filter), viewer: .everything).groups.isEmpty)
            filter.states = [.open, .resolved]
            #expect(try reader.groups(.of(filter), viewer: .everything).groups.count == 1)
            for id in ["", "g", "g00000000000000000", "g+000000000000001", "gABCDEF0123456789", "h0000000000000000"] {
                filter.groups = [id]
                #expect(throws: QueryFailure.self) { try reader.groups(.of(filter), viewer: .everything) }
            }
        }
    }
}
