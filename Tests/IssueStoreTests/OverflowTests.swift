import IssueCore
import IssueProtocol
import Testing

@testable import IssueStore

@Suite("A record above the cardinality limits")
struct OverflowTests {
    private func limited(groups: Int64 = 0, series: Int64 = 0, names: Int64 = 0) -> LimitSettings {
        var limits = LimitSettings()
        limits.newGroupsPerApplication = Rate(groups, per: .seconds(900))
        limits.newSeriesPerApplication = Rate(series, per: .seconds(900))
        limits.applicationsPerUser = names
        return limits
    }

    private func record(_ message: String, app: String? = "shop", version: String? = nil) -> IssueRecord {
        var record = IssueRecord(message: message, severity: .warning, domain: "d", code: 3)
        if let app { record.app = Application(name: app, version: version) }
        record.causes = [IssueCause(message: message)]
        record.metadata = ["m": .string(message)]
        record.context = IssueContext(requestID: message, user: "anna")
        return record
    }

    private func expectWhole(_ record: IssueRecord, _ id: RecordID, _ reader: StoreReader) throws -> RecordRow {
        let row = try #require(try reader.record(row: id.row))
        #expect(row.stored.record == record.withDefaults(receivedAt: row.receivedAt))
        return row
    }

    @Test(
        "A record above the limits joins one overflow group of its application, complete and with its severity"
    )
    func joinsGroup() throws {
        try TemporaryStore.with { store in
            store.settings.limits = limited(groups: 2, series: 1000)
            store.settings.rangeRecords = 7
            let writer = try store.writer()
            let messages = ["one", "two", "three 3", "four \"4\"", "\u{1}five", "three 33", "one"]
            var records = messages.map { record($0) }
            records[3].severity = .critical
            records[4].reportable = false
            let ids = try store.store(records, to: writer)
            let reader = try store.reader()
            let rows = try zip(records, ids).map { try expectWhole($0, $1, reader) }
            #expect(rows.map { $0.fingerprint == "overflow" } == [false, false, true, true, true, true, false])
            #expect(rows.map { $0.stored.repairs.isEmpty } == [true, true, false, false, false, false, true])
            #expect(
                rows[2].stored.repairs == [
                    "stored in the overflow issue of its application because of the limit on new issues or series"
                ])
            let explanation = try reader.explain(ids[2].text, viewer: .everything)
            #expect(explanation.fingerprint == "overflow")
            #expect(!explanation.isChosen && explanation.rule == nil)
            let groups = try reader.groups(.all, viewer: .everything).groups
            #expect(groups.count == 3)
            let overflow = try #require(groups.first { $0.fingerprint == "overflow" })
            #expect(overflow.records == 4)
            #expect(overflow.level == .critical)
            // The scan, too, sees which records are not reportable and which are critical.
            let walked = try reader.walk(after: 0, limit: 100)
            #expect(walked.map(\.candidate.isReportable) == [true, true, true, true, false, true, true])
            #expect(walked[3].candidate.severity == .critical)
            #expect(walked[2].candidate.severity == .warning)
            try expectSound(store)
        }
    }

    @Test(
        "A record above the limits joins one overflow series of its group if only the series exceeds the limit"
    )
    func joinsSeries() throws {
        try TemporaryStore.with { store in
            store.settings.limits = limited(groups: 100, series: 3)
            let writer = try store.writer()
            let records = (0..<40).map { record("slow 5", version: "1.\($0)") }
            let ids = try store.store(records, to: writer)
            let reader = try store.reader()
            let rows = try zip(records, ids).map { try expectWhole($0, $1, reader) }
            #expect(
                rows[39].stored.repairs == [
                    "stored in the overflow series of its issue because of the limit on new series"
                ])
            let explanation = try reader.explain(ids[39].text, viewer: .everything)
            #expect(!explanation.isChosen && explanation.rule == Int(Fingerprint.rule))
            let groups = try reader.groups(.all, viewer: .everything).groups
            #expect(groups.count == 1)
            #expect(explanation.fingerprint == groups[0].fingerprint)
            #expect(groups[0].records == 40)
            #expect(groups[0].title == "slow <n>")
            #expect(try store.shell().number("SELECT count(*) FROM series") == 4)
            try expectSound(store)
        }
    }

    @Test(
        "Records above the limits create a limited number of accounts, groups and series, whatever varies between them"
    )
    func isBounded() throws {
        try TemporaryStore.with { store in
            store.settings.limits = limited(groups: 2, series: 3, names: 2)
            let writer = try store.writer()
            var samples = SampleRecords(seed: 2)
            for call in 0..<10 {
                let records = (0..<30).map { index -> IssueRecord in
                    let word = String(
                        (0..<12).map { _ in
                            "abcdefghij"["abcdefghij".index("abcdefghij".startIndex, offsetBy: Int(samples.below(10)))]
                        })
                    var record = record("m \(word)", app: index % 3 == 0 ? "shop" : word, version: word)
                    record.domain = word
                    if index % 2 == 0 { record.fingerprint = index % 4 == 0 ? "same" : word }
                    record.source = SourceLocation(fileID: word, line: Int64(call * 100 + index), function: word)
                    return record
                }
                try store.store(records, to: writer)
            }
            let shell = try store.shell()
            #expect(try shell.number("SELECT count(*) FROM accounts") == 3)
            #expect(try shell.number("SELECT count(*) FROM groups") <= 9)
            #expect(try shell.number("SELECT count(*) FROM series") <= 30)
            let page = try store.reader().groups(.all, viewer: .everything)
            #expect(page.groups.map(\.records).reduce(0, +) == 300)
            try expectSound(store)
        }
    }

    @Test(
        "A record above the limits joins the same overflow group again, and its own group when the limits allow it"
    )
    func comesAgain() throws {
        for isReloaded in [false, true] {
            try TemporaryStore.with { store in
                store.settings.limits = limited(groups: 1, series: 2)
                let writer = try store.writer()
                let variants = [record("one"), record("one", version: "2"), record("one", version: "3")]
                let records = variants + [record("two"), record("three 3"), record("two")]
                // The same submission is committed each time, so that the writer finds its series in the cache.
                let submission = try Submission(of: records)
                let costs = ReportCost.of(records: 6, bytes: 0, newSeries: 6, overflowed: 0)
                #expect(writer.cost(of: submission) == costs)
                for _ in 0..<3 {
                    let ids = try store.commit(submission, to: writer).flatMap(\.ids)
                    let reader = try store.reader()
                    let rows = try zip(records, ids).map { try expectWhole($0, $1, reader) }
                    #expect(rows.map { $0.fingerprint == "overflow" } == [false, false, false, true, true, true])
                    #expect(rows.map { $0.stored.repairs.isEmpty } == [true, true, false, false, false, false])
                    #expect(
                        writer.cost(of: submission)
                            == ReportCost.of(records: 6, bytes: 0, newSeries: 0, overflowed: 4))
                }
                #expect(try store.shell().number("SELECT count(*) FROM series") == 4)
                if isReloaded {
                    writer.reload(limited(groups: 3, series: 5), writer.retention)
                } else {
                    store.pass(.seconds(900))
                }
                let later = try store.commit(submission, to: writer).flatMap(\.ids)
                let reader = try store.reader()
                let fingerprints = try zip(records, later).map { try expectWhole($0, $1, reader).fingerprint }
                #expect(fingerprints.map { $0 == "overflow" } == [false, false, false, false, !isReloaded, false])
                try expectSound(store)
            }
        }
    }

    @Test("Applications that a user's subordinate ids have created count for that user, even after a restart")
    func accountableUserAfterRestart() throws {
        try TemporaryStore.with { store in
            store.settings.limits = limited(names: 2)
            store.settings.retention.users = AccountableUsers(
                subordinates: Array("ann:100000:65536\n".utf8), users: Array("ann:x:1000:1000::/:/bin/sh\n".utf8))
            func report(_ app: String, from uid: UInt32, to writer: StoreWriter) throws {
                var process = ReportingProcess.of(uid: uid)
                process.accountableUser = store.settings.retention.users.owner(of: uid)
                try store.store([record("m", app: app)], from: process, to: writer)
            }
            do {
                let writer = try store.writer()
                try report("a", from: 100_001, to: writer)
                try report("b", from: 100_002, to: writer)
            }
            let writer = try store.writer()
            try report("c", from: 1000, to: writer)
            try report("d", from: 2000, to: writer)
            let groups = try store.reader().groups(.all, viewer: .everything).groups
            #expect(groups.compactMap(\.app).sorted() == ["a", "b", "d", "overflow"])
        }
    }

    @Test("An overflow that a user's subordinate ids cause is reported with the uid of that user")
    func reportsAccountableUser() throws {
        try TemporaryStore.with { store in
            store.settings.limits = limited(groups: 1, series: 2, names: 1)
            let writer = try store.writer()
            var overflows: [CardinalityOverflow] = []
            writer.callbacks.onCardinalityOverflow = { overflows.append($0) }
            func report(_ record: IssueRecord, command: String = "c", connection: UInt64) throws {
                var process = ReportingProcess.of(
                    uid: 100_000 + UInt32(connection), connection: connection, command: command)
                process.accountableUser = 1000
                try store.store([record], from: process, to: writer)
            }
            try report(record("one", app: nil), connection: 1)
            try report(record("two", app: nil), connection: 1)
            var variant = record("one", app: nil)
            for domain in ["e", "f"] {
                variant.app = Application(version: domain)
                try report(variant, connection: 1)
            }
            try report(record("one"), connection: 2)
            for number in 0...UInt64(CardinalityGuard.senderLimitFactor) {
                try report(record("one", app: nil), command: "c\(number)", connection: 3 + number)
            }
            #expect(Set(overflows.map(\.kind)) == [.issues, .variants, .applications, .senders])
            #expect(Set(overflows.map(\.uid)) == [1000])
        }
    }

    @Test("A new group above only the limit on series is reported as too many series, above both as too many groups")
    func reportsExceededLimit() throws {
        try TemporaryStore.with { store in
            store.settings.limits = limited(groups: 3, series: 2)
            let writer = try store.writer()
            var kinds: [CardinalityOverflow.Kind] = []
            writer.callbacks.onCardinalityOverflow = { kinds.append($0.kind) }
            try store.store(["one", "two", "three"].map { record($0) }, to: writer)
            #expect(kinds == [.variants])
            writer.reload(limited(groups: 2, series: 2), writer.retention)
            try store.store([record("four")], to: writer)
            #expect(kinds == [.variants, .issues])
        }
    }

    @Test(
        "A record above the limits joins one overflow application of the user, and no id is assigned to two groups"
    )
    func joinsApplication() throws {
        try TemporaryStore.with { store in
            store.settings.limits = limited(names: 2)
            let writer = try store.writer()
            for name in ["a", "b", "c", "d"] {
                var own = record("m", app: name)
                own.fingerprint = "same"
                try store.store([own], to: writer)
            }
            let reader = try store.reader()
            var groups = try reader.groups(.all, viewer: .everything).groups
            #expect(groups.map(\.app).sorted { $0 ?? "" < $1 ?? "" } == ["a", "b", "overflow"])
            #expect(groups.first { $0.app == "overflow" }?.records == 2)

            // Two days later, the limit has capacity for the name again.
            store.pass(.seconds(2 * 86_400))
            var late = record("later", app: "c")
            late.fingerprint = "same"
            try store.store([late], to: writer)
            groups = try reader.groups(.all, viewer: .everything).groups
            #expect(groups.count == 4)
            #expect(Set(groups.map(\.id)).count == 4)
            try expectSound(store)
        }
    }

    @Test(
        "A record above the limits joins one overflow sender of the user, and keeps its own sender in the record"
    )
    func joinsSender() throws {
        try TemporaryStore.with { store in
            store.settings.limits = limited(names: 1)
            let most = Int(CardinalityGuard.senderLimitFactor)
            var connection: UInt64 = 0
            for _ in 0..<2 {
                // A restart does not reset any limit.
                let writer = try store.writer()
                for number in 0..<(most + 5) {
                    connection += 1
                    let process = ReportingProcess.of(uid: 1000, connection: connection, command: "made up \(number)")
                    let ids = try store.store([record("m")], from: process, to: writer)
                    let row = try expectWhole(record("m"), ids[0], try store.reader())
                    #expect(row.stored.sender == process.sender)
                    #expect(row.stored.repairs.isEmpty == (number < most))
                }
                #expect(try store.shell().number("SELECT count(*) FROM senders") == Int64(most + 1))
            }
            // Other users keep their full limits.
            let other = ReportingProcess.of(uid: 1001, command: "honest")
            let ids = try store.store([record("m")], from: other, to: try store.writer())
            #expect(try store.reader().record(row: ids[0].row)?.stored.repairs == [])
            try expectSound(store)
        }
    }

    @Test("A sender above the limits is stored as itself when the limits allow it, even on the same connection")
    func senderAgain() throws {
        for isReloaded in [false, true] {
            try TemporaryStore.with { store in
                store.settings.limits = limited(names: 1)
                let most = Int(CardinalityGuard.senderLimitFactor)
                let writer = try store.writer()
                var late = ReportingProcess.of(uid: 1000, command: "")
                for number in 0...most {
                    late = .of(uid: 1000, connection: UInt64(number), command: "made up \(number)")
                    try store.store([record("m")], from: late, to: writer)
                }
                func isReplaced() throws -> Bool {
                    let ids = try store.store([record("m")], from: late, to: writer)
                    return try store.reader().record(row: ids[0].row)?.stored.repairs.isEmpty == false
                }
                #expect(try isReplaced())
                if isReloaded {
                    writer.reload(limited(names: 2), writer.retention)
                } else {
                    store.pass(.seconds(86_400))
                }
                #expect(try !isReplaced())
            }
        }
    }

    @Test("A record above the limits is still above them after a restart")
    func survivesRestart() throws {
        try TemporaryStore.with { store in
            store.settings.limits = limited(groups: 3, series: 5, names: 2)
            // At the beginning of a window, so that the test stays within it.
            store.wall = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000 / 86_400_000 * 86_400_000)
            for number in 0..<6 {
                let writer = try store.writer()
                try store.store([record("m \("abcdef".dropFirst(number).prefix(1))")], to: writer)
                try store.store([record("x", app: "app\(number)")], to: writer)
            }
            let groups = try store.reader().groups(.all, viewer: .everything).groups
            #expect(groups.filter { $0.app == "shop" && $0.fingerprint != "overflow" }.count == 3)
            #expect(groups.first { $0.app == "shop" && $0.fingerprint == "overflow" }?.records == 3)
            #expect(Set(groups.map(\.app)) == ["shop", "app0", "overflow"])
            // The next window has capacity again.
            store.pass(.seconds(86_400))
            let writer = try store.writer()
            try store.store([record("later on")], to: writer)
            #expect(try store.reader().groups(.all, viewer: .everything).groups.first?.fingerprint != "overflow")
            try expectSound(store)
        }
    }
}
