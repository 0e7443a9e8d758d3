import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("Corrections for destinations")
struct CorrectionEventTests {
    private func id(_ group: GroupID, _ store: TemporaryStore) throws -> String {
        GroupKey.text(key: try store.shell().number("SELECT key FROM groups WHERE id = \(group.rawValue)"))
    }

    private func configure(_ names: [String], _ store: TemporaryStore, _ writer: StoreWriter) throws -> [Int64] {
        try writer.configure(
            names.map { .init(name: $0, kind: "k", takesBacklog: false) }, at: store.wall
        ).map(\.id)
    }

    private func events(_ destination: Int64, _ store: TemporaryStore) throws -> [CorrectionEvent] {
        try store.reader().correctionEvents(for: destination, limit: 100).events
    }

    /// Stores a line for each reportable event, as a forwarding loop does.
    private func tell(_ destination: Int64, _ store: TemporaryStore, _ writer: StoreWriter) throws {
        let found = try store.reader().correctionEvents(for: destination, limit: 100)
        let lines = found.events.filter(\.isReportable).map {
            CorrectionLine(event: $0.id, line: Array("line \($0.id)".utf8))
        }
        try writer.store(lines, through: found.last ?? 0, destination: destination, at: store.wall)
    }

    private func lines(_ destination: Int64, _ store: TemporaryStore) throws -> [String] {
        let reader = try store.reader()
        return try reader.unsentSummaries(of: destination, limit: 100).compactMap {
            try reader.line(ofSummary: $0).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private func withThree(_ body: (TemporaryStore, StoreWriter, [GroupID]) throws -> Void) throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let messages = ["User ann is gone", "User bob is gone", "Disk full"]
            for message in messages { try store.store([.shop(message)], to: writer) }
            try body(store, writer, try messages.map { try store.group($0) })
            #expect(try LedgerAudit.faults(store.shell()) == [])
            #expect(try store.shell().table("SELECT * FROM ledger_check", columns: 2) == [])
        }
    }

    @Test("Each merge, split, rule and undoing causes events that name its groups, author and reason")
    func kinds() throws {
        try withThree { store, writer, ids in
            let destination = try configure(["d"], store, writer)[0]
            for message in ["Read of /a failed", "Write of /b failed"] {
                try store.store([.shop(message, fingerprint: "io")], to: writer)
            }
            let names = try ids.map { try id($0, store) }
            _ = try writer.merge([ids[1]], into: ids[0], by: store.author("same person"))
            _ = try writer.undo(correction: 1, by: store.author())
            let io = try store.group("Read of <path> failed")
            guard case .done(let split) = try writer.split(io, by: try #require(TitlePattern("W*")), store.author())
            else {
                Issue.record("not split")
                return
            }
            let pattern = try #require(TitlePattern("User * is gone"))
            #expect(try writer.addRule(pattern, merging: [ids[0], ids[1]], into: ids[2], by: store.author()) != nil)
            _ = try writer.undo(correction: 3, by: store.author())

            let found = try events(destination, store)
            #expect(found.map(\.correction.kind) == [.merge, .merge, .split, .rule, .rule, .rule, .rule])
            #expect(found.map(\.isUndone) == [false, true, false, false, false, false, true])
            #expect(found.map(\.correction.id) == [1, 1, 2, 3, 3, 3, 3])
            let (ioName, splitName) = (try id(io, store), try id(split, store))
            #expect(
                found.map(\.correction.group) == [
                    names[0], names[0], splitName, names[2], names[2], names[2], names[2],
                ])
            #expect(
                found.map(\.correction.other) == [names[1], names[1], ioName, nil, names[0], names[1], nil])
            #expect(found[0].correction.reason == "same person" && found[1].correction.reason == nil)
            #expect(found.allSatisfy { $0.correction.author == 1000 && $0.correction.app == "shop" })
            #expect(found[2].correction.template == "W*" && found[2].otherFingerprint == "io")
            #expect(found[3].correction.template == "User * is gone" && found[3].otherFingerprint == nil)
            #expect(found.allSatisfy { !$0.fingerprint.isEmpty && $0.isReportable })
        }
    }

    @Test("A merge that changes nothing and an unfinished undoing cause no events")
    func noChange() throws {
        try withThree { store, writer, ids in
            let destination = try configure(["d"], store, writer)[0]
            _ = try writer.merge([ids[0]], into: ids[0], by: store.author())
            _ = try writer.merge([ids[1]], into: ids[0], by: store.author())
            _ = try writer.merge([ids[1]], into: ids[0], by: store.author())
            let undoing = StoreWriter.Undoing(correction: 1, by: store.author())
            #expect(try writer.proceed(with: undoing)?.isDone == false)
            #expect(try events(destination, store).count == 1)
            _ = try writer.undo(correction: 1, by: store.author())
            #expect(try events(destination, store).count == 2)
        }
    }

    @Test("Each destination gets one line for each event, and a new destination gets none for earlier events")
    func destinations() throws {
        try withThree { store, writer, ids in
            _ = try writer.merge([ids[1]], into: ids[0], by: store.author())
            #expect(try store.shell().number("SELECT count(*) FROM correction_events") == 0)
            let first = try configure(["one"], store, writer)[0]
            _ = try writer.merge([ids[2]], into: ids[0], by: store.author())
            let both = try configure(["one", "two"], store, writer)
            _ = try writer.undo(correction: 2, by: store.author())
            #expect(try events(first, store).count == 2)
            #expect(try events(both[1], store).map(\.isUndone) == [true])
            #expect(try store.reader().backlog(of: first, after: .max).corrections == 2)
            try tell(first, store, writer)
            #expect(try lines(first, store) == ["line 1", "line 2"])
            #expect(try events(first, store).isEmpty)
            #expect(try store.reader().backlog(of: first, after: .max).corrections == 0)
            #expect(try store.reader().backlog(of: first, after: .max).unsentSummaries == 2)
            // A line that was made from an older snapshot is not stored twice.
            try writer.store([CorrectionLine(event: 1, line: [1])], through: 1, destination: first, at: store.wall)
            #expect(try lines(first, store) == ["line 1", "line 2"])
            #expect(try events(both[1], store).count == 1)
        }
    }

    @Test(
        "The number of a correction that was undone is never used again, even without destinations or after a restart")
    func numbersStay() throws {
        try withThree { store, writer, ids in
            #expect(try writer.merge([ids[1], ids[2]], into: ids[0], by: store.author()) == [1, 2])
            for number: Int64 in [2, 1] { _ = try writer.undo(correction: number, by: store.author()) }
            #expect(try store.shell().number("SELECT count(*) FROM corrections") == 0)
            #expect(try store.shell().number("SELECT count(*) FROM correction_events") == 0)
            #expect(try writer.merge([ids[1]], into: ids[0], by: store.author()) == [3])
            _ = try writer.undo(correction: 3, by: store.author())
            _ = consume writer
            let again = try store.writer()
            #expect(try again.merge([ids[2]], into: ids[0], by: store.author()) == [4])
            // As in a store of a version that did not keep the highest number.
            try store.shell().execute(composedSQL: "DELETE FROM sqlite_sequence WHERE name = 'corrections'")
            #expect(try again.merge([ids[1]], into: ids[0], by: store.author()) == [5])
        }
    }

    @Test("Without a configured destination, corrections cause no events, because nothing would delete these later")
    func noDestination() throws {
        try withThree { store, writer, ids in
            _ = try configure(["d"], store, writer)
            _ = try configure([], store, writer)
            _ = try writer.merge([ids[1]], into: ids[0], by: store.author())
            _ = try writer.undo(correction: 1, by: store.author())
            #expect(try store.shell().number("SELECT count(*) FROM correction_events") == 0)
        }
    }

    @Test("A correction is shown as pending until its line has a fate, only to users who may see its application")
    func pending() throws {
        try withThree { store, writer, ids in
            let destination = try configure(["d"], store, writer)[0]
            func figures(_ viewer: Viewer = .everything) throws -> StoreReader.DestinationFigures {
                try store.reader().figures(viewer: viewer).ledgers[0]
            }
            #expect(try figures().corrections == 0)
            #expect(try figures().oldestPending == nil)
            _ = try writer.merge([ids[1]], into: ids[0], by: store.author())
            let madeAt = store.wall
            #expect(try figures().corrections == 1)
            // The events of an account that no longer exists count only for those who see everything.
            try store.shell().execute("UPDATE correction_events SET account = account + 100")
            #expect(try figures().corrections == 1)
            #expect(try figures(.nothing).corrections == 0)
            try store.shell().execute("UPDATE correction_events SET account = account - 100")
            try tell(destination, store, writer)
            #expect(try figures().corrections == 1)
            #expect(try figures().oldestPending == madeAt)
            let uid = try UInt32(store.shell().number("SELECT uid FROM accounts"))
            #expect(try figures(.user(uid)).corrections == 1)
            #expect(try figures(.user(uid)).oldestPending == nil)
            #expect(try figures(.user(uid + 1)).corrections == 0)
            var batch = NewBatch(destination: destination, at: store.wall)
            batch.summaries = try store.reader().unsentSummaries(of: destination, limit: 5)
            let stored = try writer.store(batch)
            #expect(try figures().corrections == 1)
            try writer.settle(BatchSettlement(of: stored, at: store.wall), destination: destination)
            #expect(try figures().corrections == 0)
            #expect(try figures().oldestPending == nil)
        }
    }

    @Test("A correction's line that is given up becomes a dead letter without records, and can be requeued")
    func givenUp() throws {
        try withThree { store, writer, ids in
            let destination = try configure(["d"], store, writer)[0]
            _ = try writer.merge([ids[1]], into: ids[0], by: store.author())
            try tell(destination, store, writer)
            var batch = NewBatch(destination: destination, at: store.wall)
            batch.summaries = try store.reader().unsentSummaries(of: destination, limit: 5)
            let stored = try writer.store(batch)
            try writer.settle(
                BatchSettlement(of: stored, dead: [0], line: "line 1", at: store.wall), destination: destination)
            let shell = try store.shell()
            #expect(try shell.numbers("SELECT state FROM summaries") == [2])
            #expect(try shell.table("SELECT line FROM dead_letters", columns: 1) == [["line 1"]])
            #expect(try store.reader().figures(viewer: .everything).ledgers[0].ledger.deadLettered == 0)
            let letters = try store.reader().deadLetters(
                DeadLettersParameters(), limit: 5, viewer: .everything
            ).deadLetters
            #expect(letters.map(\.isCorrection) == [true])
            #expect(try writer.requeue(shell.numbers("SELECT id FROM dead_letters")) == 1)
            #expect(try lines(destination, store) == ["line 1"])
        }
    }

    @Test(
        "Erasing either issue of a correction erases the correction's events and lines; older lines are not stored")
    func erasing() throws {
        for erased in 0..<2 {
            try withThree { store, writer, ids in
                let both = try configure(["one", "two"], store, writer)
                // After the undoing there are two groups again, so only one of them is erased.
                _ = try writer.merge([ids[1]], into: ids[0], by: store.author("Zaphod"))
                _ = try writer.undo(correction: 1, by: store.author())
                try tell(both[0], store, writer)
                #expect(try lines(both[0], store).count == 2)
                let made = try store.reader().correctionEvents(for: both[1], limit: 100)
                try writer.closeOpenRange()
                let row = RowID(rawValue: Int64(erased + 1))
                let erasure = try writer.erase([row])
                try writer.finishErasing(erasure.series.sorted(), isWhole: true)
                #expect(try lines(both[0], store).isEmpty)
                #expect(try events(both[1], store).isEmpty)
                try writer.store(
                    made.events.map { CorrectionLine(event: $0.id, line: Array("late".utf8)) },
                    through: made.last ?? 0, destination: both[1], at: store.wall)
                #expect(try lines(both[1], store).isEmpty)
                #expect(try store.shell().number("SELECT count(*) FROM summaries") == 0)
                #expect(try store.shell().number("SELECT count(*) FROM correction_events") == 0)
            }
        }
    }

    @Test("Corrections of issues that are never forwarded have no lines, and are not pending")
    func notReportable() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for (message, isReportable) in [("One fell", false), ("Two fell", false), ("Three fell", true)] {
                var record = IssueRecord.shop(message)
                record.reportable = isReportable
                try store.store([record], to: writer)
            }
            let destination = try configure(["d"], store, writer)[0]
            let ids = try ["One fell", "Two fell", "Three fell"].map { try store.group($0) }
            _ = try writer.merge([ids[1]], into: ids[0], by: store.author())
            _ = try writer.merge([ids[0]], into: ids[2], by: store.author())
            _ = try writer.undo(correction: 2, by: store.author())
            #expect(try events(destination, store).map(\.isReportable) == [false, true, true])
            try tell(destination, store, writer)
            #expect(try lines(destination, store) == ["line 2", "line 3"])
            #expect(try store.reader().backlog(of: destination, after: .max).corrections == 0)
        }
    }

    @Test("Old events are deleted once the destination has lines for them, except those of the newest correction")
    func oldEvents() throws {
        try withThree { store, writer, ids in
            let destination = try configure(["d"], store, writer)[0]
            for number: Int64 in 1...3 {
                _ = try writer.merge([ids[1]], into: ids[0], by: store.author())
                _ = try writer.undo(correction: number, by: store.author())
            }
            let shell = try store.shell()
            store.pass(.seconds(2 * 86_400))
            // Old events are not deleted before the destination has lines for them.
            _ = try writer.store([], through: 2, destination: destination, at: store.wall)
            #expect(try shell.numbers("SELECT id FROM correction_events") == [3, 4, 5, 6])
            try tell(destination, store, writer)
            #expect(try shell.numbers("SELECT id FROM correction_events") == [5, 6])
            #expect(try lines(destination, store) == (3...6).map { "line \($0)" })
        }
    }

    @Test("A user's corrections can't cause more than 4,096 events a day, but can always be undone")
    func limit() throws {
        try withThree { store, writer, ids in
            let destination = try configure(["d"], store, writer)[0]
            _ = try writer.merge([ids[1]], into: ids[0], by: store.author())
            try writer.connection.execute(
                composedSQL: """
                    INSERT INTO correction_events (account, correction, kind, undone, source, target, author, at, reason)
                    SELECT account, 1, 1, 1, source, target, author, at, '' FROM correction_events,
                        (WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 4096) SELECT i FROM n)
                    """)
            #expect(try writer.merge([ids[2]], into: ids[0], by: store.author()) == nil)
            let pattern = try #require(TitlePattern("Disk*"))
            #expect(try writer.addRule(pattern, merging: [], into: ids[0], by: store.author()) == nil)
            // Another user is not affected.
            try store.store([.shop("One"), .shop("Two")], from: .of(uid: 1001), to: writer)
            let others = try [store.group("One"), store.group("Two")]
            #expect(try writer.merge([others[1]], into: others[0], by: store.author())?.count == 1)
            #expect(try writer.undo(correction: 1, by: store.author()) != nil)
            // A low MaxAge= does not delete events that count towards the limit.
            try writer.store([], through: 5000, destination: destination, at: store.wall)
            store.pass(.seconds(3600))
            for _ in 0..<5 { _ = try writer.collectSummaries(above: 0, before: store.wall, now: store.wall) }
            #expect(try writer.merge([ids[2]], into: ids[0], by: store.author()) == nil)
            // After a day, only events that wait for the destination count.
            try writer.connection.execute("UPDATE destinations SET corrections_id = 0")
            store.pass(.seconds(86_401))
            #expect(try writer.merge([ids[2]], into: ids[0], by: store.author()) == nil)
            try writer.store([], through: 5000, destination: destination, at: store.wall)
            #expect(try writer.merge([ids[2]], into: ids[0], by: store.author())?.count == 1)
        }
    }

    @Test("Groups are not collected while events about them are pending")
    func collecting() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for message in ["One fell", "Two fell", "Three fell", "Four fell"] {
                try store.store([.shop(message)], to: writer)
            }
            let destination = try configure(["d"], store, writer)[0]
            _ = try writer.merge([store.group("Two fell")], into: store.group("One fell"), by: store.author())
            _ = try writer.undo(correction: 1, by: store.author())
            let shell = try store.shell()
            let series = try shell.numbers("SELECT id FROM series ORDER BY id").prefix(3).map { SeriesID(rawValue: $0) }
            try writer.connection.execute("DELETE FROM blocks; DELETE FROM moves")
            try writer.collect(series: series, seenThrough: 1_000_000)
            #expect(
                try shell.table("SELECT title FROM groups ORDER BY id", columns: 1)
                    == [["One fell"], ["Two fell"], ["Four fell"]])
            #expect(try events(destination, store).count == 2)
        }
    }

    @Test("A file of the version before correction events keeps its corrections; destinations get lines for later ones")
    func migration() throws {
        try withThree { store, writer, ids in
            let destination = try configure(["d"], store, writer)[0]
            _ = try writer.merge([ids[1]], into: ids[0], by: store.author())
            try store.downgrade(to: 17)
            let next = try store.writer()
            #expect(try events(destination, store).isEmpty)
            _ = try next.undo(correction: 1, by: store.author())
            #expect(try events(destination, store).map(\.isUndone) == [true])
        }
    }
}
