import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("Groups of an older fingerprint rule")
struct RegroupingTests {
    private func regroup(_ writer: StoreWriter) throws -> StoreWriter.RegroupingStep {
        var sum = StoreWriter.RegroupingStep()
        while writer.mustRegroup {
            let step = try writer.regroup(groups: 3, series: 1)
            sum.changed += step.changed
            sum.merged += step.merged
            sum.isDone = step.isDone
        }
        return sum
    }

    /// Stores records of two versions with one issue, and makes each of them a group of an older rule.
    private func withTwoOldGroups(_ body: (TemporaryStore, [IssueGroup]) throws -> Void) throws {
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                try store.store([.shop("Order 1 failed")], to: writer)
                try store.store([.shop("Order 2 failed", version: "2.0")], to: writer)
            }
            try store.shell().ageGroups()
            let old = try store.groups()
            #expect(old.map(\.fingerprintRule) == [1, 1])
            try body(store, old)
            try expectSound(store)
        }
    }

    @Test(
        "Counts, ledger and fates stay exact while groups move and records arrive, and equal issues end in one group",
        arguments: 0..<6 as Range<UInt64>)
    func property(seed: UInt64) throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 50
            var samples = SampleRecords(seed: seed &+ 77)
            try store.store(samples.records(120), to: store.writer())
            try store.shell().ageGroups(keepsFingerprints: seed % 2 == 1)
            let driver = try OutboxDriver(store, seed: seed)
            let sums = try driver.writer.connection.table(
                "SELECT series, records, occurrences, first_at, last_at FROM series_totals ORDER BY 1", columns: 5)
            #expect(sums.count > 10)
            let minutes = "SELECT minute, sum(records), sum(occurrences) FROM counts GROUP BY 1"
            let histogram = try driver.writer.connection.table(minutes, columns: 3)
            for _ in 0..<3 { _ = try driver.writer.regroup(groups: 2, series: 1) }
            #expect(
                try driver.writer.connection.table(
                    "SELECT series, records, occurrences, first_at, last_at FROM series_totals ORDER BY 1",
                    columns: 5) == sums)
            #expect(try driver.writer.connection.table(minutes, columns: 3) == histogram)
            for _ in 0..<60 {
                switch driver.chance(11) {
                case 0, 1: try driver.report(Int(driver.chance(12)) + 1)
                case 2: try driver.priority()
                case 3: try driver.resend()
                case 4, 5: try driver.walk(Int(driver.chance(10)) + 1)
                case 6: try driver.summarise()
                case 7: _ = try driver.requeue()
                case 8, 9: _ = try driver.writer.regroup(groups: 1, series: 1)
                default: try driver.answer()
                }
                let (ledger, fates) = (try driver.ledger, try driver.fates())
                #expect(ledger.balances)
                for fate in IssueFate.Outcome.allCases {
                    #expect(ledger[fate] == fates[fate] ?? 0, "\(fate), seed \(seed)")
                }
                try expectSound(store)
            }
            _ = try regroup(driver.writer)
            try expectSound(store)
            let series = try Statement(
                composedSQL: """
                    SELECT series.key, coalesce(series.app, command), series.account, fingerprint FROM (
                        SELECT series.key, series.app, sender, series.account, groups.fingerprint
                        FROM series JOIN groups ON groups.id = "group" WHERE merged_into IS NULL) AS series
                    JOIN senders ON senders.id = sender
                    """, on: driver.writer.connection
            ).all { (SeriesKey.decode($0.bytes(0)), $0.text(1), $0.int64(2), $0.text(3)) }
            #expect(Int64(series.count) == (try driver.writer.connection.number("SELECT count(*) FROM series")))
            for (description, app, _, fingerprint) in series {
                #expect(Fingerprint.of(try #require(description), app: app) == fingerprint)
            }
            // All records are in these groups.
            let groups = try store.groups()
            #expect(groups.count == Set(series.map { "\($0.2) \($0.3)" }).count)
            #expect(Int64(groups.reduce(0) { $0 + $1.records }) == driver.writer.nextID.rawValue - 1)
        }
    }

    @Test("A group that no other one equals gets its new fingerprint and keeps its id, its state and its counts")
    func inPlace() throws {
        try TemporaryStore.with { store in
            try store.store([.shop("Order 1 failed"), .shop("Order 2 failed")], to: store.writer())
            let fresh = try #require(try store.groups().first)
            try store.shell().ageGroups()
            let old = try #require(try store.groups().first)
            #expect(old.id != fresh.id)
            let writer = try store.writer()
            let subject = try store.reader().subject(old.id, viewer: .everything)
            #expect(try writer.set(TriageState(.resolved), ofGroup: subject.group))
            #expect(try regroup(writer) == .init(changed: 1, merged: 0, isDone: true))
            var expected = old
            (expected.fingerprint, expected.fingerprintRule, expected.state) = (fresh.fingerprint, 2, .resolved)
            #expect(try store.groups() == [expected])
            // A new record belongs to it, and reopens it.
            try store.store([.shop("Order 3 failed", version: "1.1")], to: writer)
            let now = try store.groups()
            #expect(now.map(\.id) == [old.id])
            #expect(now.first?.hasRegressed == true)
            #expect(now.first?.records == 3)
        }
    }

    @Test("Groups that are equal by the new rule become one group, which both ids find everywhere")
    func merges() throws {
        try withTwoOldGroups { store, old in
            let writer = try store.writer()
            #expect(try regroup(writer) == .init(changed: 1, merged: 1, isDone: true))
            let found = try store.groups()
            #expect(found.map(\.id) == [old[0].id])
            #expect(found[0].records == 2)
            #expect(found[0].lastVersion == "2.0")
            let reader = try store.reader()
            for id in old.map(\.id) {
                #expect(try reader.show(id, viewer: .everything).group.id == old[0].id)
                #expect(try reader.subject(id, viewer: .user(1000)).uid == 1000)
                #expect(throws: QueryFailure.self) { try reader.subject(id, viewer: .user(1001)) }
                var filter = IssueFilter()
                filter.groups = [id]
                #expect(try store.groups(filter).map(\.id) == [old[0].id])
                #expect(
                    try reader.allRecords(filter).map(\.group) == [old[0].id, old[0].id])
            }
            #expect(try reader.figures(viewer: .everything).store.groups == 1)
            // Another start finds nothing to do.
            #expect(try regroup(store.writer()) == .init(changed: 0, merged: 0, isDone: true))
        }
    }

    @Test("A record of a new series joins the group of the older rule even before that group is moved")
    func newSeries() throws {
        try withTwoOldGroups { store, old in
            let writer = try store.writer()
            try store.store([.shop("Order 3 failed", version: "3.0")], to: writer)
            // The older of the two has its new fingerprint at once.
            #expect(try store.groups().map(\.id) == old.map(\.id))
            #expect(try store.groups().map(\.records) == [2, 1])
            #expect(try regroup(writer) == .init(changed: 0, merged: 1, isDone: true))
            #expect(try store.groups().map(\.records) == [3])
        }
    }

    @Test("A record does not join a group of the older rule that has been removed since its account was examined")
    func removed() throws {
        try TemporaryStore.with { store in
            try store.store([.shop("Order 1 failed")], to: store.writer())
            try store.shell().ageGroups()
            let writer = try store.writer()
            try store.store([.shop("Disk full")], to: writer)
            try store.forgetAll(writer)
            try writer.collect(series: [1], seenThrough: 2)
            #expect(try store.shell().number("SELECT count(*) FROM groups") == 1)
            try store.store([.shop("Order 4 failed")], to: writer)
            #expect(try store.shell().number("SELECT count(*) FROM groups") == 2)
        }
    }

    @Test("An interrupted merge continues after a restart")
    func continues() throws {
        try TemporaryStore.with { store in
            let versions = (0..<5).map { IssueRecord.shop("Order 1 failed", version: "\($0)") }
            try store.store(versions + [.shop("Other")], to: store.writer())
            try store.shell().ageGroups(keepsFingerprints: true)
            // All series of the issue in one group of the older rule.
            try store.shell().execute(
                """
                UPDATE series SET "group" = (SELECT min(id) FROM groups WHERE rule = 1) WHERE version IS NOT NULL
                    AND template LIKE 'Order%'
                """)
            var writer = try store.writer()
            #expect(try !writer.regroup(groups: 1, series: 2).isDone)
            #expect(
                try writer.connection.number("SELECT count(DISTINCT \"group\") FROM series WHERE home IS NULL") > 1)
            writer = try store.writer()
            _ = try regroup(writer)
            #expect(try store.groups().map(\.records).sorted() == [1, 5])
            try expectSound(store)
        }
    }

    @Test("A group without records gets the new fingerprint of its title, so that its state applies to new records")
    func byTitle() throws {
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                try store.store([.shop("Disk 'a b' is 93 % full at /srv/1"), .shop("Other")], to: writer)
                try writer.connection.execute("UPDATE groups SET state = 1 WHERE title LIKE 'Disk%'")
                try writer.connection.ageGroups()
                try writer.connection.execute(
                    """
                    UPDATE groups SET state = 1 WHERE title LIKE 'Disk%' AND rule = 1;
                    DELETE FROM series WHERE template LIKE 'Disk%'
                    """)
            }
            let writer = try store.writer()
            _ = try regroup(writer)
            try store.store([.shop("Disk 'c' is 99 % full at /srv/2")], to: writer)
            #expect(try store.groups().first { $0.title.hasPrefix("Disk") }?.hasRegressed == true)
        }
    }

    @Test("A group with a chosen fingerprint and an overflow group keep their fingerprints and ids")
    func chosen() throws {
        try TemporaryStore.with { store in
            store.settings.limits.newGroupsPerApplication = Rate(1, per: .seconds(900))
            try store.store(
                [.shop("Order 1 failed", fingerprint: "orders"), .shop("Disk full")], to: store.writer())
            let before = try store.groups()
            #expect(before.map(\.fingerprint).sorted() == ["orders", "overflow"])
            try store.shell().execute("UPDATE groups SET rule = 1")
            #expect(try regroup(store.writer()) == .init(changed: 0, merged: 0, isDone: true))
            #expect(try store.groups() == before)
        }
    }

    @Test("Muted pending records stay muted when their group is merged into an open one; new records are not muted")
    func mutes() throws {
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                try store.store([.shop("Order 1 failed")], to: writer)
                try store.store([.shop("Order 2 failed", version: "2.0")], to: writer)
            }
            try store.shell().ageGroups()
            let old = try store.groups()
            let writer = try store.writer()
            _ = try writer.configure([.init(name: "d", kind: "k", takesBacklog: true)], at: store.wall)
            let muted = try store.reader().subject(old[1].id, viewer: .everything).group
            #expect(try writer.set(TriageState(.muted), ofGroup: muted))
            // Rows 3 and 4.
            try store.store([.shop("Order 3 failed"), .shop("Order 4 failed", version: "2.0")], to: writer)
            _ = try regroup(writer)
            // Rows 5 and 6.
            try store.store([.shop("Order 5 failed"), .shop("Order 6 failed", version: "2.0")], to: writer)
            #expect(try store.groups().map(\.state) == [.open])
            let reader = try store.reader()
            let walked = try reader.walk(after: 0, limit: 9) + reader.walk(after: 4, limit: 9)
            #expect(walked.map(\.candidate.record) == [1, 2, 3, 4, 5, 6])
            #expect(walked.filter(\.candidate.isMuted).map(\.candidate.record) == [4])
            #expect(Set(walked.prefix(4).map(\.candidate.group)).count == 2)
            #expect(Set(walked.suffix(2).map(\.candidate.group)).count == 1)
            try expectSound(store)
        }
    }

    @Test("A group that was merged into another one keeps no text, and is erased with the other one's last record")
    func erased() throws {
        try withTwoOldGroups { store, old in
            let writer = try store.writer()
            _ = try regroup(writer)
            let redirects = "SELECT title, domain, file FROM groups WHERE merged_into IS NOT NULL"
            #expect(try writer.connection.table(redirects, columns: 3) == [["", nil, nil]])
            try store.store([.shop("Other")], to: writer)
            try writer.closeOpenRange()
            let erasure = try writer.erase([1, 2])
            try writer.finishErasing(erasure.series.sorted(), isWhole: true)
            #expect(try store.groups().map(\.title) == ["Other"])
            #expect(try writer.connection.table(redirects, columns: 3) == [])
            #expect(try writer.connection.number("SELECT count(*) FROM moves") == 0)
            #expect(throws: QueryFailure.self) { try store.reader().show(old[1].id, viewer: .everything) }
        }
    }

    @Test("A file of the first schema version is upgraded in place, and its groups get fingerprints of their templates")
    func previousVersion() throws {
        try TemporaryStore.with { store in
            do {
                _ = try store.writer()
                try store.downgrade(to: 9)
                var series = SeriesDescription()
                series.app = Application(name: "shop")
                // The template of rule 1 for "balance of blk_-12 is 5".
                series.template = Array("balance of blk_-\u{1} is \u{1}".utf8)
                let key = SeriesKey.encode(series).map { String($0, radix: 16) }
                    .map { $0.count == 1 ? "0" + $0 : $0 }.joined()
                try store.shell().execute(
                    composedSQL: """
                        INSERT INTO accounts VALUES (1, 1000, 'shop', 0);
                        INSERT INTO senders VALUES (1, 1000, 'shop', '/usr/bin/shop', 'shop.service');
                        INSERT INTO groups (id, account, fingerprint, rule, key, title, severity, first_record, first_at)
                            VALUES (1, 1, '00000000000000aa', 1, 42, 'balance of blk_-<n> is <n>', 3, 1, 0);
                        INSERT INTO series (id, "group", account, sender, hash, key, severity, reportable, app, template,
                            first_at) VALUES (1, 1, 1, 1, 0, x'\(key)', 3, 1, 'shop',
                            CAST(x'62616c616e6365206f6620626c6b5f2d01206973' AS TEXT) || ' ' || char(1), 0)
                        """)
            }
            let writer = try store.writer()
            #expect(try writer.connection.pragma("user_version") == Int64(Schema.migrator.newestVersion))
            #expect(try regroup(writer) == .init(changed: 1, merged: 0, isDone: true))
            try store.store([.shop("balance of blk_8 is 7")], to: writer)
            #expect(try store.groups().map(\.id) == ["g000000000000002a"])
            #expect(try store.shell().number("SELECT count(*) FROM groups") == 1)
        }
    }
}
