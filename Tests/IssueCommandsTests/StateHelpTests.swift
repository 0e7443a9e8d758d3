import Testing

@Suite("Help for what is said of issues")
struct StateHelpTests {
    @Test("issuectl resolve --help")
    func resolve() {
        #expect(
            issuectl(["resolve", "--help"]).output == #"""
                Usage: issuectl resolve [OPTION...] GROUP

                Say that an issue is mended.

                How long:
                      --until-newer-version  Until a version of the application shows it that is
                                             newer than all so far

                Common options:
                      --socket PATH          Where the daemon listens, instead of looking in the
                                             usual places and in ISSUED_SOCKET
                      --json                 Print one JSON document
                      --ndjson               Print one JSON object a line, as it comes
                      --color WHEN           Colour the output: auto, always or never
                  -h, --help                 Show this help

                The next record of it opens the issue again, which the journal tells, and goes
                before any backlog. With --until-newer-version, records of the versions that are
                out there do not.

                Examples:
                  issuectl resolve g92c9da597585468b
                  issuectl resolve g92c9da597585468b --until-newer-version

                """#)
    }

    @Test("issuectl mute --help")
    func mute() {
        #expect(
            issuectl(["mute", "--help"]).output == #"""
                Usage: issuectl mute [OPTION...] GROUP

                Store and count an issue, and tell nobody.

                How long:
                      --for SPAN             For so long
                  -U, --until TIME           Until then
                      --until-newer-version  Until a version of the application shows it that is
                                             newer than all so far

                Common options:
                      --socket PATH          Where the daemon listens, instead of looking in the
                                             usual places and in ISSUED_SOCKET
                      --json                 Print one JSON document
                      --ndjson               Print one JSON object a line, as it comes
                      --color WHEN           Colour the output: auto, always or never
                  -h, --help                 Show this help

                What comes in of it is withheld from all destinations, also when it is reopened.
                Without an option it is muted until it is reopened. A SPAN is a span of time
                such as 30s, 5min or 2h, a TIME is RFC 3339 or a date. Days begin at midnight
                UTC.

                Examples:
                  issuectl mute g92c9da597585468b --for 2h
                  issuectl mute g92c9da597585468b --until 2026-12-01

                """#)
    }

    @Test("issuectl reopen --help")
    func reopen() {
        #expect(
            issuectl(["reopen", "--help"]).output == #"""
                Usage: issuectl reopen [OPTION...] GROUP

                Take back that an issue is resolved or muted.

                Common options:
                      --socket PATH  Where the daemon listens, instead of looking in the usual
                                     places and in ISSUED_SOCKET
                      --json         Print one JSON document
                      --ndjson       Print one JSON object a line, as it comes
                      --color WHEN   Colour the output: auto, always or never
                  -h, --help         Show this help

                Examples:
                  issuectl list --state muted
                  issuectl reopen g92c9da597585468b

                """#)
    }
}
