import IssueDaemon
import Synchronization
import Testing
import UnixIO

@Suite("Events in the journal")
struct JournalEventTests {
    private func entry(_ issue: String) throws -> [UInt8] {
        let path = "/tmp/issued-journal-\(Randomness.uint64())"
        let journal = try Socket.datagramReceiver(at: .unix(path))
        defer { try? FileSystem.remove(path) }
        let log = Log(level: .notice, form: .journal, journal: path) { line in
            Issue.record("The event was written as a line: \(line)")
        }
        log.event(.newIssue, .notice, "New issue reported", ["group": "g1", "issue": issue])
        var bytes: [UInt8] = []
        #expect(try Readiness.wait(journal, for: .read, timeout: .seconds(10)))
        _ = try journal.read(appendingTo: &bytes, atMost: 1 << 16)
        return bytes
    }

    @Test("An event is sent in the journal's protocol, with message id, fields and message")
    func native() throws {
        #expect(
            String(decoding: try entry("Broken"), as: UTF8.self) == """
                MESSAGE=New issue reported group=g1 issue=Broken
                PRIORITY=5
                SYSLOG_IDENTIFIER=issued
                MESSAGE_ID=\(LogEvent.newIssue.messageID)
                ISSUED_GROUP=g1
                ISSUED_ISSUE=Broken

                """)
    }

    @Test("A value with a line feed can't be read as two fields")
    func lineFeed() throws {
        let bytes = try entry("one\nPRIORITY=0")
        let end = Array("ISSUED_ISSUE\n".utf8) + [14, 0, 0, 0, 0, 0, 0, 0] + Array("one\nPRIORITY=0\n".utf8)
        #expect(bytes.suffix(end.count) == end[...])
    }

    @Test("Without a journal, an event is an ordinary line")
    func elsewhere() {
        let lines = Mutex<[String]>([])
        for (form, path) in [(LogForm.plain, "/run/systemd/journal/socket"), (.journal, "/nonexistent/socket")] {
            let log = Log(level: .notice, form: form, journal: path) { line in lines.withLock { $0.append(line) } }
            log.event(.destinationChanged, .warning, "Destination paused", ["destination": "logzio"])
        }
        #expect(
            lines.withLock { $0 } == [
                "issued: warning: Destination paused destination=logzio\n",
                "<4>Destination paused destination=logzio\n",
            ])
    }

    @Test("Message ids have the journal's format")
    func numbers() {
        for event in LogEvent.allCases {
            #expect(event.messageID.count == 32)
            #expect(event.messageID.allSatisfy { $0.isHexDigit && !$0.isUppercase })
        }
    }
}
