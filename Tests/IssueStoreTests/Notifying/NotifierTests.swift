import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("Notifiers on disk")
struct NotifierTests {
    private func record(_ message: String = "Broken", severity: IssueLevel = .error) -> IssueRecord {
        IssueRecord(message: message, severity: severity, app: Application(name: "shop", version: "1.0"))
    }

    private func with(_ names: [String] = ["oncall"], _ body: (TemporaryStore, StoreWriter, NotifierRow) throws -> Void)
        throws
    {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let rows = try writer.configureNotifiers(names).rows
            try body(store, writer, try #require(rows.first))
        }
    }

    private func alerts(_ store: TemporaryStore, after row: RowID = 0) throws -> [NotificationKinds] {
        try store.reader().alerts(after: row, limit: 100).map(\.kinds)
    }

    private func notice(_ record: RowID, uid: UInt32 = 1000, at: IssueTimestamp) -> Notice {
        Notice(kinds: .new, record: record, uid: uid, at: at)
    }

    /// Checks that every received event is delivered, given up or pending.
    private func expectBalance(_ row: NotifierRow?) {
        #expect(row?.received == row.map { $0.delivered + $0.givenUp + $0.pending })
    }

    @Test("A change of a group is stored with the record that causes it; a record that changes nothing stores none")
    func changes() throws {
        try with { store, writer, _ in
            try store.store([record(), record()], to: writer)
            #expect(try alerts(store) == [.new])
            try store.store([record(severity: .critical), record(severity: .critical)], to: writer)
            #expect(try alerts(store) == [.new, .critical])
            try store.store([record("Other", severity: .critical), record("Other")], to: writer)
            #expect(try alerts(store) == [.new, .critical, [.new, .critical]])
            #expect(try store.reader().alerts(after: 0, limit: 9).map(\.record) == [1, 3, 5])
            #expect(try store.reader().alerts(after: 1, limit: 1).map(\.record) == [3])
        }
    }

    @Test("A regression is a change, but a record of a muted group is not")
    func states() throws {
        try with { store, writer, _ in
            try store.store([record()], to: writer)
            let group = try store.reader().groups(
                .init(filter: IssueFilter(), order: .newest, limit: 1, after: nil, sparkline: nil, now: store.wall),
                viewer: .everything
            ).groups[0].id
            func set(_ state: GroupState) throws {
                let subject = try store.reader().subject(group, viewer: .everything)
                #expect(try writer.set(TriageState(state), ofGroup: subject.group))
            }
            try set(.resolved)
            try store.store([record(), record()], to: writer)
            #expect(try alerts(store) == [.new, .regressed])
            try set(.muted)
            try store.store([record(severity: .critical)], to: writer)
            #expect(try alerts(store) == [.new, .regressed])
            try set(.resolved)
            try store.store([record(severity: .critical)], to: writer)
            #expect(try alerts(store) == [.new, .regressed, [.regressed, .critical]])
        }
    }

    @Test("Without notifiers no changes are stored, and a new notifier starts with those that follow")
    func none() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store([record("One")], to: writer)
            #expect(try alerts(store) == [])
            let row = try writer.configureNotifiers(["oncall"]).rows[0]
            #expect(row.cursor == 1)
            try store.store([record("Two")], to: writer)
            #expect(try store.reader().alerts(after: row.cursor, limit: 9).map(\.record) == [2])
            // A new writer stores changes even before its notifiers are configured.
            _ = consume writer
            let again = try store.writer()
            try store.store([record("Three")], to: again)
            #expect(try alerts(store).count == 2)
            _ = try again.configureNotifiers([])
            #expect(try alerts(store) == [])
        }
    }

    @Test("A change is removed when all notifiers have examined it")
    func examined() throws {
        try with(["one", "two"]) { store, writer, one in
            try store.store([record()], to: writer)
            _ = try writer.add([], cursor: 1, notifier: one.id)
            #expect(try alerts(store).count == 1)
            _ = try writer.add([], cursor: 1, notifier: one.id + 1)
            #expect(try alerts(store) == [])
        }
    }

    @Test("A message takes everything that waits, and each of its events has one fate")
    func fates() throws {
        try with { store, writer, row in
            let at = store.wall
            let counted = Notice(kinds: .new, uid: 1000, count: 7, at: at)
            _ = try writer.add([notice(1, at: at), notice(2, at: at), counted], cursor: 9, notifier: row.id)
            var state = try #require(try writer.add([counted], cursor: 12, notifier: row.id))
            #expect(state.cursor == 12)
            #expect(state.waiting.map(\.count) == [1, 1, 14])
            #expect(state.pending == 16)
            expectBalance(state)

            state = try #require(try writer.beginMessage(notifier: row.id, at: at))
            let message = try #require(state.message)
            #expect(state.waiting == [])
            #expect(message.notices.map(\.count) == [1, 1, 14])
            #expect(message.attempts == 1 && message.maybeSent)
            // What arrives meanwhile waits for the next message.
            state = try #require(try writer.add([notice(3, at: at)], cursor: 13, notifier: row.id))
            #expect(state.waiting.map(\.record) == [3])
            expectBalance(state)

            state = try #require(
                try writer.settle(
                    message: message.id, notifier: row.id, as: .delivered, isRepeated: false, answer: "200",
                    at: at))
            #expect(state.delivered == 16 && state.pending == 1 && state.messages == 1 && state.repeated == 0)
            #expect(state.message == nil && state.lastAnswer == "200" && state.lastSuccess == at)
            expectBalance(state)

            let second = try #require(try writer.beginMessage(notifier: row.id, at: at)?.message)
            state = try #require(
                try writer.settle(
                    message: second.id, notifier: row.id, as: .givenUp, isRepeated: false, answer: "400", at: at))
            #expect(state.delivered == 16 && state.givenUp == 1 && state.pending == 0)
            expectBalance(state)
            // Without events there is no message.
            #expect(try writer.beginMessage(notifier: row.id, at: at)?.message == nil)
        }
    }

    @Test("An attempt is counted before it is made; after a known failure, the next attempt is not a repetition")
    func attempts() throws {
        try with { store, writer, row in
            _ = try writer.add([notice(1, at: store.wall)], cursor: 1, notifier: row.id)
            let message = try #require(try writer.beginMessage(notifier: row.id, at: store.wall)?.message)
            func settle(_ fate: MessageFate) throws -> StoredMessage? {
                try writer.settle(
                    message: message.id, notifier: row.id, as: fate, isRepeated: false, answer: "x", at: store.wall)?
                    .message
            }
            // As after a kill: the first attempt was counted, and has no result.
            let found = try #require(try store.reader().notifier(row.id)?.message)
            #expect(found == message)
            let refused = try settle(.retry(maybeSent: false))
            #expect(refused?.attempts == 1 && refused?.maybeSent == false)
            try writer.beginAttempt(message: message.id)
            let second = try store.reader().notifier(row.id)?.message
            #expect(second?.attempts == 2 && second?.maybeSent == true)
            #expect(try settle(.retry(maybeSent: true))?.maybeSent == true)
            #expect(try settle(.delivered) == nil)
            // A second result changes nothing.
            #expect(try settle(.givenUp) == nil)
            let row = try store.reader().notifier(row.id)
            #expect(row?.delivered == 1 && row?.givenUp == 0)
        }
    }

    @Test("Events of a removed notifier are given up; those of a notifier whose section has an error are kept")
    func removal() throws {
        try with(["gone", "wrong"]) { store, writer, gone in
            _ = try writer.add([notice(1, at: store.wall)], cursor: 1, notifier: gone.id)
            _ = try writer.add([notice(1, at: store.wall)], cursor: 1, notifier: gone.id + 1)
            _ = try writer.beginMessage(notifier: gone.id, at: store.wall)
            let setup = try writer.configureNotifiers([], keeping: ["wrong"])
            #expect(setup.rows.map(\.pending) == [1])
            #expect(setup.removed == [NotifierSetup.Removed(name: "gone", events: 1)])
            #expect(try writer.configureNotifiers([], keeping: ["wrong"]).removed.isEmpty)
            let row = try store.reader().notifier(gone.id)
            #expect(row?.givenUp == 1 && row?.pending == 0 && row?.message == nil)
            #expect(try store.reader().notifier(gone.id + 1)?.pending == 1)
            expectBalance(row)
        }
    }

    @Test("Changes that happen while a notifier's section has an error are reported once it is fixed")
    func misconfigured() throws {
        try with(["wrong"]) { store, writer, before in
            try store.store([record()], to: writer)
            let kept = try writer.configureNotifiers([], keeping: ["wrong", "wrong from the start"]).rows
            #expect(kept.map(\.name) == ["wrong", "wrong from the start"])
            try store.store([record("Other")], to: writer)
            _ = consume writer
            // Also after a restart.
            let again = try store.writer()
            _ = try again.configureNotifiers([], keeping: ["wrong", "wrong from the start"])
            try store.store([record("Third")], to: again)
            let rows = try again.configureNotifiers(["wrong", "wrong from the start"]).rows
            #expect(rows.map(\.cursor) == [before.cursor, 1])
            #expect(try store.reader().alerts(after: before.cursor, limit: 9).map(\.record) == [1, 2, 3])
        }
    }

    @Test("If too many changes wait to be examined by a notifier, the oldest ones are removed")
    func manyChanges() throws {
        try with { store, writer, _ in
            try store.store([record("One"), record("Two"), record("Three")], to: writer)
            try writer.transaction { () throws(SQLiteError) in
                let table = NotificationTable(connection: writer.connection)
                try table.limitAlerts(to: 3)
                try table.limitAlerts(to: 2)
            }
            #expect(try store.reader().alerts(after: 0, limit: 9).map(\.record) == [2, 3])
        }
    }

    @Test("A copy that is put into service reports none of the events that the original reports")
    func copy() throws {
        try with { store, writer, row in
            try store.store([record()], to: writer)
            _ = try writer.add([notice(1, at: store.wall)], cursor: 1, notifier: row.id)
            _ = try writer.beginMessage(notifier: row.id, at: store.wall)
            try store.store([record("Other")], to: writer)
            _ = consume writer
            try store.shell().execute("INSERT INTO copies (at) VALUES (1)")
            let copy = try store.writer()
            let found = try copy.configureNotifiers(["oncall"]).rows[0]
            #expect(found.message == nil && found.waiting == [] && found.givenUp == 1)
            #expect(try alerts(store) == [])
            expectBalance(found)
        }
    }

    @Test("A failed transaction leaves the notifier as it was")
    func rollback() throws {
        try with { store, writer, row in
            let before = try store.reader().notifier(row.id)
            #expect(throws: StoreFailure.self) {
                try writer.transaction { () throws(SQLiteError) in
                    try NotificationTable(connection: writer.connection).insert(
                        notice(1, at: store.wall), notifier: row.id)
                    throw SQLiteError(code: .corrupt, message: "test")
                }
            }
            #expect(try store.reader().notifier(row.id) == before)
        }
    }

    @Test("Only the newest 100 settled messages are kept")
    func pruning() throws {
        try with { store, writer, row in
            for number in 1...103 as ClosedRange<Int64> {
                _ = try writer.add([notice(RowID(rawValue: number), at: store.wall)], cursor: nil, notifier: row.id)
                let message = try #require(try writer.beginMessage(notifier: row.id, at: store.wall)?.message)
                _ = try writer.settle(
                    message: message.id, notifier: row.id, as: .delivered, isRepeated: number == 1, answer: "200",
                    at: store.wall)
            }
            let shell = try store.shell()
            #expect(try shell.number("SELECT count(*) FROM messages") == 100)
            #expect(try shell.number("SELECT min(id) FROM messages") == 4)
            let state = try store.reader().notifier(row.id)
            #expect(state?.messages == 103 && state?.repeated == 1)
        }
    }

    @Test("When a silence is added, only the newest 1,000 of those that have ended are kept")
    func endedSilences() throws {
        try with { store, writer, _ in
            let silence = IssueSilence(
                apps: ["shop"], until: store.wall.advanced(by: .seconds(60)), reason: "loop", uid: 1000)
            let added = try #require(try writer.add(silence, at: store.wall))
            #expect(try writer.endSilence(added.id, by: 1000, at: store.wall))
            try writer.connection.execute(
                """
                WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
                INSERT INTO silences SELECT i, apps, environments, units, groups, until, reason, uid, at, count, ended_by
                FROM silences, n
                """)
            _ = try writer.add(silence, at: store.wall)
            #expect(try store.shell().numbers("SELECT id FROM silences ORDER BY id") == Array(101...1101))
        }
    }

    @Test("A silence is listed until it ends, counts what it covered, and keeps author and reason")
    func silences() throws {
        try with { store, writer, row in
            let end = store.wall.advanced(by: .seconds(60))
            let silence = IssueSilence(apps: ["shop"], groups: ["g1"], until: end, reason: "deploy", uid: 1000)
            let added = try #require(try writer.add(silence, at: store.wall))
            #expect(added.id == "s1" && added.uid == 1000 && added.at == store.wall)
            _ = try writer.add([], silenced: [1: 3], cursor: nil, notifier: row.id)
            let listed = try store.reader().silences(at: store.wall).map(\.silence)
            #expect(listed.map(\.count) == [3] && listed[0].apps == ["shop"] && listed[0].reason == "deploy")
            #expect(try store.reader().notifier(row.id)?.silenced == 3)
            #expect(try store.reader().silences(at: end).isEmpty)
            #expect(try writer.endSilence("s1", by: 0, at: store.wall))
            #expect(try !writer.endSilence("s1", by: 0, at: store.wall))
            #expect(try !writer.endSilence("x", by: 0, at: store.wall))
            #expect(try store.reader().silences(at: store.wall).isEmpty)
            // The row remains for 30 days.
            #expect(try store.shell().number("SELECT ended_by FROM silences") == 0)
            _ = try writer.add(silence, at: store.wall.advanced(by: .seconds(31 * 86_400)))
            #expect(try store.shell().numbers("SELECT id FROM silences") == [2])
        }
    }

    @Test("The number of silences is limited per user and in total, so that no user can use up the limit for all users")
    func manySilences() throws {
        try with { store, writer, _ in
            let end = store.wall.advanced(by: .seconds(60))
            func add(_ uid: Int64) throws -> Bool {
                try writer.add(IssueSilence(apps: ["shop"], until: end, reason: "r", uid: uid), at: store.wall) != nil
            }
            let own = try (0..<100 as Range<Int64>).count { _ in try add(1000) }
            #expect(own == IssueSilence.maxCountOfUser)
            let all = try (0..<1000 as Range<Int64>).count { try add(1001 + $0 % 10) }
            #expect(own + all == IssueSilence.maxCount)
            // One that has ended makes room.
            _ = try writer.endSilence("s1", by: 0, at: store.wall)
            let isAdded = try add(1004)
            #expect(isAdded)
        }
    }

    @Test("A silence of a group that was merged into another one covers the other one")
    func silencedRedirect() throws {
        try with { store, writer, _ in
            for message in ["Silenced before", "Merged into"] {
                try store.store([IssueRecord(message: message, app: Application(name: "shop"))], to: writer)
            }
            let reader = try store.reader()
            let groups = try reader.groups(
                .init(filter: IssueFilter(), order: .oldest, limit: 9, after: nil, sparkline: nil, now: store.wall),
                viewer: .everything
            ).groups
            let ids = try ["Silenced before", "Merged into"].map { title in
                try #require(groups.first { $0.title == title }).id
            }
            let end = store.wall.advanced(by: .seconds(60))
            let silence = IssueSilence(groups: [ids[0], "g0000000000000bad"], until: end, reason: "known", uid: 1000)
            _ = try writer.add(silence, at: store.wall)
            func effective() throws -> [[String]] {
                try reader.effectiveSilences(at: store.wall).map(\.silence.groups)
            }
            #expect(try effective() == [silence.groups])
            let named = try ids.map { try reader.group(withOwnID: $0, viewer: .everything) }
            #expect(try writer.merge([named[0]], into: named[1], by: store.author())?.count == 1)
            #expect(try effective() == [[ids[1], "g0000000000000bad"]])
            // It is listed as it was entered.
            #expect(try reader.silences(at: store.wall).map(\.silence.groups) == [silence.groups])
        }
    }

    @Test("A file of the first schema version is upgraded in place, and its notifiers then work")
    func upgrade() throws {
        try TemporaryStore.with { store in
            _ = try store.writer()
            try store.downgrade(to: 9)
            let writer = try store.writer()
            try store.store([record()], to: writer)
            #expect(try writer.configureNotifiers(["oncall"]).rows.count == 1)
            try store.store([record("Other")], to: writer)
            #expect(try alerts(store) == [.new])
        }
    }
}
