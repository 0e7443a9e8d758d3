import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("The ids of a record's context in the store")
struct ContextTests {
    private static let traces = ["4bf92f3577b34da6a3ce929d0e0e4736", "4bf92f3577b34da6a3ce929d0e0e4737"]
    private static let users = ["anna", "ann", "Anna", "a\"b\\c é", "4bf92f3577b34da6a3ce929d0e0e4736"]

    private func fill(_ store: TemporaryStore) throws -> SentLog {
        store.settings.rangeRecords = 23
        let writer = try store.writer()
        var log = SentLog()
        for call in 0..<20 {
            var records: [IssueRecord] = []
            for index in 0..<7 {
                let number = call * 7 + index
                var record = IssueRecord(message: "Request \(number) of \(number % 3 == 0 ? "shop" : "till") failed")
                record.app = Application(name: number % 3 == 0 ? "shop" : "till")
                // Looks like an id, but is none.
                if number % 4 == 1 { record.metadata = ["user": "anna", "trace_id": .string(Self.traces[0])] }
                if number % 5 == 2 { record.causes = [IssueCause(message: "anna")] }
                if number % 3 != 1 {
                    record.context = IssueContext(
                        traceID: number % 2 == 0 ? Self.traces[number % 4 / 2] : nil,
                        requestID: number % 7 == 0 ? "r-\(number % 14)" : nil, user: Self.users[number % 5])
                }
                records.append(record)
            }
            try log.send(records, from: .of(uid: 1000), to: writer, of: store)
        }
        return log
    }

    private func filters() -> [IssueFilter] {
        var filters: [IssueFilter] = []
        for (traces, requests, users) in [
            ([Self.traces[0]], nil, nil), ([Self.traces[1].uppercased()], nil, nil), (Self.traces, nil, nil),
            (nil, ["r-0"], nil), (nil, ["r-7", "r-0", "none"], nil), (nil, nil, ["anna"]), (nil, nil, ["ann", "Anna"]),
            (nil, nil, [Self.users[3]]), (nil, nil, [Self.users[4]]), ([Self.traces[0]], ["r-0"], ["anna"]),
            (nil, nil, [""]), (nil, [], nil), (nil, nil, ["a\"b"]),
        ] as [([String]?, [String]?, [String]?)] {
            var filter = IssueFilter()
            filter.traceIDs = traces
            filter.requestIDs = requests
            filter.endUsers = users
            filters.append(filter)
            filter.apps = ["shop"]
            filter.text = "request"
            filters.append(filter)
        }
        return filters
    }

    private func matches(_ context: IssueContext, _ filter: IssueFilter) -> Bool {
        func holds(_ values: [String]?, _ own: String?) -> Bool {
            values.map { values in own.map { values.contains($0) } ?? false } ?? true
        }
        return holds(filter.traceIDs?.map { $0.lowercased() }, context.traceID)
            && holds(filter.requestIDs, context.requestID) && holds(filter.endUsers, context.user)
    }

    @Test("A filter by context ids finds exactly the records with them, in both directions, in open and closed ranges")
    func filtered() throws {
        try TemporaryStore.with { store in
            let log = try fill(store)
            let reader = try store.reader()
            var counts: [Int] = []
            for filter in filters() {
                let expected = log.matching(filter, .everything).filter { matches($0.record.context, filter) }.map(\.id)
                counts.append(expected.count)
                for isAscending in [true, false] {
                    let found = try reader.allRecords(filter, isAscending: isAscending)
                    #expect(found.map(\.id) == (isAscending ? expected : expected.reversed()), "\(filter)")
                }
                let erasable = try reader.rows(filter, above: 0, through: .max, limit: 500).rows
                #expect(erasable.count == expected.count, "\(filter)")
            }
            #expect(counts.contains { $0 > 40 } && counts.contains(0) && counts.contains(1...5))
        }
    }

    @Test("A filter by context ids selects the groups that have a record with these ids, never groups by title")
    func groups() throws {
        try TemporaryStore.with { store in
            let log = try fill(store)
            let reader = try store.reader()
            for filter in filters() {
                let expected = Set(
                    log.matching(filter, .everything).filter { matches($0.record.context, filter) }
                        .map { $0.record.app?.name })
                var query = StoreReader.GroupQuery.all
                query.filter = filter
                let groups = try reader.groups(query, viewer: .everything).groups
                #expect(Set(groups.map(\.app)) == expected, "\(filter)")
            }
        }
    }

    @Test("SQL finds a record by an id of its context, and a record with only a message has no `details`")
    func sql() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store(
                [
                    IssueRecord(message: "a", context: IssueContext(traceID: Self.traces[0], user: "anna")),
                    IssueRecord(message: "b"),
                ], to: writer)
            let shell = try store.shell()
            #expect(
                try shell.table("SELECT details FROM records ORDER BY id", columns: 1)
                    == [[#"{"trace_id":"\#(Self.traces[0])","user":"anna"}"#], [nil]])
            #expect(
                try shell.number("SELECT id FROM records WHERE details ->> '$.trace_id' = '\(Self.traces[0])'") == 1)
        }
    }
}

extension [Int] {
    fileprivate func contains(_ range: ClosedRange<Int>) -> Bool { contains { range.contains($0) } }
}
