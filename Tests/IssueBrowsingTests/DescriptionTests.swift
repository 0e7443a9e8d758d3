import IssueBrowsing
import IssueProtocol
import Issues
import Testing

@Suite("Descriptions of what the daemon returns")
struct DescriptionTests {
    @Test("A record is described by id, level, application, message, count, location and time")
    func record() throws {
        #expect(
            "\(try StoredRecord(json: Array(Replies.record.utf8)))"
                == "r42 error in shop 2.0.0: Decoding failed: keyNotFound(price) "
                + "(3 times, Shop/Catalogue.swift:42, 2026-11-21T11:57:00.000Z)")
    }

    @Test("Text of senders is shown on one line and contains no terminal sequences")
    func hostile() throws {
        #expect(
            "\(try StoredRecord(json: Array(Replies.plainRecord.utf8)))"
                == #"r43 critical: \x1b[31mNo space\nleft (2026-11-21T11:59:59.000Z)"#)
    }

    @Test("A group is described in one line, with a mark if it is muted, resolved or regressed")
    func groups() throws {
        func text(_ json: String) throws -> String {
            "\(try IssueGroup(json: Array(json.utf8)))"
        }
        #expect(
            try text(Replies.group)
                == "g7 error in shop: Decoding failed: keyNotFound(price) (1234 times, last 2026-11-21T11:57:00.000Z)")
        let end = "No space left (once, last 2026-11-20T11:00:00.000Z)"
        #expect(try text(Replies.group(title: "No space left", state: "muted")) == "g9 critical: [muted] \(end)")
        #expect(try text(Replies.group(title: "No space left", state: "resolved")) == "g9 critical: [resolved] \(end)")
        #expect(
            try text(Replies.group(title: "No space left", state: "open", regressed: true))
                == "g9 critical: [regressed] \(end)")
    }

    @Test("A frame is described in one line, with the build ID if it has no symbol")
    func frames() throws {
        let record = try StoredRecord(json: Array(Replies.record.utf8))
        #expect(
            record.backtrace.map { "\($0)" } == [
                "shop + 0x12345 [ab12]", "libc.so.6 abort + 0xffffffffffffffff at abort.c:79", "?",
            ])
    }

    @Test("Details are described by one line each for the record, the group and each destination")
    func details() throws {
        #expect(
            "\(try IssueDetails(json: Array(Replies.shown.utf8)))" == """
                r42 error in shop 2.0.0: Decoding failed: keyNotFound(price) \
                (3 times, Shop/Catalogue.swift:42, 2026-11-21T11:57:00.000Z)
                g7 error in shop: Decoding failed: keyNotFound(price) (1234 times, last 2026-11-21T11:57:00.000Z)
                logzio: delivered, 2 attempts, 2026-11-21T11:58:00.000Z, 200 OK, perhaps received twice
                archive: pending
                """)
        let reply = "{\"group\":\(Replies.group(title: "No space left", state: "open")),\"fates\":[]}"
        #expect(
            "\(try IssueDetails(json: Array(reply.utf8)))" == """
                No readable record of the group was found.
                g9 critical: No space left (once, last 2026-11-20T11:00:00.000Z)
                """)
    }

    @Test("The status is described by a line for the daemon and a line for each fault, destination and suppression")
    func status() throws {
        #expect(
            "\(try DaemonStatus(json: Array(Replies.status.utf8)))" == """
                issued 0.1.0 on web-1 since 2026-11-18T12:00:00.000Z: 1234567 received, 1200000 stored in 42 groups, \
                15728640 bytes, 21474836480 free
                fault: issues.db-1 was set aside
                logzio: waiting (no answer), 1234000 of 1234567 records delivered, 17 pending
                archive: idle, 8 of 10 records delivered, 0 pending
                logzio: 1200 held back by group_rate of g7 in shop since 2026-11-21T11:00:00.000Z
                logzio: 1 held back by daily_bytes since 2026-11-21T11:59:00.000Z
                """)
        #expect(
            "\(try DaemonStatus(json: Array(Replies.closedStatus.utf8)))" == """
                issued 0.1.0 on web-1 since 2026-11-18T12:00:00.000Z: the store can't be opened
                fault: the disk gives nothing
                """)
    }

    @Test("A dead letter is described by record, destination, reason, attempts and response")
    func deadLetter() throws {
        let letter = try DeadLetter(json: Array(Replies.deadLetter.utf8))
        #expect(
            "\(letter)" == #"r42 for logzio: refused after 1 attempt, 2026-11-21T11:58:00.000Z: 400 Bad\nRequest"#)
    }
}
