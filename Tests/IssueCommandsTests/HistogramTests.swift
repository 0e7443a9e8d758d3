import IssueCommands
import Issues
import Testing
import UnixIO

@Suite("issuectl histogram")
struct HistogramTests {
    private func reply(_ series: String) -> ScriptedLink.Reply {
        .reply(#"{"start":"2026-11-21T09:00:00.000Z","series":[\#(series)]}"#)
    }

    @Test("issuectl histogram --help prints the expected text")
    func help() {
        #expect(
            issuectl(["histogram", "--help"]).output == #"""
                Usage: issuectl histogram [OPTION...]

                Show record counts over time.

                Filter:
                      --app NAME            Only this application (repeatable)
                      --version VERSION     Only this application version (repeatable)
                      --environment NAME    Only this environment (repeatable)
                  -p, --severity LEVEL      Only LEVEL and above: debug, info, warning, error or
                                            critical
                      --domain NAME         Only this error domain (repeatable)
                      --code NUMBER         Only this error code (repeatable)
                      --file FILE           Only this source file (repeatable)
                      --text TEXT           Only with all words and "quoted phrases" of TEXT
                      --metadata KEY=VALUE  Only this metadata; nested keys as a.b (repeatable)
                      --group ID            Only this group (repeatable)
                      --user USER           Only this user, by id or name (repeatable)
                  -u, --unit UNIT           Only this systemd unit (repeatable)
                      --trace TRACE         Only this trace id (repeatable)
                      --request REQUEST     Only this request id (repeatable)
                      --end-user USER       Only this user of the application (repeatable)
                      --state STATE         Only this state: open, resolved or muted
                                            (repeatable)
                  -S, --since TIME          Not older than TIME
                  -U, --until TIME          Not newer than TIME

                Output:
                      --bucket SPAN         Bucket size in whole minutes, such as 5min, 1h or 1d
                                            (default: depends on the time range)
                      --by WHAT             Show one total (default), or counts by severity, app
                                            or group

                Common options:
                      --socket PATH         The daemon's socket (default: ISSUED_SOCKET or a
                                            standard location)
                      --timeout TIME        Maximum time to wait for the reply to a query
                                            (default 30s)
                      --json                Print one JSON document
                      --ndjson              Print one JSON object per line, as results arrive
                      --color WHEN          Colour the output: auto, always or never
                  -h, --help                Show this help

                Counts the records of the last 24 hours, or of the time between --since and
                --until. Records that retention has removed are included. Counts older than a
                week may be kept per hour. --text, --metadata, --trace, --request and --end-user
                select whole issues, not single records.

                With --by app or group, the line * counts the records of all applications or
                issues that are not among the 20 largest. With --by severity, app or group, the
                line (deploys) counts deployments.

                With --ndjson, the first line has everything but the counts: the start, the
                bucket size in milliseconds, and the deployments. Each further line has the
                counts of one severity, application or group.

                TIME is a date, an RFC 3339 time, a time of day such as 15:30, an age such as 2h
                or "7 days ago", now, today or yesterday. Times are UTC unless they have an
                offset.

                Examples:
                  issuectl histogram --app shop
                  issuectl histogram --since 7d --bucket 1d --by severity

                """#)
    }

    @Test("A deployment is a line below the bucket in which it took place, or a mark above the sparklines")
    func deployments() {
        func reply(_ series: String) -> ScriptedLink.Reply {
            let deploys = [("2.4.0", "09:14:59"), ("2.4.1", "09:30:00")].map { version, time in
                #"{"app":"shop","version":"\#(version)","at":"2026-11-21T\#(time).000Z","observed":false}"#
            }.joined(separator: ",")
            return .reply(#"{"start":"2026-11-21T09:00:00.000Z","series":[\#(series)],"deploys":[\#(deploys)]}"#)
        }
        let total = issuectl(
            ["histogram", "--since", "3h"], width: 45, reply(#"{"key":"total","counts":[0,1,600,1200]}"#))
        #expect(
            total.output
                == lines(
                    """
                    FROM (UTC)        RECORDS
                    2026-11-21 09:00        0
                    2026-11-21 09:10        1  ▏
                    2026-11-21 09:14           ▲ shop 2.4.0 depl…
                    2026-11-21 09:20      600  █████████
                    2026-11-21 09:30    1,200  ██████████████████
                    2026-11-21 09:30           ▲ shop 2.4.1 depl…
                    """))
        let byApp = issuectl(
            ["histogram", "--since", "3h", "--by", "app"], width: 60, reply(#"{"key":"shop","counts":[0,1,600,1200]}"#))
        #expect(
            byApp.output
                == lines(
                    """
                    APP        RECORDS  SINCE 2026-11-21 09:00 UTC
                    (deploys)        2   ▲ ▲
                    shop         1,801  ·▁▄█
                    """))
    }

    @Test("The total has a bar for each bucket, and the highest bar fills the width")
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

    @Test("A breakdown has a line for each series, and the lines fit the terminal even if there are many buckets")
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

    @Test(
        "Groups have their titles next to their counts if the terminal is wide enough and the daemon returns the titles"
    )
    func titles() {
        func histogram(width: Int, _ groups: ScriptedLink.Reply) -> Outcome {
            let series = [("gfc5623b9253487c1", "0,1,600,1200"), ("gc989b22c95cd7221", "1,0,0,0"), ("*", "3,0,0,0")]
                .map { #"{"key":"\#($0)","counts":[\#($1)]}"# }.joined(separator: ",")
            return issuectl(["histogram", "--since", "3h", "--by", "group"], width: width, reply(series), groups)
        }
        let known = Fixtures.decodingGroup.replacing(#""g7""#, with: #""gfc5623b9253487c1""#)
        let wide = histogram(width: 90, .reply(Fixtures.groups(known)))
        #expect(
            wide.output
                == lines(
                    """
                    GROUP              RECORDS  SINCE 2026-11-21 09:00 UTC  TITLE
                    gfc5623b9253487c1    1,801  ·▁▄█                        Decoding failed: keyNotFound(pric…
                    gc989b22c95cd7221        1  █···
                    *                        3  █···
                    """))
        #expect(
            wide.calls.last == #"List {"filter":{"groups":["gfc5623b9253487c1","gc989b22c95cd7221"]},"limit":2}"#)
        let narrow = histogram(width: 70, .reply(Fixtures.groups(known)))
        let untitled = histogram(width: 90, .failure(.timedOut))
        for outcome in [narrow, untitled] {
            #expect(outcome.code == .success && outcome.errors.isEmpty)
            #expect(outcome.output.contains("gfc5623b9253487c1    1,801  ·▁▄█\n"))
        }
    }

    @Test("Unless a bucket size is given, it depends on the time range")
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

    @Test("JSON is the daemon's reply as a whole; NDJSON has a line without the series, then a line for each series")
    func forms() {
        let series = #"{"key":"total","counts":[1],"more":2}"#
        #expect(
            issuectl(["histogram", "--ndjson"], reply(series)).output
                == lines("{\"start\":\"2026-11-21T09:00:00.000Z\"}\n" + series))
        #expect(issuectl(["histogram", "--json"], reply(series)).output.contains(series))
    }
}
