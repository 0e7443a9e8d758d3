import IssueCore
import IssueProtocol
import IssueStore
import SQLiteKit
import Testing

@Suite("A viewer")
struct ViewerTests {
    @Test("To a viewer, the records and groups of other users look as if they did not exist")
    func seesOwn() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 20
            let writer = try store.writer()
            _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
            let log = try SentLog.filled(store, writer)
            let reader = try store.reader()
            let foreign = log.entries.filter { $0.process.sender.uid == 1000 }
            for viewer in [Viewer.user(1001), .user(4), .nothing] {
                for entry in foreign {
                    #expect(throws: QueryFailure.notFound(id: entry.id)) { try reader.show(entry.id, viewer: viewer) }
                    #expect(throws: QueryFailure.notFound(id: entry.id)) {
                        try reader.fates(of: entry.id, viewer: viewer)
                    }
                }
                for group in try reader.groups(.all, viewer: .user(1000)).groups {
                    #expect(throws: QueryFailure.notFound(id: group.id)) { try reader.show(group.id, viewer: viewer) }
                    var filter = IssueFilter()
                    filter.groups = [group.id]
                    #expect(try reader.groups(.of(filter), viewer: viewer).groups.isEmpty)
                    #expect(
                        try reader.allRecords(filter, viewer: viewer).isEmpty)
                }
                var filter = IssueFilter()
                filter.users = [1000]
                #expect(try reader.groups(.of(filter), viewer: viewer).groups.isEmpty)
                #expect(try reader.newRecords(above: 0, filter, limit: 5, viewer: viewer).records.isEmpty)
                let own = log.matching(IssueFilter(), viewer).count
                let figures = try reader.figures(viewer: viewer)
                #expect(figures.received == Int64(own))
                #expect(figures.store.records == Int64(own))
                #expect(figures.store.bytes == nil)
                #expect(figures.store.oldest == nil)
                #expect(figures.ledgers.map(\.ledger.received) == [Int64(own)])
                #expect(figures.ledgers.allSatisfy { $0.oldestPending == nil })
                #expect(figures.store.groups == Int64(try reader.groups(.all, viewer: viewer).groups.count))
            }
        }
    }

    @Test("A viewer sees only the dead letters of their own records")
    func seesOwnDeadLetters() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: true)], at: store.wall)
            let log = try SentLog.filled(store, writer)
            try store.shell().execute(
                """
                INSERT INTO dead_letters (destination, record, reason, attempts, at, line)
                SELECT destinations.id, records.id, 'refused', 1, 0, '{}' FROM destinations, records
                """)
            let reader = try store.reader()
            for viewer in [Viewer.everything, .user(1000), .user(1001), .user(4), .nothing] {
                let letters = try reader.deadLetters(DeadLettersParameters(), limit: 10_000, viewer: viewer)
                let own = log.matching(IssueFilter(), viewer).map(\.id)
                #expect(Set(letters.deadLetters.map(\.record)) == Set(own))
            }
        }
    }

    @Test("A viewer of everything sees the sums of all users")
    func seesAll() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 20
            let writer = try store.writer()
            _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
            let log = try SentLog.filled(store, writer)
            let figures = try store.reader().figures(viewer: .everything)
            #expect(figures.received == Int64(log.entries.count))
            #expect(figures.store.records == Int64(log.entries.count))
            #expect(figures.store.id == String(log.entries[0].id.prefix(12)))
            #expect(figures.store.oldest == log.entries[0].receivedAt)
            #expect(figures.ledgers[0].ledger.balances)
            #expect(figures.ledgers[0].ledger.pending == Int64(log.entries.count))
            #expect(figures.ledgers[0].oldestPending == log.entries[0].receivedAt)
        }
    }

    @Test("A viewer sees their own records and groups")
    func showsOwn() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 20
            let writer = try store.writer()
            let log = try SentLog.filled(store, writer, calls: 20)
            let reader = try store.reader()
            for entry in log.entries {
                let viewer = Viewer.user(entry.process.sender.uid)
                let shown = try reader.show(entry.id, viewer: viewer)
                #expect(shown.record?.id == entry.id)
                let group = try reader.show(shown.group.id, viewer: viewer)
                #expect(group.group == shown.group)
                #expect(group.record?.id == shown.group.newestRecord)
                #expect(try reader.show(entry.id.uppercased(), viewer: .everything).record?.id == entry.id)
            }
            for id in ["", "x", "zzzzzzzzzzzz-1", "0000000000000-1", "g0000000000000000", "\(log.entries[0].id)00"] {
                #expect(throws: QueryFailure.notFound(id: id)) { try reader.show(id, viewer: .everything) }
            }
        }
    }

    @Test("A viewer shares no group with another user, whatever fingerprints they send")
    func sharesNoGroup() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let record = IssueRecord(message: "m", app: Application(name: "shop"), fingerprint: "same")
            try store.store([record], from: .of(uid: 1), to: writer)
            try store.store([record, record], from: .of(uid: 2), to: writer)
            try store.store(
                [IssueRecord(message: "m", app: Application(name: "x"), fingerprint: "same")], from: .of(uid: 2),
                to: writer)
            let groups = try store.reader().groups(.all, viewer: .everything).groups
            #expect(Set(groups.map(\.id)).count == 3)
            #expect(groups.map { [Int($0.user), $0.records] }.sorted { $0[1] < $1[1] }.last == [2, 2])
            try expectSound(store)
        }
    }

    @Test("A viewer is the reporting process only with the same pid, user and start time")
    func isReporter() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let id = try store.store([IssueRecord(message: "m")], to: writer)[0].text
            let reader = try store.reader()
            #expect(try reader.isReporter(.ordinary, of: id))
            var later = ReportingProcess.ordinary
            later.startTime += 1
            #expect(try !reader.isReporter(later, of: id))
            #expect(try !reader.isReporter(.of(uid: 1001), of: id))
            #expect(try !reader.isReporter(.of(uid: 1000, pid: 78), of: id))
            #expect(try !reader.isReporter(.ordinary, of: "zzzzzzzzzzzz-1"))
        }
    }
}
