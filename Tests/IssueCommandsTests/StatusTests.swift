import IssueCommands
import Testing
import UnixIO

@Suite("issuectl status and flush")
struct StatusTests {
    private static let suppressions = """
        {"destination":"logzio","app":"shop","group":"g7","reason":"group_rate","count":1200,\
        "since":"2026-11-21T11:00:00.000Z"},\
        {"destination":"logzio","reason":"daily_bytes","count":1,"since":"2026-11-21T11:59:00.000Z"}
        """

    @Test("If the daemon cannot open its database, the status shows the reason")
    func withoutStore() {
        let reply = """
            {"version":"0.1.0","host":"web-1","started_at":"2026-11-18T12:00:00.000Z","received":0,"rejected":0,\
            "duplicates":0,"connections":1,"store":{"id":"","records":0,"groups":0,"faults":["the disk gives nothing"]},\
            "destinations":[],"suppressions":[]}
            """
        #expect(
            issuectl(["status"], width: 80, .reply(reply)).output == """
                issued 0.1.0 on web-1
                  Up           3 days, since 2026-11-18 12:00:00Z
                  Connections  1
                  Store        cannot be opened
                  Fault: the disk gives nothing

                """)
    }

    @Test("The status shows how many values each rule has removed from records")
    func redactions() {
        let reply = """
            {"version":"0.1.0","host":"web-1","started_at":"2026-11-18T12:00:00.000Z","received":3,"rejected":0,\
            "duplicates":0,"connections":1,"store":{"id":"a","records":3,"groups":1,"faults":[]},\
            "destinations":[],"suppressions":[],\
            "redactions":[{"rule":"password","count":1200},{"rule":"jwt","count":1}]}
            """
        let output = issuectl(["status"], width: 80, .reply(reply)).output
        #expect(output.contains("  Redacted     1,201 values since start: 1,200 password, 1 jwt\n"))
    }

    @Test("With a fault of the store, the exit code is 1, so that monitoring can rely on it")
    func fault() {
        let unwell = Fixtures.status(Fixtures.logzio, faults: "\"the ledger of logzio does not balance\"")
        #expect(issuectl(["status"], .reply(unwell)).code == .refused)
        #expect(issuectl(["status", "--json"], .reply(unwell)).code == .refused)
        #expect(issuectl(["status"], .reply(Fixtures.status(Fixtures.logzio))).code == .success)
    }

    @Test("The five largest suppressions are listed, followed by the number of others")
    func manySuppressions() {
        func held(_ app: Int, _ count: Int, groups: Int) -> String {
            """
            {"destination":"logzio","app":"app-\(app)","reason":"group_rate","count":\(count),\
            "since":"2026-11-21T11:00:00.000Z","groups":\(groups)}
            """
        }
        func lines(_ suppressions: [String], besides: Int = 0) -> [Substring] {
            let reply = Fixtures.status(Fixtures.logzio, suppressions: suppressions.joined(separator: ","))
                .replacing("\"suppressions\":", with: "\"other_suppressions\":\(besides),\"suppressions\":")
            let output = issuectl(["status"], width: 100, .reply(reply)).output
            return output.split(separator: "Held back since the last summary\n").last?.split(separator: "\n") ?? []
        }
        let shown = lines((1...40).reversed().map { held($0, $0 * 10, groups: $0) }, besides: 1000)
        #expect(shown.count == 7)
        #expect(shown[1].contains("app-40, 40 groups"))
        #expect(shown[5].contains("app-36"))
        #expect(shown[6].contains("and 1,035 more"))
    }

    @Test("The status shows the fates of each ledger and whether they add up to the number received")
    func status() {
        let reply = Fixtures.status(
            Fixtures.logzio, Fixtures.archive, suppressions: Self.suppressions, faults: "\"issues.db-1 was set aside\"")
        let outcome = issuectl(["status"], width: 80, .reply(reply))
        #expect(
            outcome.output == #"""
                issued 0.1.0 on web-1
                  Up           3 days, since 2026-11-18 12:00:00Z
                  Received     1,234,567 records; since start: 1 duplicate, 3 rejected, 2 refused
                  Connections  12
                  Store        1,200,000 records in 42 groups
                  Size         15.0 MiB, 20.0 GiB free on the disk
                  Oldest       2026-10-22T12:00:00.000Z (30 days ago)
                  Fault: issues.db-1 was set aside

                Destination logzio
                  State           paused: the token was refused (401)
                  Advice          Put the right token into /etc/issued/logzio-token, then: systemctl restart issued
                  Oldest pending  2026-11-21T10:00:00.000Z (2 h ago)
                  Next attempt    in 20 s
                  Last answer     401
                  Last success    2026-11-21T09:59:00.000Z (2 h 1 min ago)
                  Traffic         2,500 requests, 3 lines sent again, 2 lines perhaps received twice, 1.5 MiB today

                Destination archive (ClickHouse)
                  State    idle
                  Traffic  1 request, 512 B today

                LEDGER              logzio   archive
                  received       1,234,567        10
                = pending               17         0
                + delivered      1,234,000         8
                + summarised           500         0
                + dead-lettered          1         0
                + withheld              40         0
                + expired                9         0
                + unconfirmed            0         1
                                  balances  off by 1

                Held back since the last summary
                  DESTINATION  COUNT  SINCE      LIMIT        OF
                  logzio       1,200  1 h ago    group rate   shop, group g7
                  logzio           1  1 min ago  daily bytes  everything

                """#)
        #expect(issuectl(["status", "--json"], .reply(reply)).output == reply + "\n")
    }

    @Test("Ledgers that do not fit next to each other are shown one below the other")
    func narrow() {
        let reply = Fixtures.status(Fixtures.logzio, Fixtures.archive)
        let outcome = issuectl(["status"], width: 40, .reply(reply))
        #expect(outcome.output.split(separator: "\n").filter { $0.hasPrefix("LEDGER") }.count == 2)
    }

    @Test("Without a destination, the status says that issues are stored but not forwarded")
    func noDestination() {
        let outcome = issuectl(["status"], width: 80, .reply(Fixtures.status()))
        #expect(outcome.output.hasSuffix("\n\nNo destination configured. Issues are stored but not forwarded.\n"))
    }

    @Test("If the configuration has an error and no destination is in use, status and flush say so")
    func unusedDestination() {
        let fault = "configuration error (using the last valid configuration): /etc/issued/issued.conf:2: x"
        let reply = Fixtures.status(faults: "\"\(fault)\"")
            .replacing(#""faults":["#, with: #""fault_ids":["config.error"],"faults":["#)
        let status = issuectl(["status"], .reply(reply))
        #expect(
            status.output.hasSuffix(
                "\nNo destination is in use, and the configuration has an error. Issues are stored but not "
                    + "forwarded.\n"))
        #expect(status.code == .refused)
        let flush = issuectl(["flush"], .reply(reply), .reply(#"{"destinations":[]}"#))
        #expect(flush.code == .refused && flush.output.isEmpty)
        #expect(
            flush.errors
                == lines(
                    "issuectl: no destination is in use, and the configuration has an error: see issuectl status"))
        let json = issuectl(["flush", "--json"], .reply(#"{"destinations":[]}"#), .reply(reply))
        #expect(json.code == .refused && json.output == lines(#"{"destinations":[]}"#))
        let named = issuectl(["flush", "logzio"], .reply(reply))
        #expect(named.code == .refused && named.errors.contains("is in use, and the configuration has an error"))
    }

    @Test("If only a notifier has an error, the status says that no destination is configured, and what to fix")
    func misconfiguredNotifier() {
        let fault = "configuration error (the affected destinations and notifiers are paused): /x.conf:2: y"
        let notifier =
            #"{"name":"oncall","format":"","state":"paused","reason":"misconfigured","advice":"/x.conf:2: y","#
            + #""received":0,"pending":0,"delivered":0,"given_up":0,"silenced":0,"messages":0,"repeated":0}"#
        let reply = Fixtures.status(faults: "\"\(fault)\"")
            .replacing(#""faults":["#, with: #""fault_ids":["config.notifier"],"faults":["#)
            .replacing(#""destinations":[]"#, with: #""destinations":[],"notifiers":[\#(notifier)]"#)
        let status = issuectl(["status"], .reply(reply))
        #expect(status.output.contains("\nNo destination configured. Issues are stored but not forwarded.\n"))
        #expect(status.output.contains("\n  State     paused: misconfigured\n  Advice    /x.conf:2: y\n"))
        #expect(!status.output.contains("No destination is in use"))
    }

    @Test("The status shows when pending records last expired")
    func lastExpired() {
        let reply = Fixtures.status(Fixtures.logzio)
            .replacing(#""requests""#, with: #""last_expired":"2026-11-21T11:59:00.000Z","requests""#)
        let status = issuectl(["status"], .reply(reply))
        #expect(status.output.contains("Expired") && status.output.contains("last 2026-11-21T11:59:00.000Z"))
    }

    @Test("Flush shows the fates of the records that were pending")
    func flush() {
        let outcome = issuectl(
            ["flush"], .reply(Fixtures.status(Fixtures.flushed(pending: 3, delivered: 5))),
            .reply("{\"destinations\":[\(Fixtures.flushed(pending: 0, delivered: 8))]}"))
        #expect(outcome.output == "logzio: 3 delivered\n")
        #expect(outcome.code == .success)
        #expect(outcome.calls == ["Status {}", #"Flush {"timeout":30000}"#])
    }

    @Test("Flush exits with 75 if some of the records are still pending")
    func unfinished() {
        let after = Fixtures.flushed(
            pending: 2, delivered: 6, oldest: "2026-11-21T11:59:00.000Z", advice: "Look at the network")
        let outcome = issuectl(
            ["flush", "logzio", "--timeout", "1s"], .reply(Fixtures.status(Fixtures.flushed(pending: 3, delivered: 5))),
            .reply("{\"destinations\":[\(after)]}"))
        #expect(outcome.output == "logzio: 1 delivered, 2 still pending (idle)\n  Look at the network\n")
        #expect(outcome.code == .tryAgain)
        #expect(
            outcome.errors
                == "issuectl: some records are still pending (logzio): see issuectl status, or wait longer with --timeout\n"
        )
        #expect(outcome.calls.last == #"Flush {"destination":"logzio","timeout":1000}"#)
        let paused = issuectl(
            ["flush"], .reply(Fixtures.status(Fixtures.flushed(pending: 3, delivered: 5))),
            .reply(
                "{\"destinations\":[\(after.replacing("\"state\":\"idle\"", with: "\"state\":\"paused\""))]}"))
        #expect(paused.code == .tryAgain)
        #expect(paused.errors.hasPrefix("issuectl: some records are still pending (logzio): the destination is paused"))
    }

    @Test("If a destination has requested a wait, flush shows when the wait ends")
    func requestedWait() {
        let after = Fixtures.flushed(pending: 2, delivered: 6, oldest: "2026-11-21T11:59:00.000Z", advice: "Wait")
            .replacing(
                #""state":"idle""#,
                with: #""state":"waiting","reason":"overloaded","next_attempt":"2026-11-21T13:00:00.000Z""#)
        let outcome = issuectl(
            ["flush"], .reply(Fixtures.status(Fixtures.flushed(pending: 3, delivered: 5))),
            .reply("{\"destinations\":[\(after)]}"))
        let state = "waiting: overloaded; next attempt at 2026-11-21T13:00:00.000Z"
        #expect(outcome.output == "logzio: 1 delivered, 2 still pending (\(state))\n  Wait\n")
        #expect(outcome.code == .tryAgain)
        #expect(outcome.errors == "issuectl: some records are still pending (logzio): see the advice\n")
    }

    @Test("The uptime does not follow the wall clock")
    func uptime() {
        let running = Fixtures.status().replacing(#""received""#, with: #""uptime":125000,"received""#)
        #expect(issuectl(["status"], .reply(running)).output.contains("Up           2 min, since "))
    }

    @Test("The status shows since when a destination has been failing")
    func failingSince() {
        let failing = Fixtures.flushed(pending: 3, delivered: 5)
            .replacing(#""ledger""#, with: #""failing_since":"2026-11-21T11:59:00.000Z","ledger""#)
        let output = issuectl(["status"], .reply(Fixtures.status(failing))).output
        #expect(output.contains("Failing since  2026-11-21T11:59:00.000Z (1 min ago)"))
    }

    @Test("The time of the last dead letter is shown")
    func lastDeadLetter() {
        let rejecting = Fixtures.flushed(pending: 0, delivered: 5)
            .replacing(#""requests""#, with: #""last_dead_letter":"2026-11-21T11:59:00.000Z","requests""#)
        let output = issuectl(["status"], .reply(Fixtures.status(rejecting))).output
        #expect(
            output.contains("Dead letters  last 2026-11-21T11:59:00.000Z (1 min ago), see issuectl dead-letters\n"))
    }

    @Test("Flush exits with 1 if records became dead letters meanwhile, unless others are still pending")
    func flushToDeadLetters() {
        let rejected = Fixtures.flushed(pending: 0, delivered: 5)
            .replacing(#""dead_lettered":0"#, with: #""dead_lettered":3"#)
        let outcome = issuectl(
            ["flush"], .reply(Fixtures.status(Fixtures.flushed(pending: 3, delivered: 5))),
            .reply("{\"destinations\":[\(rejected)]}"))
        #expect(outcome.output == "logzio: 3 dead-lettered\n")
        #expect(
            outcome.errors
                == "issuectl: some records or corrections became dead letters (logzio): see issuectl dead-letters\n")
        #expect(outcome.code == .refused)
        // Those that were dead letters before do not count.
        let earlier = issuectl(
            ["flush"], .reply(Fixtures.status(rejected)), .reply("{\"destinations\":[\(rejected)]}"))
        #expect(earlier.code == .success)
        // With --json, there is no earlier status.
        func json(lastDeadLetter time: String) -> ExitCode {
            let after = rejected.replacing(#""requests""#, with: #""last_dead_letter":"\#(time)","requests""#)
            return issuectl(["flush", "--json"], .reply("{\"destinations\":[\(after)]}")).code
        }
        #expect(json(lastDeadLetter: "2026-11-21T12:00:01.000Z") == .refused)
        #expect(json(lastDeadLetter: "2026-11-21T11:59:59.000Z") == .success)
        let both = rejected.replacing(#""pending":0"#, with: #""pending":1"#)
        let unfinished = issuectl(
            ["flush"], .reply(Fixtures.status(Fixtures.flushed(pending: 4, delivered: 5))),
            .reply("{\"destinations\":[\(both)]}"))
        #expect(unfinished.code == .tryAgain && unfinished.errors.contains("became dead letters (logzio)"))
    }

    @Test("Records that arrive after the call do not change the exit code of flush")
    func laterRecords() {
        let after = Fixtures.flushed(pending: 2, delivered: 6, oldest: "2026-11-21T12:00:01.000Z")
        let json = issuectl(["flush", "--json"], .reply("{\"destinations\":[\(after)]}"))
        #expect(json.code == .success)
        #expect(json.output == "{\"destinations\":[\(after)]}\n")
        #expect(issuectl(["flush", "--ndjson"], .reply("{\"destinations\":[\(after)]}")).output == after + "\n")
    }

    @Test("Flush ignores a destination that is no longer configured, and rejects its name")
    func removedDestination() {
        let removed = Fixtures.flushed("old", pending: 2, delivered: 6)
            .replacing(#""state":"idle""#, with: #""state":"idle","reason":"no longer configured""#)
        let all = issuectl(
            ["flush"], .reply(Fixtures.status(removed)), .reply("{\"destinations\":[\(removed)]}"))
        #expect(all.code == .success && all.output == "No destination is configured.\n")
        let both = issuectl(
            ["flush"], .reply(Fixtures.status(removed, Fixtures.archive)),
            .reply("{\"destinations\":[\(removed),\(Fixtures.archive)]}"))
        #expect(both.output == "archive: nothing was pending\n")
        let named = issuectl(["flush", "old"], .reply(Fixtures.status(removed)))
        #expect(named.code == .refused && named.errors.contains("no destination 'old' is configured"))
    }

    @Test(
        "A removed destination is in the status while records or corrections wait for it, or while it has dead letters")
    func removedInStatus() {
        let done = Fixtures.flushed("old", pending: 0, delivered: 6)
            .replacing(#""state":"idle""#, with: #""state":"idle","reason":"no longer configured""#)
        let left = [
            done.replacing(#""pending":0"#, with: #""pending":1"#),
            done.replacing(#""dead_lettered":0"#, with: #""dead_lettered":1"#),
            done.replacing(#""requests""#, with: #""corrections_pending":1,"requests""#),
        ]
        for destination in left {
            let status = issuectl(["status"], .reply(Fixtures.status(destination)))
            #expect(status.output.contains("Destination old") && status.output.contains("idle: no longer configured"))
        }
        let both = issuectl(["status"], .reply(Fixtures.status(done, Fixtures.archive)))
        #expect(both.output.contains("Destination archive") && !both.output.contains("old"))
        let none = issuectl(["status"], .reply(Fixtures.status(done)))
        #expect(none.output.contains("\nNo destination configured. Issues are stored but not forwarded.\n"))
        #expect(!none.output.contains("LEDGER"))
        #expect(issuectl(["status", "--json"], .reply(Fixtures.status(done))).output.contains(#""old""#))
    }

    @Test("Flush and status show pending corrections, and flush exits with 75 if some are still pending")
    func corrections() {
        func waiting(_ count: Int) -> String {
            let none = Fixtures.flushed(pending: 0, delivered: 5, oldest: "2026-11-21T10:00:00.000Z")
            return none.replacing("\"oldest_pending\"", with: "\"corrections_pending\":\(count),\"oldest_pending\"")
        }
        let stuck = issuectl(
            ["flush"], .reply(Fixtures.status(waiting(2))), .reply("{\"destinations\":[\(waiting(2))]}"))
        #expect(stuck.output == "logzio: 2 corrections still pending (idle)\n")
        #expect(stuck.code == .tryAgain && stuck.errors.contains("some corrections are still pending (logzio)"))
        let done = Fixtures.flushed(pending: 0, delivered: 5)
        let sent = issuectl(["flush"], .reply(Fixtures.status(waiting(1))), .reply("{\"destinations\":[\(done)]}"))
        #expect(sent.output == "logzio: 1 correction sent\n" && sent.code == .success)
        let status = issuectl(["status"], .reply(Fixtures.status(waiting(2)))).output
        #expect(status.contains("Corrections") && status.contains("2 pending"))
    }

    @Test("Flush says if nothing was pending")
    func nothing() {
        let ledger = Fixtures.flushed(pending: 0, delivered: 5)
        let outcome = issuectl(["flush"], .reply(Fixtures.status(ledger)), .reply("{\"destinations\":[\(ledger)]}"))
        #expect(outcome.output == "logzio: nothing was pending\n")
        let paused = Fixtures.flushed(pending: 0, delivered: 5, advice: "Replace the token")
            .replacing(#""state":"idle""#, with: #""state":"paused","reason":"unauthorised""#)
        let stopped = issuectl(["flush"], .reply(Fixtures.status(paused)), .reply("{\"destinations\":[\(paused)]}"))
        #expect(stopped.output == "logzio: nothing was pending (paused: unauthorised)\n  Replace the token\n")
        #expect(stopped.code == .success)
        let none = issuectl(["flush"], .reply(Fixtures.status()), .reply("{\"destinations\":[]}"))
        #expect(none.output == "No destination is configured.\n")
    }
}
