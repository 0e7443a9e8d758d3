import Testing

@Suite("Help of resolve, mute and reopen")
struct StateHelpTests {
    @Test("issuectl resolve --help prints the expected text")
    func resolve() {
        #expect(
            issuectl(["resolve", "--help"]).output == #"""
                Usage: issuectl resolve [OPTION...] GROUP...

                Mark issues as resolved.

                Version with the fix:
                      --in VERSION           VERSION and later versions have the fix
                      --in-next              The next deployment and later ones have the fix
                      --until-newer-version  Only versions newer than all seen so far have the
                                             fix

                Note:
                      --note TEXT            A note for other users, such as the reason (at most
                                             1024 bytes)

                Common options:
                      --socket PATH          The daemon's socket (default: ISSUED_SOCKET or a
                                             standard location)
                      --timeout TIME         Maximum time to wait for the reply to a query
                                             (default 30s)
                      --json                 Print one JSON document
                      --ndjson               Print one JSON object per line, as results arrive
                      --color WHEN           Colour the output: auto, always or never
                  -h, --help                 Show this help

                The next record of a resolved issue reopens it. The regression is logged, and
                the record is forwarded ahead of any backlog. With --in, --in-next or
                --until-newer-version, records of versions without the fix do not reopen the
                issue. A version counts as later if it was deployed later (issuectl deploy) and
                does not have a lower number. If no deployment was declared, versions are
                compared by their numbers; a version that is not a number counts as later if it
                differs, unless its first report was the most recent when the issue was
                resolved. With --in, it instead counts as later if it was first reported after
                VERSION.

                If the command can't process one of several arguments, such as an id that does
                not exist, the others are still processed, and the exit status is 1.

                Examples:
                  issuectl resolve g92c9da597585468b
                  issuectl resolve g92c9da597585468b --in 2.4.0
                  issuectl resolve g92c9da597585468b --in-next

                """#)
    }

    @Test("issuectl mute --help prints the expected text")
    func mute() {
        #expect(
            issuectl(["mute", "--help"]).output == #"""
                Usage: issuectl mute [OPTION...] GROUP...

                Stop forwarding issues, but store and count them.

                Duration:
                      --for SPAN             For this time span
                  -U, --until TIME           Until this time
                      --until-count NUMBER   Until NUMBER further occurrences
                      --until-newer-version  Until a version newer than all seen so far reports
                                             the issue

                Note:
                      --note TEXT            A note for other users, such as the reason (at most
                                             1024 bytes)

                Common options:
                      --socket PATH          The daemon's socket (default: ISSUED_SOCKET or a
                                             standard location)
                      --timeout TIME         Maximum time to wait for the reply to a query
                                             (default 30s)
                      --json                 Print one JSON document
                      --ndjson               Print one JSON object per line, as results arrive
                      --color WHEN           Colour the output: auto, always or never
                  -h, --help                 Show this help

                New records of a muted issue are withheld from all destinations. They are not
                sent later, even if the issue is reopened. Unless an end is given, an issue
                stays muted until it is reopened.

                SPAN is a time span with a unit, such as 30s, 5min or 2h. TIME is a date, an RFC
                3339 time, a time of day such as 15:30, a time span such as 8h, or tomorrow.
                Times are UTC unless they have an offset.

                If the command can't process one of several arguments, such as an id that does
                not exist, the others are still processed, and the exit status is 1.

                Examples:
                  issuectl mute g92c9da597585468b --for 2h --note 'Until the vendor has answered'
                  issuectl mute g92c9da597585468b --until 2026-12-01

                """#)
    }

    @Test("issuectl reopen --help prints the expected text")
    func reopen() {
        #expect(
            issuectl(["reopen", "--help"]).output == #"""
                Usage: issuectl reopen [OPTION...] GROUP...

                Reopen resolved or muted issues.

                Note:
                      --note TEXT     A note for other users, such as the reason (at most 1024
                                      bytes)

                Common options:
                      --socket PATH   The daemon's socket (default: ISSUED_SOCKET or a standard
                                      location)
                      --timeout TIME  Maximum time to wait for the reply to a query (default
                                      30s)
                      --json          Print one JSON document
                      --ndjson        Print one JSON object per line, as results arrive
                      --color WHEN    Colour the output: auto, always or never
                  -h, --help          Show this help

                If the command can't process one of several arguments, such as an id that does
                not exist, the others are still processed, and the exit status is 1.

                Examples:
                  issuectl list --state muted
                  issuectl reopen g92c9da597585468b

                """#)
    }
}
