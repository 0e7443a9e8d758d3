import Foundation
import Testing
import UnixIO

@Suite("Help")
struct HelpTests {
    @Test("issuectl --help prints the expected text")
    func program() throws {
        let help = issuectl(["--help"]).output
        let list = listedCommands.map { command in
            "  \(command.name.padding(toLength: 12, withPad: " ", startingAt: 0))  \(command.summary)\n"
        }
        #expect(list.contains("  report        Report issues and print their ids\n"))
        #expect(list.contains("  dead-letters  List, requeue or export dead letters\n"))
        #expect(
            help == #"""
                Usage: issuectl [OPTION...] COMMAND [ARGUMENT...]

                Report issues to the issue daemon of this host, and query them.

                Commands:

                """# + list.joined() + #"""

                    Options:
                          --socket PATH   The daemon's socket (default: ISSUED_SOCKET or a standard
                                          location)
                          --timeout TIME  Maximum time to wait for the reply to a query (default
                                          30s)
                          --json          Print one JSON document
                          --ndjson        Print one JSON object per line, as results arrive
                          --color WHEN    Colour the output: auto, always or never
                      -h, --help          Show this help
                          --version       Show the version

                    Run issuectl COMMAND --help or issuectl help COMMAND for more about a command.

                    Exit status:
                      0   success
                      1   not found, or refused, or a fault was found; the manual page has the details
                      2   only for health: failing
                      64  invalid command line
                      69  the daemon is not reachable
                      75  temporary failure: try again

                    """#)
    }

    @Test("Every command is in the manual page, and its help text has the usage line, then the summary")
    func everyCommand() throws {
        let manual = try ShippedText.of("Documentation/man/issuectl.1")
        let named = Set(
            manual.replacingOccurrences(of: "\\-", with: "-").replacingOccurrences(of: "\"", with: "").split(
                separator: "\n"
            )
            .filter { $0.hasPrefix(".B ") || $0.hasPrefix(".BI ") }.compactMap {
                $0.split(separator: " ").dropFirst().first
            })
        #expect(listedCommands.count >= 15)
        for command in listedCommands {
            #expect(named.contains(Substring(command.name)), "\(command.name) is not in the manual page")
            let help = issuectl([command.name, "--help"]).output
            #expect(help.hasPrefix("Usage: issuectl \(command.name) [OPTION...]"))
            #expect(issuectl(["help", command.name]).output == help)
            let paragraph = help.split(separator: "\n\n").dropFirst().first?.replacingOccurrences(of: "\n", with: " ")
            #expect(paragraph == command.summary + ".")
        }
    }

    @Test("issuectl report --help prints the expected text")
    func report() {
        #expect(
            issuectl(["report", "--help"]).output == #"""
                Usage: issuectl report [OPTION...] [MESSAGE...]

                Report issues and print their ids.

                Record:
                  -p, --severity LEVEL       debug, info, warning, error, critical, or a
                                             priority as for logger -p
                      --domain NAME          The error domain
                      --code NUMBER          The error code
                      --app NAME             The application name
                  -t, --tag NAME             Same as --app, for compatibility with logger
                      --app-version VERSION  The application version
                      --environment NAME     The environment, such as production or staging
                  -m, --metadata KEY=VALUE   Additional data; VALUE is JSON or plain text
                                             (repeatable)
                      --fingerprint TEXT     Group the record by this text instead of the
                                             computed fingerprint
                      --file FILE            The source file
                      --line NUMBER          The line in the source file
                      --function NAME        The function in the source file
                      --not-reportable       Store and count the record, but never forward it

                Options:
                      --json-lines           Reject lines of standard input that are not JSON
                                             records (default: report them as messages)
                      --timeout TIME         Maximum time to send each batch of records, with
                                             retries (default 10s)
                      --spool                Save records that the daemon does not accept in
                                             time; the next issuectl command or reporting
                                             program that you run sends them
                      --id KEY               Identify the report, so that a retry with the same
                                             KEY stores nothing twice
                  -q, --quiet                Do not print the ids of stored records
                  -s, --stderr               Also print each message to standard error

                Common options:
                      --socket PATH          The daemon's socket (default: ISSUED_SOCKET or a
                                             standard location)
                      --json                 Print one JSON document
                      --ndjson               Print one JSON object per line, as results arrive
                      --color WHEN           Colour the output: auto, always or never
                  -h, --help                 Show this help

                Without MESSAGE, each line of standard input that is not blank is reported. If a
                line is rejected, an error message shows its number, the other lines are stored,
                and the exit status is 1.

                The id of a record is printed when the record is on disk. ISSUED_APP,
                ISSUED_VERSION and ISSUED_ENVIRONMENT are the defaults of --app, --app-version
                and --environment. Without --app and ISSUED_APP, the application name is that of
                the calling shell script, of another calling program such as python3, or of the
                service; otherwise issuectl.

                --spool saves records in issued/unsent/issuectl below XDG_STATE_HOME (default
                ~/.local/state) or, if STATE_DIRECTORY is set, in issues-unsent/issuectl below
                that. They are sent at the end of your next issuectl command that reaches the
                daemon, or by your next program that uses the client library.

                Exits with 0 if all records were stored or, with --spool, saved; with 69 if the
                daemon is not reachable; and with 75 after a timeout. After a timeout, the
                records may have been stored; the error message then says with which --id to
                retry.

                Examples:
                  issuectl report --app backup -p error "No space left on /srv"
                  issuectl report --metadata attempt=3 --metadata host=db1 Retry failed
                  issuectl report --spool --timeout 2s "The backup failed"
                  make 2>&1 | grep error: | issuectl report -t nightly-build

                """#)
    }

    @Test("issuectl list --help prints the expected text")
    func list() {
        #expect(
            issuectl(["list", "--help"]).output == #"""
                Usage: issuectl list [OPTION...]

                List issues, most recently active first.

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
                      --new-since-deploy    Only issues first seen after the last declared
                                            deployment of their application
                      --gone-since-deploy   Only issues last seen before the last declared
                                            deployment of their application and after the
                                            previous one, if any

                Output:
                      --order ORDER         newest (default), oldest, most (most frequent) or
                                            worst (highest severity) first
                  -n, --limit NUMBER        Maximum number of results (default: what fits on the
                                            screen, or 50)
                  -a, --all                 Show all results
                      --sparkline           Show the activity over time (default on terminals
                                            that are at least 120 columns wide)

                Common options:
                      --socket PATH         The daemon's socket (default: ISSUED_SOCKET or a
                                            standard location)
                      --timeout TIME        Maximum time to wait for the reply to a query
                                            (default 30s)
                      --json                Print one JSON document
                      --ndjson              Print one JSON object per line, as results arrive
                      --color WHEN          Colour the output: auto, always or never
                  -h, --help                Show this help

                COUNT is the number of occurrences. With filter options that select single
                records, such as -p or --since, it counts only these records; --text,
                --metadata, --trace, --request and --end-user select whole issues. USER is shown
                if the issues on the page belong to more than one user.

                TIME is a date, an RFC 3339 time, a time of day such as 15:30, an age such as 2h
                or "7 days ago", now, today or yesterday. Times are UTC unless they have an
                offset.

                Examples:
                  issuectl list --severity error --since 24h
                  issuectl list --app shop --order most --limit 10
                  issuectl list --app shop --new-since-deploy

                """#)
    }

    @Test("issuectl records --help prints the expected text")
    func records() {
        #expect(
            issuectl(["records", "--help"]).output == #"""
                Usage: issuectl records [OPTION...]

                List single records, newest first.

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
                      --fate FATE           Only this fate: pending, delivered, summarised,
                                            dead_lettered, withheld, expired, unconfirmed
                                            (repeatable)
                      --destination NAME    With --fate, only the fate at this destination

                Output:
                      --order ORDER         newest (default) or oldest first
                  -n, --limit NUMBER        Maximum number of results (default: what fits on the
                                            screen, or 50)
                  -a, --all                 Show all results

                Common options:
                      --socket PATH         The daemon's socket (default: ISSUED_SOCKET or a
                                            standard location)
                      --timeout TIME        Maximum time to wait for the reply to a query
                                            (default 30s)
                      --json                Print one JSON document
                      --ndjson              Print one JSON object per line, as results arrive
                      --color WHEN          Colour the output: auto, always or never
                  -h, --help                Show this help

                TIME is a date, an RFC 3339 time, a time of day such as 15:30, an age such as 2h
                or "7 days ago", now, today or yesterday. Times are UTC unless they have an
                offset.

                Examples:
                  issuectl records --group g92c9da597585468b --limit 5
                  issuectl records --fate dead_lettered --destination logzio

                """#)
    }

    @Test("issuectl show --help prints the expected text")
    func show() {
        #expect(
            issuectl(["show", "--help"]).output == #"""
                Usage: issuectl show [OPTION...] ID

                Show all details of a record, or of a group's newest record.

                Common options:
                      --socket PATH   The daemon's socket (default: ISSUED_SOCKET or a standard
                                      location)
                      --timeout TIME  Maximum time to wait for the reply to a query (default
                                      30s)
                      --json          Print one JSON document
                      --ndjson        Print one JSON object per line, as results arrive
                      --color WHEN    Colour the output: auto, always or never
                  -h, --help          Show this help

                For a group, also counts the fates of its newest stored records at each
                destination. At most 1,000 records are counted, fewer if counting takes too
                long. If records are pending at a paused destination, the reason is shown.

                Examples:
                  issuectl show g92c9da597585468b
                  issuectl show g92c9da597585468b --json

                """#)
    }

    @Test("issuectl follow --help prints the expected text")
    func follow() {
        #expect(
            issuectl(["follow", "--help"]).output == #"""
                Usage: issuectl follow [OPTION...]

                Show new records as they arrive, until interrupted.

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
                      --fate FATE           Only this fate: pending, delivered, summarised,
                                            dead_lettered, withheld, expired, unconfirmed
                                            (repeatable)
                      --destination NAME    With --fate, only the fate at this destination

                Common options:
                      --socket PATH         The daemon's socket (default: ISSUED_SOCKET or a
                                            standard location)
                      --json                Print one JSON document
                      --ndjson              Print one JSON object per line, as results arrive
                      --color WHEN          Colour the output: auto, always or never
                  -h, --help                Show this help

                Each line begins with the id of the record, which issuectl show and explain
                accept. With --since, the records since TIME are shown first. TIME is a date, an
                RFC 3339 time, a time of day such as 15:30, an age such as 2h or "7 days ago",
                now, today or yesterday. Times are UTC unless they have an offset.

                If the daemon stops, the command waits until the daemon runs again, then
                continues with the records that were not yet shown.

                With --json, too, the output is one JSON object per line, because the stream has
                no end.

                Examples:
                  issuectl follow --severity error
                  issuectl follow --ndjson --app shop

                """#)
    }

    @Test("issuectl status --help prints the expected text")
    func status() {
        #expect(
            issuectl(["status", "--help"]).output == #"""
                Usage: issuectl status [OPTION...]

                Show the state of the daemon, its store and its destinations.

                Common options:
                      --socket PATH   The daemon's socket (default: ISSUED_SOCKET or a standard
                                      location)
                      --timeout TIME  Maximum time to wait for the reply to a query (default
                                      30s)
                      --json          Print one JSON document
                      --ndjson        Print one JSON object per line, as results arrive
                      --color WHEN    Colour the output: auto, always or never
                  -h, --help          Show this help

                In the line Received, duplicates are records that had been stored before,
                rejected records were invalid or too large, and refused ones were in a report
                that was answered with an error as a whole, for example because the call was
                invalid or the disk was full.

                For each destination, the ledger counts, by fate, the records received since the
                destination was added and, with Backlog=all, those stored before. It balances if
                the fates add up to the number received.

                Held back since the last summary counts the records above a limit that no
                summary has reported yet, so the section disappears after a flood. issuectl
                limits shows what was held back in the last 24 hours.

                Destinations that are no longer configured are shown while records or
                corrections wait for them, or while they have dead letters; --json always lists
                them.

                Exits with 1 if a fault is shown.

                Examples:
                  issuectl status
                  issuectl status --json

                """#)
    }

    @Test("issuectl flush --help prints the expected text")
    func flush() {
        #expect(
            issuectl(["flush", "--help"]).output == #"""
                Usage: issuectl flush [OPTION...] [DESTINATION]

                Forward pending records now and show the result.

                Options:
                      --timeout TIME  Maximum time to wait (default 30s)

                Common options:
                      --socket PATH   The daemon's socket (default: ISSUED_SOCKET or a standard
                                      location)
                      --json          Print one JSON document
                      --ndjson        Print one JSON object per line, as results arrive
                      --color WHEN    Colour the output: auto, always or never
                  -h, --help          Show this help

                Sends pending records and corrections now instead of at the next scheduled
                attempt, and waits until none of them is pending. For each destination, the
                output shows the fates since the command began. Without DESTINATION, all
                destinations are flushed. A paused destination gets one attempt; if it fails,
                the command stops waiting for that destination. A wait that the destination has
                requested (Retry-After) is not shortened; the output shows when it ends.

                Exits with 75 if records or corrections from before the command are still
                pending. Otherwise, exits with 1 if records or corrections became dead letters
                since the command began, or if no destination is in use and the configuration
                has an error. Destinations that are no longer configured are ignored.

                Examples:
                  issuectl flush
                  issuectl flush logzio --timeout 2min

                """#)
    }

    @Test(
        "All forms of asking for help print the same text",
        arguments: [["help", "list"], ["list", "-h"], ["-h", "list"], ["list", "--all", "--help", "x"]])
    func ways(words: [String]) {
        #expect(issuectl(words).output == issuectl(["list", "--help"]).output)
    }

    @Test("issuectl help with help, --help or -h prints the help of the program", arguments: ["help", "--help", "-h"])
    func helpOfHelp(word: String) {
        #expect(issuectl(["help", word]).output == issuectl(["--help"]).output)
    }

    @Test(
        "Commands that wait as long as necessary do not accept a timeout",
        arguments: ["follow", "backup", "bundle", "repair", "purge"])
    func timeouts(command: String) {
        #expect(!issuectl([command, "--help"]).output.contains("--timeout"))
        let after = issuectl([command, "--timeout", "5s"])
        #expect(after.code == .usage && after.errors.contains("unknown option --timeout"))
        let before = issuectl(["--timeout", "5s", command])
        #expect(before.code == .usage && before.errors == after.errors && before.calls.isEmpty)
    }

    @Test("No line of help except the examples is wider than 80 columns", arguments: listedCommands.map(\.name))
    func widths(command: String) {
        for line in issuectl([command, "--help"]).output.split(separator: "\n") where !line.hasPrefix("  issuectl ") {
            #expect(line.count <= 80)
        }
    }
}
