import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("A query for records")
struct RecordQueryTests {
    /// Filters of every kind that depends only on the series or the time of a record.
    static let filters: [IssueFilter] = {
        func filter(_ set: (inout IssueFilter) -> Void) -> IssueFilter {
            var filter = IssueFilter()
            set(&filter)
            return filter
        }
        return [
            filter { _ in }, filter { $0.apps = ["app1", "shop"] }, filter { $0.apps = [] },
            filter { $0.versions = ["1.1"] }, filter { $0.environments = ["production"] },
            filter { $0.level = .error }, filter { $0.domains = ["com.example.1", "no.such"] },
            filter { $0.codes = [4, 8, -1] }, filter { $0.files = ["File3.swift", "Module0/File0.swift"] },
            filter { $0.files = ["%", "File_.swift", "file3.swift", "ile3.swift"] }, filter { $0.users = [1001, 7] },
            filter { $0.units = ["shop.service"] }, filter { $0.units = ["other.service"] },
            filter { $0.since = IssueTimestamp(millisecondsSince1970: 1_790_000_700_000) },
            filter { $0.until = IssueTimestamp(millisecondsSince1970: 1_790_000_900_000) },
            filter {
                $0.since = IssueTimestamp(millisecondsSince1970: 1_790_000_400_000)
                $0.until = IssueTimestamp(millisecondsSince1970: 1_790_000_800_000)
                $0.level = .warning
            },
            filter {
                $0.since = IssueTimestamp(millisecondsSince1970: 1_790_000_400_000)
                $0.until = IssueTimestamp(millisecondsSince1970: 1_790_000_800_000)
            },
            filter {
                $0.since = IssueTimestamp(millisecondsSince1970: 2)
                $0.until = IssueTimestamp(millisecondsSince1970: 1)
            },
            filter {
                $0.apps = ["app2"]
                $0.codes = [2, 6, 10]
                $0.users = [1000]
            },
        ]
    }()

    @Test(
        "A query for records returns what a plain scan finds, in both directions, page by page",
        arguments: [Viewer.everything, .user(1000), .user(1001), .user(5), .nothing])
    func agrees(viewer: Viewer) throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 37
            let writer = try store.writer()
            let log = try SentLog.filled(store, writer)
            let reader = try store.reader()
            for (index, filter) in Self.filters.enumerated() {
                let expected = log.matching(filter, viewer).map(\.id)
                for isAscending in [true, false] {
                    // Pages of a few records, and all in one page.
                    let limit = index.isMultiple(of: 2) == isAscending ? 7 : 1000
                    let ids = try reader.allRecords(
                        filter, isAscending: isAscending, pageSize: limit, viewer: viewer
                    ).map(\.id)
                    #expect(ids == (isAscending ? expected : expected.reversed()), "filter \(index)")
                }
            }
        }
    }

    @Test("A query for records can begin after any row, in both directions, in closed ranges and in the open one")
    func beginsAnywhere() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 23
            let writer = try store.writer()
            let log = try SentLog.filled(store, writer, calls: 16)
            let reader = try store.reader()
            for filter in [Self.filters[0], Self.filters[5], Self.filters[15], Self.filters[16]] {
                let rows = log.matching(filter, .everything).map(\.row)
                let selection = try SeriesSelection(filter, viewer: .everything)
                for bound in 0...Int64(log.entries.count + 2) {
                    let after = PageCursor(value: 0, row: bound).text
                    let up = try reader.records(
                        .init(filter: filter, isAscending: true, limit: 1000, after: after), viewer: .everything)
                    #expect(up.records.compactMap { RecordID($0.id)?.row } == rows.filter { $0.rawValue > bound })
                    let down = try reader.records(
                        .init(filter: filter, isAscending: false, limit: 1000, after: after), viewer: .everything)
                    #expect(
                        down.records.compactMap { RecordID($0.id)?.row }
                            == rows.filter { $0.rawValue < bound }.reversed())
                }
                #expect(selection.isEverything == (filter != Self.filters[5] && filter != Self.filters[15]))
            }
        }
    }

    @Test("A query for records of one series finds all of them, also those stored since the last query")
    func skipsKnownBlocks() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let reader = try store.reader()
            var log = SentLog()
            for call in 0..<12 {
                let records = (0..<200).map { number in
                    var record = IssueRecord(message: "Order \(number) failed")
                    record.app = Application(name: "app\(call % 4)")
                    return record
                }
                try log.send(records, to: writer, of: store)
                for app in 0..<4 {
                    var filter = IssueFilter()
                    filter.apps = ["app\(app)"]
                    let expected = log.matching(filter, .everything).map(\.id)
                    let found = try reader.allRecords(filter, isAscending: false, pageSize: 70).map(\.id)
                    #expect(found == expected.reversed())
                }
            }
        }
    }

    @Test("A page of an issue's records reads only the few blocks that contain them", arguments: [true, false])
    func pageReadsFewBlocks(isRangeClosed: Bool) throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for _ in 0..<8 {
                let records = (0..<256).map {
                    IssueRecord(message: "Order failed", app: Application(name: "app\($0 % 4)"))
                }
                try store.store(records, to: writer)
            }
            if isRangeClosed { try writer.closeOpenRange() }
            let shell = try store.shell()
            #expect(try shell.number("SELECT count(*) FROM blocks") == 8)
            var filter = IssueFilter()
            filter.apps = ["app1"]
            func page() throws -> StoreReader.RecordPage {
                // A new reader has decoded no block yet.
                try store.reader().records(
                    .init(filter: filter, isAscending: false, limit: 50, after: nil), viewer: .everything)
            }
            // A page would count the records of each damaged block that it reads.
            try shell.execute("UPDATE blocks SET checksum = checksum + 1 WHERE first_id <= 6 * 256")
            let found = try page()
            #expect(found.records.count == 50 && found.unreadable == 0)
            try shell.execute("UPDATE blocks SET checksum = checksum + 1 WHERE first_id > 7 * 256")
            #expect(try page().unreadable > 0)
        }
    }

    @Test("A query for records does not read a closed range outside the requested time")
    func passesOver() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 5
            let writer = try store.writer()
            let log = try SentLog.filled(store, writer, calls: 40)
            let reader = try store.reader()
            var filter = IssueFilter()
            filter.since = log.entries[log.entries.count - 10].receivedAt
            for isAscending in [true, false] {
                for series in [nil, try store.shell().numbers("SELECT id FROM series")] {
                    var walk = try RecordWalk(
                        series: series?.map(SeriesID.init(rawValue:)), isAscending: isAscending, from: nil,
                        since: filter.since, on: reader)
                    var walked = 0
                    while try walk.next(on: reader) != nil { walked += 1 }
                    #expect((5...40).contains(walked))
                }
            }
        }
    }

    @Test("A query for records returns large records a few at a time, and omits none")
    func large() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let text = String(repeating: "z", count: 200_000)
            for _ in 0..<5 { try store.store((0..<3).map { IssueRecord(message: "\($0) \(text)") }, to: writer) }
            let reader = try store.reader()
            var sizes: [Int] = []
            var after: String?
            repeat {
                let page = try reader.records(
                    .init(filter: IssueFilter(), isAscending: false, limit: 500, after: after), viewer: .everything)
                sizes.append(page.records.count)
                after = page.next
            } while after != nil
            #expect(sizes == [6, 6, 3])
        }
    }

    @Test(
        "A query for records rejects an invalid cursor",
        arguments: ["", ".", "1", "a.b", "1.2.3", "1.99999999999999999999"])
    func refusesCursor(after: String) throws {
        try TemporaryStore.with { store in
            _ = try store.writer()
            let reader = try store.reader()
            #expect(throws: QueryFailure.invalidParameter("after")) {
                try reader.records(
                    .init(filter: IssueFilter(), isAscending: true, limit: 1, after: after), viewer: .everything)
            }
            #expect(throws: QueryFailure.invalidParameter("after")) {
                try reader.groups(.of(IssueFilter(), after: after), viewer: .everything)
            }
        }
    }

    @Test("A follower's query continues after the records it has seen, and omits none")
    func follows() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 11
            let writer = try store.writer()
            let reader = try store.reader()
            var log = SentLog()
            var samples = SampleRecords(seed: 4)
            var filter = IssueFilter()
            filter.level = .error
            var seen = try reader.newest()
            var ids: [String] = []
            for _ in 0..<30 {
                try log.send(samples.records(1 + Int(samples.below(6))), to: writer, of: store)
                let new = try reader.newRecords(above: seen, filter, limit: 3, viewer: .user(1000))
                ids += new.records.map(\.id)
                #expect(new.seen >= seen)
                seen = new.seen
            }
            while true {
                let new = try reader.newRecords(above: seen, filter, limit: 3, viewer: .user(1000))
                ids += new.records.map(\.id)
                guard new.seen > seen else { break }
                seen = new.seen
            }
            #expect(ids == log.matching(filter, .everything).map(\.id))
        }
    }
}
