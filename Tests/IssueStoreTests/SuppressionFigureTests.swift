import IssueCore
import IssueProtocol
import IssueStore
import Testing

@Suite("Suppressions in the status")
struct SuppressionFigureTests {
    private func window(_ group: Int64, _ reason: SuppressionReason = .groupRate, count: Int64) -> WindowRow {
        var row = WindowRow(
            key: .init(group: GroupID(group), reason: reason), account: 1, start: RecordLogInstant(milliseconds: 5_000),
            due: RecordLogInstant(milliseconds: 65_000), interval: .seconds(60), sequence: 1)
        row.suppressedCount = count
        return row
    }

    @Test(
        "Suppressions in the status name destination, application, group and count, for viewers of the group"
    )
    func figures() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let destination = try #require(
                try writer.configure(
                    [.init(name: "logzio", kind: "logzio", takesBacklog: false)], at: store.wall
                ).first)
            try store.store([IssueRecord(message: "often"), IssueRecord(message: "seldom")], to: writer)
            var changes = AdmissionChanges()
            changes.windows = [window(1, count: 12), window(2, count: 0)]
            try writer.store([], changes: changes, destination: destination.id, at: store.wall)

            let reader = try store.reader()
            let held = try reader.figures(viewer: .everything).suppressions

            let group = try reader.show(try #require(held.first?.group), viewer: .everything).group
            #expect(held.map(\.count) == [12])
            #expect(held.map(\.destination) == ["logzio"])
            #expect(held.map(\.app) == ["shop"])
            #expect(held.map(\.reason) == [.groupRate])
            #expect(group.title == "often")
            #expect(try reader.figures(viewer: .user(1000)).suppressions == held)
            #expect(try reader.figures(viewer: .user(1001)).suppressions.isEmpty)
        }
    }

    @Test("Suppressions in the status are summed up by limit and application, largest first, at most 50")
    func sums() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let destination = try #require(
                try writer.configure(
                    [.init(name: "logzio", kind: "logzio", takesBacklog: false)], at: store.wall
                ).first)
            let records = (0..<120).map {
                IssueRecord(message: "m", code: Int64($0), app: Application(name: "app-\($0 / 3)"))
            }
            try store.store(records, to: writer)
            var changes = AdmissionChanges()
            for group in 1...120 as ClosedRange<Int64> {
                changes.windows += [window(group, count: group), window(group, .dailyBytes, count: group)]
            }
            try writer.store([], changes: changes, destination: destination.id, at: store.wall)

            let figures = try store.reader().figures(viewer: .everything)

            #expect(figures.suppressions.count == 50)
            #expect(figures.otherSuppressions == 30)
            #expect(figures.suppressions.first?.app == "app-39")
            #expect(figures.suppressions.first?.count == 357)
            #expect(figures.suppressions.allSatisfy { $0.groups == 3 && $0.group == nil })
            #expect(figures.suppressions.map(\.count) == figures.suppressions.map(\.count).sorted(by: >))
        }
    }

    @Test("Issues cannot be filtered by fate, since only records have one")
    func fatesOfGroups() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store([IssueRecord(message: "m")], to: writer)
            var filter = IssueFilter()
            filter.outcomes = [.pending]
            let query = StoreReader.GroupQuery(
                filter: filter, order: .newest, limit: 10, after: nil, sparkline: nil, now: store.wall)
            let reader = try store.reader()

            #expect(throws: QueryFailure.invalidFilter(field: "fates", reason: "issues cannot be filtered by fate")) {
                try reader.groups(query, viewer: .everything)
            }
        }
    }
}
