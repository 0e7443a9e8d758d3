import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("Triage states on disk")
struct GroupStateTests {
    private func record(_ message: String = "Broken", _ version: String? = "1.0", severity: IssueLevel = .error)
        -> IssueRecord
    {
        IssueRecord(message: message, severity: severity, app: Application(name: "shop", version: version))
    }

    private func only(_ store: TemporaryStore, _ filter: IssueFilter = IssueFilter()) throws -> IssueGroup {
        let page = try store.reader().groups(
            .init(filter: filter, order: .newest, limit: 10, after: nil, sparkline: nil, now: store.wall),
            viewer: .everything)
        return try #require(page.groups.first)
    }

    private func say(
        _ standing: TriageState, keepsNote: Bool = false, _ store: TemporaryStore, _ writer: StoreWriter
    ) throws {
        let subject = try store.reader().subject(try only(store, filter(text: "Broken")).id, viewer: .everything)
        #expect(try writer.set(standing, ofGroup: subject.group, keepsNote: keepsNote))
    }

    /// Returns the priority records and their reasons.
    private func priority(_ store: TemporaryStore) throws -> [[String?]] {
        try store.shell().table("SELECT record, reason FROM express ORDER BY record", columns: 2)
    }

    private func muted(_ store: TemporaryStore) throws -> [RowID] {
        try store.reader().walk(after: 0, limit: 1000).filter(\.candidate.isMuted).map(\.candidate.record)
    }

    private func withDestination(_ body: (TemporaryStore, StoreWriter) throws -> Void) throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
            try store.store([record()], to: writer)
            try body(store, writer)
            try expectSound(store)
        }
    }

    @Test("A resolved group reopens with its next record; only this record is a regression and has priority")
    func regression() throws {
        try withDestination { store, writer in
            var onPriorityRecords: [RowID] = []
            writer.callbacks.onPriorityRecords = { onPriorityRecords += $0.map(\.row) }
            try say(TriageState(.resolved), store, writer)
            #expect(try only(store).state == .resolved)
            try store.store([record(), record()], to: writer)
            #expect(try only(store).state == .open)
            #expect(try only(store).hasRegressed)
            #expect(try priority(store) == [["1", "2"], ["2", "3"]])
            #expect(onPriorityRecords == [2])
            let reader = try store.reader()
            #expect(try [1, 2, 3].map { try reader.isRegression(row: $0) } == [false, true, false])
            #expect(try reader.walk(after: 0, limit: 9).map(\.candidate.isFirstOfGroup) == [true, true, false])
            // Setting the state again clears the regression.
            try say(TriageState(.resolved), store, writer)
            #expect(try !only(store).hasRegressed)
        }
    }

    @Test("A state survives a restart, for known and for new series")
    func restart() throws {
        for version in ["1.0", "1.1"] {
            try TemporaryStore.with { store in
                do {
                    let writer = try store.writer()
                    try store.store([record()], to: writer)
                    try say(TriageState(.resolved), store, writer)
                }
                try store.store([record("Broken", version)], to: try store.writer())
                #expect(try only(store).hasRegressed)
                try expectSound(store)
            }
        }
    }

    @Test("A failed commit leaves a resolved group resolved, and the next one reopens it")
    func failingCommit() throws {
        try withDestination { store, writer in
            try say(TriageState(.resolved), store, writer)
            try writer.connection.execute(
                "CREATE TEMP TRIGGER fails BEFORE INSERT ON blocks BEGIN SELECT RAISE(ABORT, 'no'); END")
            #expect(throws: StoreFailure.self) { try store.store([record()], to: writer) }
            #expect(try only(store).state == .resolved)
            try writer.connection.execute("DROP TRIGGER fails")
            try store.store([record()], to: writer)
            #expect(try only(store).hasRegressed)
        }
    }

    @Test("A group resolved until a newer version reopens only with a version newer than all of the application's")
    func newerVersion() throws {
        try withDestination { store, writer in
            try store.store([record("Something else", "2.0")], to: writer)
            let reader = try store.reader()
            let id = try only(store, filter(text: "Broken")).id
            let subject = try reader.subject(id, viewer: .everything)
            let known = try reader.newestVersion(of: subject)
            #expect(known == ApplicationVersion(name: "2.0"))
            #expect(
                try writer.set(TriageState(.resolved, knownVersion: known), ofGroup: subject.group))
            try store.store([record(), record("Broken", "2.0"), record("Broken", nil)], to: writer)
            #expect(try only(store, filter(text: "Broken")).state == .resolved)
            try store.store([record("Broken", "2.0.1")], to: writer)
            #expect(try only(store, filter(text: "Broken")).hasRegressed)
            #expect(try priority(store).last == ["6", "3"])
        }
    }

    private func declare(
        _ version: String, at: IssueTimestamp? = nil, _ store: TemporaryStore, _ writer: StoreWriter
    ) throws {
        store.pass(.seconds(1))
        _ = try writer.declare(
            DeployParameters(app: "shop", version: version, at: at), of: .user(1000), by: 0, at: store.wall)
    }

    @Test("A group resolved in a version stays resolved for a rollback and a hotfix, and reopens with a later version")
    func resolvedIn() throws {
        for (before, fixed, old, later) in [
            (["1.0"], "1.1", ["1.0", "1.0.9", ""], "1.2"), (["abc123"], "def456", ["abc123", ""], "c0ffee"),
        ] {
            try withDestination { store, writer in
                for version in before + [fixed] { try declare(version, store, writer) }
                try say(TriageState(.resolved, fixedIn: ApplicationVersion(text: fixed)), store, writer)
                #expect(try only(store).resolvedIn == fixed)
                for version in old {
                    if !version.isEmpty { try declare(version, store, writer) }
                    try store.store([record("Broken", version.isEmpty ? nil : version)], to: writer)
                    #expect(try only(store).state == .resolved, "\(version)")
                }
                try declare(later, store, writer)
                try store.store([record("Broken", later)], to: writer)
                #expect(try only(store).hasRegressed)
                #expect(try only(store).resolvedIn == nil)
                #expect(try priority(store).last?.last == "3")
            }
        }
    }

    @Test("A report of the undeployed version 999.9.9 does not hide a regression in a version that is deployed later")
    func forged() throws {
        try withDestination { store, writer in
            try declare("2.0", store, writer)
            try store.store([record("Something else", "999.9.9")], to: writer)
            let subject = try store.reader().subject(
                try only(store, filter(text: "Broken")).id, viewer: .everything)
            let known = try store.reader().newestVersion(of: subject)
            #expect(known == ApplicationVersion(text: "2.0"))
            _ = try writer.set(TriageState(.resolved, knownVersion: known), ofGroup: subject.group)
            try declare("2.1", store, writer)
            try store.store([record("Broken", "2.1")], to: writer)
            #expect(try only(store, filter(text: "Broken")).hasRegressed)
        }
    }

    @Test(
        "A group resolved in the next deployment gets its version; a rollback or an earlier deployment does not count")
    func resolvedInNext() throws {
        try withDestination { store, writer in
            for version in ["abc123", "def456"] { try declare(version, store, writer) }
            let before = store.wall
            store.pass(.seconds(60))
            try say(TriageState(.resolved, fixAwaitedSince: store.wall), store, writer)
            #expect(try only(store).isResolvedInNext)
            try declare("abc123", store, writer)
            try declare("0ff1ce", at: before, store, writer)
            try store.store([record("Broken", "999.9.9"), record("Broken", "0ff1ce")], to: writer)
            #expect(try only(store).isResolvedInNext)
            try declare("c0ffee", store, writer)
            #expect(try only(store).resolvedIn == "c0ffee")
            #expect(try !only(store).isResolvedInNext)
            try store.store([record("Broken", "abc123"), record("Broken", "def456")], to: writer)
            #expect(try only(store).state == .resolved)
        }
        // The state is read from the database after a restart.
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                try store.store([record()], to: writer)
                try say(TriageState(.resolved, fixAwaitedSince: store.wall), store, writer)
                try declare("2.0", store, writer)
            }
            let writer = try store.writer()
            try store.store([record()], to: writer)
            #expect(try only(store).state == .resolved)
            try store.store([record("Broken", "2.0")], to: writer)
            #expect(try only(store).hasRegressed)
        }
    }

    @Test("A mute until a number of occurrences counts across commits and restarts, and ends with a priority record")
    func mutedForCount() throws {
        func counted(_ count: Int64) -> IssueRecord {
            IssueRecord(message: "Broken", count: count, app: Application(name: "shop", version: "1.0"))
        }
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)
                try store.store([record()], to: writer)
                try say(TriageState(.muted, occurrencesLeft: 10), store, writer)
                #expect(try only(store).mutedUntilCount == 10)
                try store.store([counted(2), counted(3)], to: writer)
                #expect(try only(store).mutedUntilCount == 5)
                try writer.connection.execute(
                    "CREATE TEMP TRIGGER fails BEFORE INSERT ON blocks BEGIN SELECT RAISE(ABORT, 'no'); END")
                #expect(throws: StoreFailure.self) { try store.store([counted(3)], to: writer) }
                try writer.connection.execute("DROP TRIGGER fails")
                #expect(try only(store).mutedUntilCount == 5)
            }
            let writer = try store.writer()
            try store.store([counted(1)], to: writer)
            try store.store([counted(3), record("Something else"), counted(1), counted(1)], to: writer)
            let group = try only(store, filter(text: "Broken"))
            #expect(group.state == .open)
            #expect(group.hasRegressed)
            #expect(group.mutedUntilCount == nil)
            // Rows 2 to 5 are muted; 7 reaches the number, 6 is the first of another group.
            #expect(try priority(store) == [["1", "2"], ["6", "2"], ["7", "3"]])
            #expect(try muted(store) == [2, 3, 4, 5])
            try expectSound(store)
        }
    }

    @Test(
        "Author, time and note of a state survive a restart, muted records and a regression, but not the end of a mute"
    )
    func noted() throws {
        let change = IssueStateChange(
            user: 7, time: IssueTimestamp(millisecondsSince1970: 4711), note: "Vendor\u{1b}[2J")
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                try store.store([record()], to: writer)
                #expect(try only(store).stateChange == nil)
                try say(TriageState(.muted, occurrencesLeft: 3, change: change), store, writer)
            }
            let writer = try store.writer()
            try store.store([record()], to: writer)
            #expect(try only(store).stateChange == change)
            #expect(try only(store).mutedUntilCount == 2)
            try store.store([record(), record()], to: writer)
            #expect(try only(store).state == .open && only(store).hasRegressed)
            #expect(try only(store).stateChange == change)
            let end = store.wall.advanced(by: .seconds(1))
            try say(TriageState(.muted, mutedUntil: end, change: change), store, writer)
            try writer.endMutes(at: end)
            #expect(try only(store).stateChange == nil)
            try say(TriageState(change: IssueStateChange(user: 7, time: store.wall)), store, writer)
            #expect(try only(store).stateChange?.note == nil)
            #expect(try only(store).stateChange?.user == 7)
        }
    }

    @Test("Resolving or muting again without a note keeps the note; setting another state, or open again, drops it")
    func keptNote() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store([record()], to: writer)
            func set(_ state: GroupState, by user: UInt32 = 7, _ note: String? = nil) throws -> IssueStateChange? {
                try say(
                    TriageState(state, change: IssueStateChange(user: user, time: store.wall, note: note)),
                    keepsNote: note == nil, store, writer)
                return try only(store).stateChange
            }
            for state in [GroupState.resolved, .muted] {
                #expect(try set(state, "Vendor")?.note == "Vendor")
                let again = try set(state, by: 8)
                #expect(again?.note == "Vendor" && again?.user == 8)
                #expect(try set(state, "Fixed")?.note == "Fixed")
            }
            #expect(try set(.resolved)?.note == nil)
            _ = try set(.resolved, "Vendor")
            #expect(try set(.open)?.note == nil)
            _ = try set(.resolved, "Vendor")
            try store.store([record()], to: writer)
            #expect(try only(store).hasRegressed && only(store).stateChange?.note == "Vendor")
            #expect(try set(.open)?.note == nil)
        }
    }

    private func filter(text: String? = nil, states: [GroupState]? = nil) -> IssueFilter {
        var filter = IssueFilter()
        filter.text = text
        filter.states = states
        return filter
    }

    @Test("Records that arrive during a mute are not forwarded, whenever they are scanned; earlier and later ones are")
    func muted() throws {
        try withDestination { store, writer in
            var onPriorityRecords: [RowID] = []
            writer.callbacks.onPriorityRecords = { onPriorityRecords += $0.map(\.row) }
            try say(TriageState(.muted), store, writer)
            try store.store([record(), record("Broken", "1.1", severity: .critical), record("Other")], to: writer)
            try say(TriageState(), store, writer)
            try store.store([record()], to: writer)
            try say(TriageState(.muted), store, writer)
            try say(TriageState(.muted, mutedUntil: store.wall.advanced(by: .seconds(60))), store, writer)
            try store.store([record()], to: writer)
            #expect(try muted(store) == [2, 3, 6])
            #expect(onPriorityRecords == [4])
            #expect(try only(store, filter(states: [.muted])).mutedUntil != nil)
        }
    }

    @Test("A mute that ends before any record arrives leaves nothing behind")
    func mutedForNothing() throws {
        try withDestination { store, writer in
            try say(TriageState(.muted), store, writer)
            try say(TriageState(.resolved), store, writer)
            #expect(try store.shell().number("SELECT count(*) FROM mutes") == 0)
            try store.store([record()], to: writer)
            #expect(try muted(store) == [])
        }
    }

    @Test("A mute ends at its time: with the next record, or by the clock if there is none")
    func expiry() throws {
        try withDestination { store, writer in
            let end = store.wall.advanced(by: .seconds(10))
            try say(TriageState(.muted, mutedUntil: end), store, writer)
            #expect(writer.nextMuteEnd == end)
            try store.store([record()], to: writer)
            store.pass(.seconds(9))
            try store.store([record()], to: writer)
            #expect(try only(store).state == .open)
            #expect(try !only(store).hasRegressed)
            #expect(try muted(store) == [2])

            let second = store.wall.advanced(by: .seconds(10))
            try say(TriageState(.muted, mutedUntil: second), store, writer)
            try writer.endMutes(at: second.advanced(by: .milliseconds(-1)))
            #expect(try only(store).state == .muted)
            try writer.endMutes(at: second)
            #expect(try only(store).state == .open)
            #expect(writer.nextMuteEnd == nil)
            try store.store([record()], to: writer)
            #expect(try muted(store) == [2])
        }
    }

    @Test("A mute ends with a newer version, whose record has priority; records of old versions are forwarded then")
    func mutedForVersions() throws {
        try withDestination { store, writer in
            try say(TriageState(.muted, knownVersion: ApplicationVersion(name: "1.0")), store, writer)
            try store.store([record(), record("Broken", "1.1"), record()], to: writer)
            #expect(try muted(store) == [2])
            #expect(try priority(store) == [["1", "2"], ["3", "3"]])
            #expect(try only(store).hasRegressed)
        }
    }

    @Test("A record in an overflow series counts with its own version")
    func overflow() throws {
        try TemporaryStore.with { store in
            store.settings.limits.newSeriesPerApplication = Rate(2, per: .seconds(900))
            let writer = try store.writer()
            try store.store([record(), record("Broken", "1.1")], to: writer)
            try say(TriageState(.resolved, knownVersion: ApplicationVersion(name: "1.1")), store, writer)
            try store.store([record("Broken", "1.0.1")], to: writer)
            #expect(try only(store).state == .resolved)
            try store.store([record("Broken", "1.2")], to: writer)
            #expect(try only(store).hasRegressed)
            try expectSound(store)
        }
    }

    @Test("A repeated record in an overflow series counts with its own version, whatever state was set meanwhile")
    func overflowAgain() throws {
        try TemporaryStore.with { store in
            store.settings.limits.newSeriesPerApplication = Rate(2, per: .seconds(900))
            let writer = try store.writer()
            // The same batch again, so that the writer knows the series by its number.
            let submission = try Submission(of: [record(), record("Broken", "1.1"), record("Broken", "1.2")])
            try store.commit(submission, to: writer)
            try say(TriageState(.resolved, knownVersion: ApplicationVersion(name: "1.2")), store, writer)
            try store.commit(submission, to: writer)
            #expect(try only(store).state == .resolved)
            try say(TriageState(.resolved, knownVersion: ApplicationVersion(name: "1.1")), store, writer)
            try store.commit(submission, to: writer)
            #expect(try only(store).hasRegressed)
            try expectSound(store)
        }
    }

    @Test("A group of another user looks as if it did not exist")
    func foreign() throws {
        try withDestination { store, _ in
            let id = try only(store).id
            let reader = try store.reader()
            #expect(try reader.subject(id, viewer: .user(1000)).uid == 1000)
            for viewer in [Viewer.user(1001), .nothing] {
                #expect(throws: QueryFailure.notFound(id: id)) { try reader.subject(id, viewer: viewer) }
            }
        }
    }

    @Test("Erasing a group also erases its state")
    func erased() throws {
        try withDestination { store, writer in
            try store.store([record("Kept")], to: writer)
            let id = try only(store, filter(text: "Broken")).id
            let subject = try store.reader().subject(id, viewer: .everything)
            #expect(try writer.set(TriageState(.muted, knownVersion: .init(name: "1.0")), ofGroup: subject.group))
            try store.store([record()], to: writer)
            try writer.closeOpenRange()
            let erasure = try writer.erase([1, 3])
            try writer.finishErasing(erasure.series.sorted(), isWhole: true)
            #expect(try store.shell().number("SELECT count(*) FROM mutes") == 0)
            #expect(try store.shell().number("SELECT count(*) FROM groups WHERE state <> 0") == 0)
        }
    }
}
