import Testing

@Suite("Help")
struct HelpTests {
    @Test("The program says what it can do")
    func program() {
        #expect(
            issuectl(["--help"]).output == #"""
                Usage: issuectl [OPTION...] COMMAND [ARGUMENT...]

                Reports issues to the issue daemon of this host, and asks it what became of them.

                Commands:
                  report        Report issues, and print the ids under which they are stored
                  list          List issues, those with the newest activity first
                  records       List single records, the newest first
                  show          Show everything about a record, or about the newest record of a group
                  follow        Show new records as they come, until interrupted
                  histogram     Show how many records there were, and when
                  resolve       Say that an issue is mended
                  mute          Store and count an issue, and tell nobody
                  reopen        Take back that an issue is resolved or muted
                  status        Show how the daemon, its store and its destinations are
                  flush         Forward now what is waiting, and say what became of it
                  dead-letters  List what was given up, send it once more, or export it
                  backup        Copy the daemon's whole store while it runs
                  repair        Bring over what is readable from databases that were set aside
                  purge         Erase records for good, and say where some of it is left

                Options:
                      --socket PATH  Where the daemon listens, instead of looking in the usual
                                     places and in ISSUED_SOCKET
                      --json         Print one JSON document
                      --ndjson       Print one JSON object a line, as it comes
                      --color WHEN   Colour the output: auto, always or never
                  -h, --help         Show this help
                      --version      Show the version

                More about a command: issuectl COMMAND --help

                Exit codes:
                  0   done
                  1   not found, or refused; or, of status and repair, a fault is left
                  64  the command line is wrong
                  69  no daemon answers
                  75  not now: try again

                """#)
    }

    @Test("issuectl report --help")
    func report() {
        #expect(
            issuectl(["report", "--help"]).output == #"""
                Usage: issuectl report [OPTION...] [MESSAGE...]

                Report issues, and print the ids under which they are stored.

                What it is:
                  -p, --severity LEVEL       debug, info, warning, error or critical; the words
                                             of logger do too
                      --domain NAME          The error's domain
                      --code NUMBER          The error's code
                      --app NAME             The application it comes from
                  -t, --tag NAME             The same, as logger calls it
                      --app-version VERSION  The application's version
                      --environment NAME     production, staging, ...
                  -m, --metadata KEY=VALUE   More about it; the value is JSON, or else a text
                                             (repeatable)
                      --fingerprint TEXT     Put it into the group of this name
                      --file FILE            The source file it comes from
                      --line NUMBER          The line in that file
                      --function NAME        The function in that file
                      --not-reportable       Keep and count it, but never forward it

                How:
                      --json-lines           Every line of standard input is a record in JSON;
                                             without this, those with a message are
                      --timeout TIME         How long to try for each call (default 10s)
                      --spool                Keep what no daemon takes in that time, for this
                                             user's next issuectl or reporting program to send
                      --id KEY               Store nothing twice that was reported with the same
                                             KEY before
                  -q, --quiet                Do not print the ids of what was stored
                  -s, --stderr               Print each message to standard error too

                Common options:
                      --socket PATH          Where the daemon listens, instead of looking in the
                                             usual places and in ISSUED_SOCKET
                      --json                 Print one JSON document
                      --ndjson               Print one JSON object a line, as it comes
                      --color WHEN           Colour the output: auto, always or never
                  -h, --help                 Show this help

                Without a MESSAGE, each line of standard input is one. A line that can't be
                taken is named by its number; the others are taken, and the exit code is 1.

                An id is printed once the record is on disk. ISSUED_APP, ISSUED_VERSION and
                ISSUED_ENVIRONMENT stand in for options that are not given. An application
                without a name gets that of the calling script or service.

                Exits with 0 when all is stored or, with --spool, kept; with 69 when no daemon
                answers; with 75 when the time is over: it may be stored nevertheless, so try
                again with the --id that is named.

                Examples:
                  issuectl report --app backup -p error "No space left on /srv"
                  issuectl report --metadata attempt=3 --metadata host=db1 Retry failed
                  issuectl report --spool --timeout 2s "The backup failed"
                  make 2>&1 | grep error: | issuectl report -t nightly-build

                """#)
    }

    @Test("issuectl list --help")
    func list() {
        #expect(
            issuectl(["list", "--help"]).output == #"""
                Usage: issuectl list [OPTION...]

                List issues, those with the newest activity first.

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
                      --order ORDER       newest (the default), oldest, most (the most frequent)
                                          or worst first
                  -n, --limit NUMBER      At most so many; the default is what fits on the
                                          screen, or 50
                  -a, --all               All there are
                      --sparkline         Show how the counts developed; on a terminal of 120
                                          columns that is the default

                Common options:
                      --socket PATH       Where the daemon listens, instead of looking in the
                                          usual places and in ISSUED_SOCKET
                      --json              Print one JSON document
                      --ndjson            Print one JSON object a line, as it comes
                      --color WHEN        Colour the output: auto, always or never
                  -h, --help              Show this help

                A TIME is RFC 3339, a date, 2h or 7d (ago), now, today or yesterday. Days begin
                at midnight UTC.

                Examples:
                  issuectl list --severity error --since 24h
                  issuectl list --app shop --order most --limit 10

                """#)
    }

    @Test("issuectl records --help")
    func records() {
        #expect(
            issuectl(["records", "--help"]).output == #"""
                Usage: issuectl records [OPTION...]

                List single records, the newest first.

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
                      --fate FATE         With this fate: pending, delivered, summarised,
                                          dead_lettered, withheld, expired, unconfirmed
                                          (repeatable)
                      --destination NAME  The destination whose fates count

                How:
                      --order ORDER       newest (the default) or oldest first
                  -n, --limit NUMBER      At most so many; the default is what fits on the
                                          screen, or 50
                  -a, --all               All there are

                Common options:
                      --socket PATH       Where the daemon listens, instead of looking in the
                                          usual places and in ISSUED_SOCKET
                      --json              Print one JSON document
                      --ndjson            Print one JSON object a line, as it comes
                      --color WHEN        Colour the output: auto, always or never
                  -h, --help              Show this help

                A TIME is RFC 3339, a date, 2h or 7d (ago), now, today or yesterday. Days begin
                at midnight UTC.

                Examples:
                  issuectl records --group g92c9da597585468b --limit 5
                  issuectl records --fate dead_lettered --destination logzio

                """#)
    }

    @Test("issuectl show --help")
    func show() {
        #expect(
            issuectl(["show", "--help"]).output == #"""
                Usage: issuectl show [OPTION...] ID

                Show everything about a record, or about the newest record of a group.

                Common options:
                      --socket PATH  Where the daemon listens, instead of looking in the usual
                                     places and in ISSUED_SOCKET
                      --json         Print one JSON document
                      --ndjson       Print one JSON object a line, as it comes
                      --color WHEN   Colour the output: auto, always or never
                  -h, --help         Show this help

                Examples:
                  issuectl show g92c9da597585468b
                  issuectl show g92c9da597585468b --json

                """#)
    }

    @Test("issuectl follow --help")
    func follow() {
        #expect(
            issuectl(["follow", "--help"]).output == #"""
                Usage: issuectl follow [OPTION...]

                Show new records as they come, until interrupted.

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
                      --fate FATE         With this fate: pending, delivered, summarised,
                                          dead_lettered, withheld, expired, unconfirmed
                                          (repeatable)
                      --destination NAME  The destination whose fates count

                Common options:
                      --socket PATH       Where the daemon listens, instead of looking in the
                                          usual places and in ISSUED_SOCKET
                      --json              Print one JSON document
                      --ndjson            Print one JSON object a line, as it comes
                      --color WHEN        Colour the output: auto, always or never
                  -h, --help              Show this help

                With --since, records from then on come first. A TIME is RFC 3339, a date, 2h or
                7d (ago), now, today or yesterday. Days begin at midnight UTC.

                Examples:
                  issuectl follow --severity error
                  issuectl follow --ndjson --app shop

                """#)
    }

    @Test("issuectl status --help")
    func status() {
        #expect(
            issuectl(["status", "--help"]).output == #"""
                Usage: issuectl status [OPTION...]

                Show how the daemon, its store and its destinations are.

                Common options:
                      --socket PATH  Where the daemon listens, instead of looking in the usual
                                     places and in ISSUED_SOCKET
                      --json         Print one JSON document
                      --ndjson       Print one JSON object a line, as it comes
                      --color WHEN   Colour the output: auto, always or never
                  -h, --help         Show this help

                The ledger counts records since each destination exists. It balances: what was
                received is the sum of all fates. Exits with 1 where the store has a fault.

                Examples:
                  issuectl status
                  issuectl status --json

                """#)
    }

    @Test("issuectl flush --help")
    func flush() {
        #expect(
            issuectl(["flush", "--help"]).output == #"""
                Usage: issuectl flush [OPTION...] [DESTINATION]

                Forward now what is waiting, and say what became of it.

                How:
                      --timeout TIME  How long to wait for all to have a fate (default 30s)

                Common options:
                      --socket PATH   Where the daemon listens, instead of looking in the usual
                                      places and in ISSUED_SOCKET
                      --json          Print one JSON document
                      --ndjson        Print one JSON object a line, as it comes
                      --color WHEN    Colour the output: auto, always or never
                  -h, --help          Show this help

                Exits with 75 when the time is over before all that was waiting has a fate.

                Examples:
                  issuectl flush
                  issuectl flush logzio --timeout 2min

                """#)
    }

    @Test(
        "Help is shown wherever it is asked for",
        arguments: [["help", "list"], ["list", "-h"], ["-h", "list"], ["list", "--all", "--help", "x"]])
    func ways(words: [String]) {
        #expect(issuectl(words).output == issuectl(["list", "--help"]).output)
    }

    @Test(
        "No line of help is wider than a terminal",
        arguments: ["report", "list", "records", "show", "follow", "status", "flush"])
    func widths(command: String) {
        for line in issuectl([command, "--help"]).output.split(separator: "\n") where !line.hasPrefix("  issuectl ") {
            #expect(line.count <= 80)
        }
    }
}
