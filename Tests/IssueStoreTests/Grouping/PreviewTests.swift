import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import Testing

@Suite("Previews of records")
struct PreviewTests {
    private func series(of record: IssueRecord) throws -> SeriesDescription {
        let submission = try Submission(of: [record])
        let decoded = try #require(submission.batch.records.first)
        return try #require(SeriesKey.decode(submission.batch.seriesKey(of: decoded)))
    }

    private func preview(
        _ record: IssueRecord, _ store: TemporaryStore, user: UInt32? = nil, asker: UInt32 = 1000,
        viewer: Viewer = .everything
    ) throws -> RecordPreview {
        try store.reader().preview(
            try series(of: record), count: record.count ?? 1, app: record.app?.name ?? "shop", user: user,
            asker: asker, viewer: viewer, limits: store.settings.limits, users: AccountableUsers(),
            at: store.wall.advanced(by: .seconds(1)))
    }

    private func group(_ id: String, _ store: TemporaryStore) throws -> GroupID {
        try store.reader().group(withOwnID: id, viewer: .everything)
    }

    @Test("A preview shows what becomes of a record when it is stored", arguments: [1, 2, 3] as [UInt64])
    func oracle(seed: UInt64) throws {
        try TemporaryStore.with { store in
            store.settings.limits.newGroupsPerApplication = .unlimited
            let writer = try store.writer()
            let changed = Mutex<[NotificationKinds]>([])
            writer.callbacks.onPriorityRecords = { records in
                changed.withLock { $0 += records.map(\.change).filter { !$0.isEmpty } }
            }
            var samples = SampleRecords(seed: seed)
            samples.issues = 18
            var ids: [String] = []
            for step in 0..<300 {
                let record = samples.record()
                let expected = try preview(record, store)
                changed.withLock { $0 = [] }
                let before = try store.shell().number("SELECT count(*) FROM groups")
                let stored = try #require(try store.store([record], to: writer).first)
                let shown = try store.reader().show(stored.text, viewer: .everything)
                #expect(shown.group.id == expected.id, "\(step)")
                let comment = "\(step): \(record)"
                #expect(expected.shown == nil || expected.group != nil, "\(comment)")
                #expect(changed.withLock { $0 } == [expected.changes].filter { !$0.isEmpty }, "\(comment)")
                if expected.group == nil {
                    #expect(try store.shell().number("SELECT count(*) FROM groups") == before + 1)
                    ids.append(expected.id)
                }
                guard ids.count > 3 else { continue }
                let id = ids[Int(samples.below(Int64(ids.count)))]
                try change(id, step: step, among: ids, &samples, writer, store)
            }
        }
    }

    /// Changes a group or the grouping in every third step.
    private func change(
        _ id: String, step: Int, among ids: [String], _ samples: inout SampleRecords, _ writer: StoreWriter,
        _ store: TemporaryStore
    ) throws {
        let subject = try store.reader().subject(id, viewer: .everything)
        let author = StoreWriter.CorrectionAuthor(uid: 0, at: store.wall, reason: nil)
        switch step % 18 {
        case 0: _ = try writer.set(TriageState(.resolved), ofGroup: subject.group)
        case 3: _ = try writer.set(TriageState(.muted), ofGroup: subject.group)
        case 6: _ = try writer.set(TriageState(.muted, occurrencesLeft: 2), ofGroup: subject.group)
        case 9:
            let version = ApplicationVersion(name: "1.0")
            _ = try writer.set(TriageState(.resolved, knownVersion: version), ofGroup: subject.group)
        case 12:
            for other in ids.shuffled(using: &samples) {
                let candidate = try store.reader().subject(other, viewer: .everything)
                guard candidate.account == subject.account, candidate.group != subject.group else { continue }
                _ = try writer.merge([candidate.group], into: subject.group, by: author)
                break
            }
        case 15:
            guard let pattern = TitlePattern("Issue \(["c", "d", "e"][Int(samples.below(3))]) *") else { return }
            _ = try writer.addRule(pattern, merging: [], into: subject.group, by: author)
        default: break
        }
    }

    @Test(
        "Above the limits, a preview shows the overflow group or the overflow application",
        arguments: [[2, 0, 0], [0, 3, 0], [0, 0, 2], [2, 3, 2]] as [[Int64]])
    func overflow(counts: [Int64]) throws {
        try TemporaryStore.with { store in
            store.settings.limits.newGroupsPerApplication = Rate(counts[0], per: .seconds(900))
            store.settings.limits.newSeriesPerApplication = Rate(counts[1], per: .seconds(900))
            store.settings.limits.applicationsPerUser = counts[2]
            let writer = try store.writer()
            let changed = Mutex<[NotificationKinds]>([])
            writer.callbacks.onPriorityRecords = { records in
                changed.withLock { $0 += records.map(\.change).filter { !$0.isEmpty } }
            }
            var records: [IssueRecord] = []
            for _ in 0..<2 {
                for word in ["one", "two", "three", "four"] {
                    records += ["a", "b", "c"].map { app in
                        IssueRecord(message: "Failed \(word)", severity: .error, app: Application(name: app))
                    }
                }
            }
            for word in ["one", "five"] {
                records.append(
                    IssueRecord(message: "Failed \(word)", severity: .critical, app: Application(name: "c")))
            }
            var overflowCount = 0
            for record in records {
                let expected = try preview(record, store)
                changed.withLock { $0 = [] }
                let stored = try #require(try store.store([record], to: writer).first)
                let group = try store.reader().show(stored.text, viewer: .everything).group
                #expect(group.id == expected.id, "\(record)")
                #expect(group.app == expected.app, "\(record)")
                #expect(group.fingerprint == expected.fingerprint, "\(record)")
                #expect((expected.shown?.records ?? 0) + 1 == group.records, "\(record)")
                #expect(changed.withLock { $0 } == [expected.changes].filter { !$0.isEmpty }, "\(record)")
                if expected.isOverflow || expected.app == "overflow" { overflowCount += 1 }
            }
            #expect(overflowCount > 0 && overflowCount < records.count)
        }
    }

    @Test("A preview names the corrections that would apply, stores nothing and counts no hit")
    func corrections() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let record = IssueRecord(message: "User ann is gone", app: Application(name: "shop"))
            try store.store([record, IssueRecord(message: "Disk full", app: Application(name: "shop"))], to: writer)
            let target = try preview(IssueRecord(message: "Disk full", app: Application(name: "shop")), store)
            let pattern = try #require(TitlePattern("User * is gone"))
            let author = StoreWriter.CorrectionAuthor(uid: 7, at: store.wall, reason: "same")
            _ = try writer.addRule(pattern, merging: [], into: try group(target.id, store), by: author)
            let found = try preview(IssueRecord(message: "User bob is gone", app: Application(name: "shop")), store)
            #expect(found.id == target.id)
            #expect(found.corrections.map(\.author) == [7])
            #expect(found.corrections.map(\.hits) == [0])
            #expect(found.changes == [])
            #expect(try store.shell().number("SELECT count(*) FROM groups") == 2)
            #expect(try store.shell().number("SELECT sum(hits) FROM corrections") == 0)
        }
    }

    @Test("A preview is for the asker's application or, without one, for the first visible one of another user")
    func users() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let record = IssueRecord(message: "Disk full", app: Application(name: "shop"))
            for uid: UInt32 in [1001, 1002] { try store.store([record], from: .of(uid: uid), to: writer) }
            let seen = try preview(record, store, asker: 0)
            #expect(seen.uid == 1001 && seen.otherUsers == [1002] && seen.shown?.records == 1)
            let own = try preview(record, store, asker: 1002)
            #expect(own.uid == 1002 && own.otherUsers == [1001])
            #expect(try preview(record, store, user: 1001, asker: 1002).uid == 1001)
            let foreign = try preview(record, store, asker: 1003, viewer: .user(1003))
            #expect(foreign.uid == 1003 && foreign.otherUsers == [] && foreign.group == nil && foreign.account == nil)
            #expect(foreign.changes == .new)
            let nothing = try preview(record, store, user: 1001, asker: 1001, viewer: .nothing)
            #expect(nothing.group == nil && nothing.shown == nil)
            let single = try preview(record, store, asker: 1001, viewer: .user(1001))
            #expect(single.shown?.user == 1001 && single.otherUsers == [])
        }
    }

    @Test("A preview names the number of groups that may still be created for the user's application in this window")
    func newGroups() throws {
        try TemporaryStore.with { store in
            store.settings.limits.newGroupsPerApplication = Rate(10, per: .seconds(900))
            let writer = try store.writer()
            func record(_ word: String, _ app: String) -> IssueRecord {
                IssueRecord(message: "Failed \(word)", app: Application(name: app))
            }
            try store.store([record("early", "shop")], to: writer)
            store.pass(.seconds(900))
            try store.store([record("one", "shop"), record("two", "shop"), record("one", "cart")], to: writer)
            try store.store([record("one", "shop")], from: .of(uid: 1001), to: writer)
            #expect(try preview(record("three", "shop"), store).newGroupsLeft == 8)
            #expect(try preview(record("three", "cart"), store).newGroupsLeft == 9)
            #expect(try preview(record("three", "shop"), store, user: 1001).newGroupsLeft == 9)
            #expect(try preview(record("one", "shop"), store).newGroupsLeft == nil)
        }
    }
}
