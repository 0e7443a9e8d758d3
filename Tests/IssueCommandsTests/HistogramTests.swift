import IssueCommands
import Testing

@Suite("A histogram in text")
struct HistogramTests {
    private func reply(_ series: String) -> ScriptedLink.Reply {
        .reply(#"{"start":"2026-11-21T09:00:00.000Z","series":[\#(series)]}"#)
    }

    @Test("issuectl histogram --help")
    func help() {
        #expect(
            issuectl(["histogram", "--help"]).output == #"""
                Usage: issuectl histogram [OPTION...]

                Show how many records there were, and when.

                Which:
                      --app NAME          Of this application (repeatable)
                      --version VERSION   Of this version of an application (repeatable)
                      --environment NAME  From this environment (repeatable)
                  -p, --severity LEVEL    This bad or worse: debug, info, warning, error or
                                          critical
                      --domain NAME       Of this error domain (repeatable)
                      --code NUMBER       With this error code (repeatable)
                      --file FILE         From this source file (repeatable)
                      --text TEXT         With this text in it
                      --group ID          Of this group (repeatable)
                      --user UID          Reported by this user, by number (repeatable)
                  -u, --unit UNIT         Reported by this systemd unit (repeatable)
                      --state STATE       open, resolved or muted (repeatable)
                  -S, --since TIME        Not older than this
                  -U, --until TIME        Not newer than this

                How:
                      --bucket SPAN       Count by so many whole minutes, hours or days;
                                          otherwise as fits
                      --by WHAT           total, severity, app, group (default total)

                Common options:
                      --socket PATH       Where the daemon listens, instead of looking in the
                                          usual places and in ISSUED_SOCKET
                      --json              Print one JSON document
                      --ndjson            Print one JSON object a line, as it comes
                      --color WHEN        Colour the output: auto, always or never
                  -h, --help              Show this help

                Counts the last 24 hours unless --since or --until say else, by whole minutes,
                and counts what is not kept any more as well; what is older than a week, by the
                hour. Of applications and groups those with the most records have a line, the
                others share the last one, *. A SPAN is a span of time such as 30s, 5min or 2h.
                A TIME is RFC 3339, a date, 2h or 7d (ago), now, today or yesterday. Days begin
                at midnight UTC.

                Examples:
                  issuectl histogram --app shop
                  issuectl histogram --since 7d --bucket 1d --by severity

                """#)
    }

    @Test("In total it is a bar for each bucket, and the highest fills the line")
    func bars() {
        let outcome = issuectl(
            ["histogram", "--since", "3h"], width: 45, reply(#"{"key":"total","counts":[0,1,600,1200]}"#))
        #expect(
            outcome.output
                == lines(
                    """
                    FROM (UTC)        RECORDS
                    2026-11-21 09:00        0
                    2026-11-21 09:10        1  ▏
                    2026-11-21 09:20      600  █████████
                    2026-11-21 09:30    1,200  ██████████████████
                    """))
        #expect(
            outcome.calls == [
                #"Histogram {"filter":{"since":"2026-11-21T09:00:00.000Z"},"bucket":600000}"#
            ])
    }

    @Test("By something it is a line for each, which fits the terminal however many buckets there are")
    func sparklines() {
        let counts = (0..<100).map { String($0) }.joined(separator: ",")
        let outcome = issuectl(
            ["histogram", "--by", "app", "--bucket", "1d", "--since", "2026-08-13"], width: 40,
            reply(#"{"key":"shop","counts":[\#(counts)]},{"key":"*","counts":[1,0]}"#))
        #expect(outcome.output.split(separator: "\n").allSatisfy { $0.count <= 40 })
        #expect(outcome.output.contains("SINCE 2026-11-21 UTC"))
        #expect(outcome.output.contains("shop    4,950  "))
        #expect(outcome.calls.first?.hasSuffix(#""bucket":86400000,"by":"app"}"#) == true)
    }

    @Test("The bucket is as fits the time, or as it was asked for")
    func buckets() {
        for (arguments, bucket) in [
            ([], 3_600_000), (["--since", "30min"], 60_000), (["--since", "7d"], 21_600_000),
            (["--since", "2020-01-01"], 7_257_600_000), (["--bucket", "90min"], 5_400_000),
        ] {
            let outcome = issuectl(["histogram"] + arguments, reply(""))
            #expect(outcome.calls.first?.contains("\"bucket\":\(bucket)") == true, "\(arguments): \(outcome.calls)")
            #expect(outcome.output == lines("No records match."))
        }
        for wrong in ["0", "90s", "soon", "10ms"] {
            #expect(issuectl(["histogram", "--bucket", wrong]).code == .usage)
        }
        #expect(issuectl(["histogram", "--by", "fate"]).code == .usage)
    }

    @Test("For programs it is the daemon's own answer, whole or a line for each series")
    func forms() {
        let series = #"{"key":"total","counts":[1],"more":2}"#
        #expect(issuectl(["histogram", "--ndjson"], reply(series)).output == lines(series))
        #expect(issuectl(["histogram", "--json"], reply(series)).output.contains(series))
    }
}
