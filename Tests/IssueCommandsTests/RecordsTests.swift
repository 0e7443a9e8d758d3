import IssueCommands
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("issuectl records, show and follow")
struct RecordsTests {
    @Test("Records are printed as a table")
    func table() {
        let outcome = issuectl(
            ["records", "--fate", "delivered", "--destination", "logzio"], width: 80,
            .reply(Fixtures.records(Fixtures.decodingRecord, Fixtures.diskRecord)))
        #expect(
            outcome.output == #"""
                ID   RECEIVED   SEVERITY  COUNT  APP   MESSAGE
                r42  3 min ago  error         3  shop  Decoding failed: keyNotFound(price)
                r43  1 s ago    critical      1  -     \x1b[31mNo space\nleft

                """#)
        #expect(outcome.calls == [#"Records {"filter":{"fates":["delivered"],"destination":"logzio"},"limit":50}"#])
    }

    @Test(
        "A list says how many records of damaged blocks it leaves out, and show says that such a record is damaged")
    func damaged() {
        let page = #"{"records":[\#(Fixtures.diskRecord)],"unreadable":256}"#
        let list = issuectl(["records"], .reply(page))
        #expect(list.code == .success)
        #expect(list.errors.contains("256 records left out because their blocks are damaged: see issuectl doctor"))
        #expect(issuectl(["records", "--json"], .reply(page)).output.hasSuffix(#"],"unreadable":256}"# + "\n"))
        let shown = issuectl(["show", "r42"], .failure(.refused(.unreadable(id: "r42"))))
        #expect(shown.code == .refused)
        #expect(shown.errors.contains("the record 'r42' is in a damaged block"))
    }

    @Test("Records as JSON are printed as the daemon sent them")
    func json() {
        let page = Fixtures.records(Fixtures.decodingRecord, Fixtures.diskRecord)
        #expect(issuectl(["records", "--json"], .reply(page)).output == page + "\n")
        #expect(
            issuectl(["records", "--ndjson"], .reply(page)).output
                == "\(Fixtures.decodingRecord)\n\(Fixtures.diskRecord)\n")
    }

    @Test("A record is shown with all details")
    func show() {
        let outcome = issuectl(["show", "r42"], width: 80, .reply(Fixtures.shown))
        #expect(
            outcome.output == #"""
                Decoding failed: keyNotFound(price)
                error in shop 2.0.0 (2500), production, linux, wifi

                  Record      r42
                  Occurred    2026-11-21T11:57:00.000Z (3 min ago)
                  Received    2026-11-21T11:57:00.004Z (3 min ago)
                  Count       3 since 2026-11-21T11:50:00.000Z (10 min ago)
                  Source      Shop/Catalogue.swift:42:9, load(page:) (module Shop)
                  Domain      com.example.shop.DecodingError
                  Code        4865
                  Sender      shop, pid 4711, uid 1000, gid 1000
                  Executable  /usr/bin/shop
                  Unit        shop.service
                  Notes       the fraction of code was cut

                Group g7
                  Title       Decoding failed: keyNotFound(price)
                  State       open
                  Counted     1,234 times in 8 records
                  First seen  2026-11-18T12:00:00.000Z (3 days ago)
                  Last seen   2026-11-21T11:57:00.000Z (3 min ago)
                  Versions    first 1.9.0, last 2.0.0

                Metadata
                  {
                    "attempt": 3,
                    "payload": {
                      "price": null,
                      "tags": ["a","b"]
                    },
                    "ratio": 0.10,
                    "empty": {}
                  }

                Causes
                  1. NSCocoaErrorDomain 4865: The data is missing.
                  2. No key

                Backtrace
                  0  shop       + 0x12345 [ab12]
                  1  libc.so.6  abort + 0x10 at abort.c:79

                Fates
                  DESTINATION  FATE           ATTEMPTS  AT         ANSWER
                  logzio       delivered             2  2 min ago  200 OK (perhaps received twice)
                  archive      dead-lettered         5  -          -

                """#)
        #expect(outcome.calls == [#"Show {"id":"r42","count_fates":true}"#])
        #expect(issuectl(["show", "r42", "--json"], .reply(Fixtures.shown)).output == Fixtures.shown + "\n")
    }

    @Test("For a group, the fates of its newest records are counted, and a pause is shown next to pending records")
    func groupFates() {
        func reply(_ received: Int, pending: Int) -> ScriptedLink.Reply {
            let counts = """
                {"received":\(received),"pending":\(pending),"delivered":\(max(received - 2 - pending, 0)),"summarised":2,\
                "dead_lettered":0,"withheld":0,"expired":0,"unconfirmed":0}
                """
            return .reply(
                Fixtures.shown.dropLast() + #","group_fates":[{"destination":"logzio","counts":\#(counts)}]}"#)
        }
        let delivered = issuectl(["show", "g7"], width: 80, reply(8, pending: 0))
        #expect(
            delivered.output.contains(
                """

                Fates of 8 records
                  logzio  6 delivered, 2 summarised, 0 pending

                Fates of the record above
                  DESTINATION  FATE
                """))
        #expect(delivered.calls == [#"Show {"id":"g7","count_fates":true}"#])
        #expect(issuectl(["show", "g7"], reply(1, pending: 0)).output.contains("\nFates of the newest record\n"))
        let paused = issuectl(
            ["show", "g7"], width: 80, reply(5, pending: 2), .reply(Fixtures.status(Fixtures.logzio)))
        #expect(
            paused.output.contains(
                """

                Fates of the newest 5 records
                  logzio  1 delivered, 2 summarised, 2 pending (paused: the token was refused (401))

                """))
        #expect(paused.calls.last == "Status {}")
        let unknown = issuectl(["show", "g7"], width: 80, reply(5, pending: 2), .failure(.timedOut))
        #expect(unknown.code == .success && unknown.output.contains("2 summarised, 2 pending\n"))
        let record = Fixtures.shown.replacing(#""fate":"delivered""#, with: #""fate":"pending""#)
        let shown = issuectl(["show", "r42"], width: 80, .reply(record), .reply(Fixtures.status(Fixtures.logzio)))
        #expect(shown.output.contains("  logzio       pending (paused: the token was refused (401))  "))
    }

    @Test("The ids of trace, span, request and user are shown, and their control characters are escaped")
    func context() {
        let record = Fixtures.diskRecord.replacing(
            #""reportable":true"#,
            with:
                #""trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7","request_id":"\u001b[2J","#
                + #""user":"anna""#)
        let reply = #"{"record":\#(record),"group":\#(Fixtures.diskGroup),"fates":[]}"#
        let output = issuectl(["show", "r43"], width: 80, .reply(reply)).output
        #expect(
            output.contains(
                #"""
                  Trace     4bf92f3577b34da6a3ce929d0e0e4736
                  Span      00f067aa0ba902b7
                  Request   \x1b[2J
                  User      anna
                  Sender    pid 1, uid 0, gid 0

                """#))
    }

    @Test("The name of a user is shown after the id")
    func userNames() {
        var tools = HostTools.withoutRelativePaths
        tools.userName = { $0 == 1000 ? "anna" : nil }
        let shown = issuectl(["show", "r42"], width: 80, tools: tools, .reply(Fixtures.shown)).output
        #expect(shown.contains("  Sender      shop, pid 4711, uid 1000 (anna), gid 1000\n"))
        let correction = """
            {"id":7,"kind":"merge","group":"g1","other":"g2","app":"shop","uid":1000,"author":1000,\
            "at":"2026-11-21T11:00:00.000Z","hits":0}
            """
        let rules = issuectl(["group", "rule"], tools: tools, .reply(#"{"corrections":[\#(correction)]}"#)).output
        #expect(rules.hasPrefix("7  merged g2 into g1 in shop, by user 1000 (anna) 1 h ago"))
    }

    @Test("Lists show the names of users, and JSON only their ids")
    func userNamesInLists() {
        let names: [UInt32: String] = [0: "root", 1000: "anna"]
        var tools = HostTools.withoutRelativePaths
        tools.userName = { names[$0] }
        let changed = #""regressed":false,"changed":{"uid":1000,"at":"2026-11-21T10:00:00.000Z"}"#
        let group = Fixtures.diskGroup.replacing(#""regressed":false"#, with: changed)
        let list = issuectl(["list", "--state", "muted"], tools: tools, .reply(Fixtures.groups(group))).output
        #expect(list.contains("  user 1000 (anna)  "), "\(list)")
        let deployment =
            #"{"app":"shop","uid":1000,"version":"2","at":"2026-11-21T11:00:00.000Z","observed":false,"by":0}"#
        let deployments = #"{"deployments":[\#(deployment)]}"#
        let deploys = issuectl(["deploys"], tools: tools, .reply(deployments)).output
        #expect(deploys.contains("  1000 (anna)  user 0 (root)  "), "\(deploys)")
        #expect(issuectl(["deploys", "--ndjson"], tools: tools, .reply(deployments)).output == lines(deployment))
        let limit = #"{"limits":[{"limit":"senders","uid":1000,"held":0}],"since":"2026-11-21T11:00:00.000Z"}"#
        let limits = issuectl(["limits"], tools: tools, .reply(limit)).output
        #expect(limits.contains("\nsenders  user 1000 (anna)  "), "\(limits)")
        let rules = """
            {"records":1,"bytes":1,"max_bytes":1,"keep_free":1,"rules":[
                {"rule":"max_age","app":"shop","uid":0,"age":604800000},{"rule":"max_size","uid":1000}]}
            """
        let retention = issuectl(["retention"], tools: tools, .reply(rules)).output
        #expect(retention.contains("\nMaxAge=7d of shop, user 0 (root)  "), "\(retention)")
        #expect(retention.hasSuffix("  the frequent issues of user 1000 (anna)\n"), "\(retention)")
        let follow = issuectl(["follow"], tools: tools, .parts([Fixtures.records(Fixtures.diskRecord)], nil)).output
        #expect(follow.contains(" uid 0 (root): "), "\(follow)")
    }

    @Test("A trace id that does not have 32 hexadecimal digits is a usage error")
    func traceForm() {
        let outcome = issuectl(["records", "--trace", "4bf92f35"])
        #expect(outcome.code == .usage)
        #expect(outcome.errors.contains("invalid value '4bf92f35' for --trace; expected 32 hexadecimal digits"))
        #expect(outcome.calls.isEmpty)
    }

    @Test("Further lines of a message are indented, so that they do not look like fields of the record")
    func forgedFacts() {
        let record = Fixtures.diskRecord.replacing(
            #""message":""#, with: #""message":"Disk\nGroup g0\n  Sender  sshd, pid 1, uid 0, gid 0\n"#)
        let reply = #"{"record":\#(record),"group":\#(Fixtures.diskGroup),"fates":[]}"#
        let output = issuectl(["show", "r43"], width: 80, .reply(reply)).output
        #expect(output.hasPrefix("Disk\n    Group g0\n      Sender  sshd, pid 1, uid 0, gid 0\n    "))
    }

    @Test("A group whose records have been removed is still shown")
    func groupAlone() {
        let reply = "{\"group\":\(Fixtures.hostileGroup),\"fates\":[]}"
        let outcome = issuectl(["show", "g13"], width: 80, .reply(reply))
        #expect(
            outcome.output == #"""
                \x1b]0;owned\x07\x1b[2J
                    line two\x9b31m\u{202e}gnp.exe\x7f
                info in e\tvil

                  All records of the group have been removed, or its newest record cannot be read.

                Group g13
                  Title       \x1b]0;owned\x07\x1b[2J\nline two\x9b31m\u{202e}gnp.exe\x7f
                  State       open
                  Counted     1 time in 1 record
                  First seen  2026-11-21T11:00:00.000Z (1 h ago)
                  Last seen   2026-11-21T11:00:00.000Z (1 h ago)

                """#)
    }

    @Test("The digits of counts are grouped by thousands")
    func largeCounts() {
        let record = Fixtures.diskRecord.replacing(#""count":1,"#, with: #""count":49200,"#)
        #expect(issuectl(["records"], .reply(Fixtures.records(record))).output.contains(" 49,200  "))
        #expect(
            issuectl(["follow"], .parts([Fixtures.records(record)], nil)).output.contains("(49,200 times) "))
    }

    @Test("follow requests only new records and prints one line for each, with its id")
    func follow() {
        let outcome = issuectl(
            ["follow", "--app", "shop"], width: 70,
            .parts(
                [Fixtures.records(), Fixtures.records(Fixtures.decodingRecord), Fixtures.records(Fixtures.diskRecord)],
                nil))
        #expect(
            outcome.output == #"""
                r42 2026-11-21 11:57:00Z error    shop: (3 times) Decoding failed: ke…
                r43 2026-11-21 11:59:59Z critical uid 0: \x1b[31mNo space\nleft

                """#)
        #expect(
            outcome.calls.first
                == #"Records {"filter":{"apps":["shop"],"since":"2026-11-21T12:00:00.000Z"},"order":"oldest","follow":true}"#
        )
    }

    @Test("follow continues after the daemon was restarted, without repeating a record")
    func followAgain() throws {
        let outcome = issuectl(
            ["follow", "--json"],
            .parts([Fixtures.records(Fixtures.decodingRecord)], nil), .failure(.closed),
            .parts([Fixtures.records(Fixtures.decodingRecord, Fixtures.diskRecord)], .closed),
            .failure(.refused(.denied)))
        #expect(outcome.output == "\(Fixtures.decodingRecord)\n\(Fixtures.diskRecord)\n")
        #expect(
            outcome.errors == """
                issuectl: the daemon ended the stream; waiting until it runs again
                issuectl: connected again
                issuectl: the daemon ended the stream; waiting until it runs again
                issuectl: connected again
                issuectl: the daemon ended the stream; waiting until it runs again
                issuectl: connected again
                issuectl: permission denied: only root, the daemon's user and the groups in Operators= (issued.conf) may do this

                """)
        #expect(outcome.code == .refused)
        // The stream resumes ten seconds before the last record, but not before the start of the command.
        #expect(outcome.calls.count == 4)
        #expect(outcome.calls.last?.contains(#""since":"2026-11-21T12:00:00.000Z""#) == true)
    }

    @Test("follow resumes ten seconds before the newest record, and skips the records that it has shown")
    func followSince() {
        var progress = FollowProgress(IssueFilter())
        func record(_ id: String, _ seconds: Int) -> StoredRecord {
            var record = StoredRecord.initial
            record.id = id
            record.receivedAt = IssueTimestamp(millisecondsSince1970: Int64(seconds) * 1000)
            return record
        }
        let areNew = [("a", 100), ("b", 101), ("a", 100)].map { progress.isNew(record($0, $1)) }
        #expect(areNew == [true, true, false])
        #expect(progress.filter.since == IssueTimestamp(millisecondsSince1970: 91_000))
    }

    @Test("follow remembers only the newest records, and a limited number of them")
    func followMany() {
        var progress = FollowProgress(IssueFilter())
        var stored = StoredRecord.initial
        func isNew(_ number: Int) -> Bool {
            stored.id = "\(number)"
            stored.receivedAt = IssueTimestamp(millisecondsSince1970: Int64(number / 20))
            return progress.isNew(stored)
        }
        var most = 0
        for number in 0..<150_000 {
            _ = isNew(number)
            most = max(most, progress.rememberedCount)
        }
        #expect(most > FollowProgress.maxRemembered / 2 && most <= FollowProgress.maxRemembered)
        #expect(!isNew(149_999) && !isNew(110_000))
    }

    @Test("No line of follow is wider than the terminal", arguments: Array(1...90))
    func followWidths(width: Int) {
        let outcome = issuectl(["follow"], width: width, .parts([Fixtures.records(Fixtures.decodingRecord)], nil))
        for line in outcome.output.split(separator: "\n") { #expect(DisplayWidth.of(line) <= width) }
    }

    @Test("follow ends without an error if the reader of the output has gone")
    func followNobody() {
        let outcome = issuectl(
            ["follow", "--json"], writes: 1,
            .parts([Fixtures.records(Fixtures.diskRecord, Fixtures.decodingRecord), Fixtures.records()], .closed))
        #expect(outcome.output == Fixtures.diskRecord + "\n")
        #expect(outcome.errors == "")
        #expect(outcome.code == .success)
    }
}
