import IssueCommands
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("issuectl limits")
struct LimitsTests {
    private static let reply = """
        {"limits": [
            {"limit": "group_rate", "destination": "logzio", "app": "shop", "uid": 1000, "group": "g0123456789abcdef",
             "level": 0, "capacity": 5, "refill": 1, "period": 300000, "held": 21918,
             "needed": [{"capacity": 21923, "refill": 1}, {"capacity": 900, "refill": 450}]},
            {"limit": "application_rate", "destination": "logzio", "app": "shop\\u001b[31m", "uid": 1000, "level": 40,
             "capacity": 100, "refill": 60, "period": 60000, "common_level": 0, "common_capacity": 60, "held": 3,
             "needed": [{"capacity": 106, "refill": 60}]},
            {"limit": "global_rate", "destination": "logzio", "uid": 1000, "used": 12, "held": 0},
            {"limit": "daily_bytes", "destination": "logzio", "level": 524288000, "capacity": 524288000,
             "period": 86400000, "held": 0},
            {"limit": "new_groups", "capacity": 100, "period": 900000, "held": 99900, "needed": [{"capacity": 99983}]},
            {"limit": "new_groups", "uid": 1000, "capacity": 100, "period": 900000, "held": 99900},
            {"limit": "applications", "capacity": 50, "period": 86400000, "held": 0},
            {"limit": "of the future", "held": 0}
        ], "others": 7, "others_held": 12, "since": "2026-11-21T11:00:00.000Z"}
        """

    @Test("Each limit is a line with what is left, what was held back and what would have been needed")
    func table() {
        let outcome = issuectl(["limits"], .reply(Self.reply))
        #expect(outcome.calls == ["Limits {}"])
        #expect(outcome.code == .success)
        #expect(
            outcome.output == """
                LIMIT             OF                                                      LEFT  REFILL       HELD BACK  NEEDED
                group rate        logzio shop g0123456789abcdef user 1000                  0/5  1/5min          21,918  21,923, or 900 with 450/5min
                application rate  logzio shop\\x1b[31m user 1000                  40/100 (0/60)  60/min               3  106
                global rate       logzio user 1000                                     used 12  -                    0  -
                daily bytes       logzio                                   500.0 MiB/500.0 MiB  every day            0  -
                new groups        all                                              100 per app  every 15min     99,900  99,983
                new groups        user 1000                                        100 per app  every 15min     99,900  -
                applications      all                                              50 per user  every day            0  -
                of the future     all                                                        -  -                    0  -
                and 7 more
                Limits that the daemon does not return held back another 12.
                Held back since 2026-11-21T11:00:00.000Z (1 h ago).

                """)
    }

    @Test("On a narrow terminal, the columns HELD BACK and NEEDED remain")
    func narrow() {
        let outcome = issuectl(["limits"], width: 50, .reply(Self.reply))
        #expect(outcome.output.hasPrefix("LIMIT             HELD BACK  NEEDED\n"))
    }

    @Test("The first 20 limits are shown, and all with --all or as JSON")
    func bounded() {
        let limits = (1...30).map { #"{"limit": "group_rate", "held": \#($0)}"# }.joined(separator: ",")
        let reply = #"{"limits": [\#(limits)], "since": "2026-11-21T11:00:00.000Z"}"#
        let short = issuectl(["limits"], .reply(reply)).output
        #expect(short.split(separator: "\n").count == 23)
        #expect(short.contains("\nand 10 more (see --all)\n"))
        #expect(issuectl(["limits", "--all"], .reply(reply)).output.split(separator: "\n").count == 32)
        #expect(issuectl(["limits", "--ndjson"], .reply(reply)).output.split(separator: "\n").count == 30)
    }

    @Test("If there are no limits, or the daemon is too old to list them, a message is printed")
    func empty() {
        let none = issuectl(["limits"], .reply(#"{"limits": [], "since": "2026-11-21T11:00:00.000Z"}"#))
        #expect(none.output == "No limits to show.\n")
        let old = issuectl(["limits"], .failure(.refused(.methodNotFound("org.issued.Collector.Limits"))))
        #expect(old.errors.contains("the daemon does not support this: is it older than issuectl?"))
        #expect(issuectl(["limits", "everything"]).code == .usage)
    }
}
