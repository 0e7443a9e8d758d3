import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing
import Torture

@Suite("Kills of the daemon while it moves groups to the newest fingerprint rule", .daemonLog)
struct RegroupingCrashTests {
    /// An issue of the test: the application and a word that no template replaces.
    private struct Case: Hashable {
        var app: Int
        var word: Int

        var name: String { "app-\(RegroupingCrashTests.colours[app])" }
        var title: String { "Case \(letters) failed with <n>" }

        /// The state that both groups of the issue have before they are moved.
        var state: GroupState { word % 6 == 1 ? .muted : word % 6 < 4 ? .resolved : .open }

        func record(_ number: Int, version: String) -> IssueRecord {
            IssueRecord(
                message: "Case \(letters) failed with \(number)", app: Application(name: name, version: version))
        }

        private var letters: String {
            let alphabet = Array("ghjklmnprs")
            return String([word / 100, word / 10 % 10, word % 10].map { alphabet[$0] })
        }
    }

    /// The number of issues of each application before the upgrade, and the number including those that are first
    /// reported later. Before the upgrade, each issue has two groups. An application must not have more than 512
    /// groups: before they are moved, a new record can find only the newest 512.
    private static let (known, all) = (250, 300)
    private static let apps = colours.count
    private static let colours = ["red", "green", "blue", "white", "black", "grey", "pink", "brown", "teal", "gold"]
    private static let producer = "019aa3c5-0000-7000-8000-000000000003"

    /// Gives each series a group of its own, of rule 1, as if an older version had stored it.
    private static let aging = """
        CREATE TABLE aged AS SELECT series.id AS series, "group", row_number() OVER (PARTITION BY "group") AS place
            FROM series;
        INSERT INTO groups (account, fingerprint, rule, key, title, severity, first_record, first_at, first_version,
                            last_version)
            SELECT account, 'old ' || series, 1, abs(random()), title, severity, iif(place = 1, first_record, 0),
                first_at, first_version, last_version
            FROM aged JOIN groups ON groups.id = aged."group";
        UPDATE series SET "group" = (SELECT id FROM groups WHERE fingerprint = 'old ' || series.id);
        DELETE FROM groups WHERE rule = 2;
        DROP TABLE aged;
        """

    private func age(_ daemon: DaemonFixture, _ cases: [Case]) throws {
        let file = try DatabaseFile(daemon.database, writable: true)
        try file.execute("BEGIN; \(Self.aging)")
        for subject in cases where subject.state != .open {
            try file.execute(
                """
                UPDATE groups SET state = \(subject.state == .muted ? 2 : 1) WHERE title = '\(subject.title)'
                    AND account = (SELECT id FROM accounts WHERE app = '\(subject.name)')
                """)
        }
        try file.execute(
            """
            INSERT INTO mutes SELECT id, (SELECT max(last_id) + 1 FROM blocks), NULL FROM groups WHERE state = 2;
            COMMIT
            """)
    }

    /// Returns the number of groups that have not been moved yet.
    private func remaining(_ daemon: DaemonFixture) throws -> Int {
        let rows = try daemon.file.rows(
            """
            SELECT count(*) FROM groups WHERE rule < 2
                OR merged_into IS NOT NULL AND EXISTS (SELECT 1 FROM series WHERE "group" = groups.id)
            """, columns: 1)
        return try #require(Int(rows[0][0]))
    }

    /// Connects as soon as the daemon accepts connections.
    private func connect(_ daemon: DaemonFixture) async throws -> RawClient {
        var client: RawClient?
        try await eventually("the daemon accepts connections") {
            client = try? RawClient(path: daemon.socket)
            return client != nil
        }
        return try #require(client)
    }

    @Test(
        "After kills while groups move and reports arrive, ids, redirects, counts, states and the ledger are correct",
        arguments: [1, 2] as [UInt64])
    func kills(seed: UInt64) async throws {
        var random = SeededGenerator(seed)
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = "[Limits]\nNewGroupsPerApplication=0\nNewSeriesPerApplication=0"
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            let cases = (0..<Self.apps).flatMap { app in (0..<Self.known).map { Case(app: app, word: $0) } }
            var client = try RawClient(path: daemon.socket)
            var counts: [Case: Int] = [:]
            var number = 0
            for version in ["1.0", "2.0"] {
                for app in 0..<Self.apps {
                    let records = cases.filter { $0.app == app }.map { $0.record(0, version: version) }
                    for receipt in try client.report(records) { _ = try receipt.storedID }
                }
            }
            for subject in cases { counts[subject] = 2 }
            try await eventually("all are delivered") { try client.destination().ledger.pending == 0 }
            try daemon.terminate()
            try age(daemon, cases)
            let old = try daemon.file.rows(
                """
                SELECT printf('g%016x', key), app, title FROM groups JOIN accounts ON accounts.id = account
                """, columns: 3)
            #expect(old.count == 2 * cases.count)

            // Every call is repeated until it has receipts, so that exactly these records must be stored.
            var (touched, sequence, interrupted) = (Set<Case>(), Int64(0), 0)
            var ids: [String: String] = [:]
            var uncertain: [IssueRecord]?
            func nextCall() -> [IssueRecord] {
                (0..<10).map { _ in
                    let subject = Case(
                        app: .random(in: 0..<Self.apps, using: &random), word: .random(in: 0..<Self.all, using: &random)
                    )
                    number += 1
                    counts[subject, default: 0] += 1
                    touched.insert(subject)
                    return subject.record(number, version: "\(Int.random(in: 1...3, using: &random)).0")
                }
            }
            func store(_ records: [IssueRecord]) throws {
                let receipts = try client.report(records, producer: Self.producer, sequence: sequence)
                for (record, receipt) in zip(records, receipts) { ids[record.message] = try receipt.storedID }
                sequence += Int64(records.count)
            }
            for round in 0..<100 {
                let before = try remaining(daemon)
                guard before > 0 else { break }
                // Groups move as soon as the database is open, so the first report must not wait until the daemon is
                // ready.
                try daemon.launch()
                let target = before * Int.random(in: 40...95, using: &random) / 100
                guard round >= 2 else {
                    // A fast daemon may move all groups before it accepts connections, so this round reports nothing.
                    while try remaining(daemon) > target { try #require(daemon.isRunning) }
                    try daemon.kill()
                    if (1..<old.count).contains(try remaining(daemon)) { interrupted += 1 }
                    continue
                }
                client = try await connect(daemon)
                if let records = uncertain { try store(records) }
                while try remaining(daemon) > target { try store(nextCall()) }
                let last = nextCall()
                uncertain = last
                try client.begin(
                    .report, ReportParameters(records: last, producer: Self.producer, sequence: sequence))
                try daemon.kill()
                if (1..<old.count).contains(try remaining(daemon)) { interrupted += 1 }
            }
            #expect(interrupted >= 2)
            try daemon.start()
            client = try RawClient(path: daemon.socket)
            if let records = uncertain { try store(records) }
            try await eventually("all groups are moved") { try remaining(daemon) == 0 }
            try await eventually("all are forwarded") { try client.destination().ledger.pending == 0 }

            var groups: [Case: IssueGroup] = [:]
            for app in 0..<Self.apps {
                let found = try client.groups(IssueFilter(apps: [Case(app: app, word: 0).name]))
                let byTitle = Dictionary(grouping: found, by: \.title)
                #expect(byTitle.count == found.count, "equal issues are one group")
                for word in 0..<Self.all {
                    let subject = Case(app: app, word: word)
                    groups[subject] = byTitle[subject.title]?.first
                }
            }
            #expect(groups.mapValues(\.records) == counts)
            let oldIDs = Dictionary(grouping: old) { "\($0[1]) \($0[2])" }.mapValues { Set($0.map { $0[0] }) }
            for (subject, group) in groups where subject.word < Self.known {
                let regressed = subject.state == .resolved && touched.contains(subject)
                #expect(group.state == (regressed ? .open : subject.state), "\(subject)")
                #expect(group.hasRegressed == regressed, "\(subject)")
                let former = oldIDs["\(subject.name) \(subject.title)"] ?? []
                #expect(former.count == 2 && former.contains(group.id), "the group has one of the earlier ids")
                // Some issues of each state are enough, because each query takes milliseconds.
                guard subject.word.isMultiple(of: 5) else { continue }
                for id in former { #expect(try client.show(id).group.id == group.id) }
            }
            #expect(
                try daemon.file.rows("SELECT count(*) FROM groups WHERE merged_into IS NOT NULL", columns: 1)
                    == [["\(cases.count)"]])

            let stored = try client.allRecords().filter { !$0.record.message.hasSuffix(" 0") }
            #expect(stored.count == number && ids.count == number)
            #expect(Dictionary(uniqueKeysWithValues: stored.map { ($0.record.message, $0.id) }) == ids)
            let ledger = try client.destination().ledger
            let muted = touched.filter { $0.state == .muted && $0.word < Self.known }
            let withheld = muted.reduce(0) { $0 + (counts[$1] ?? 0) - 2 }
            #expect(ledger.balances)
            #expect(ledger.received == Int64(2 * cases.count + number))
            #expect(ledger.withheld == Int64(withheld))
            #expect(ledger.delivered == ledger.received - ledger.withheld)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }
}
