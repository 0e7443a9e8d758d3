import IssueProtocol
import TestSockets
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Events in the journal")
struct JournalEventTests {
    private func entry(_ issue: String) throws -> [UInt8] {
        let path = "/tmp/issued-journal-\(Randomness.uint64())"
        let journal = try Socket.datagramReceiver(at: path)
        defer { try? FileSystem.remove(path) }
        let log = Log(level: .notice, form: .journal, journal: path) { line in
            Issue.record("The event was written as a line: \(line)")
        }
        log.notice(.issueNew, ["group": "g1", "issue": issue])
        var bytes: [UInt8] = []
        #expect(try Readiness.wait(journal, for: .read, timeout: .seconds(60)))
        _ = try journal.read(appendingTo: &bytes, atMost: 1 << 16)
        return bytes
    }

    @Test("An event is sent in the journal's protocol, with message id, fields and message")
    func native() throws {
        #expect(
            String(decoding: try entry("Broken"), as: UTF8.self) == """
                MESSAGE=New issue reported group=g1 issue=Broken id=issue.new
                PRIORITY=5
                SYSLOG_IDENTIFIER=issued
                MESSAGE_ID=44e9b1ed9cb14818ac2f4c543c815253
                ISSUED_GROUP=g1
                ISSUED_ISSUE=Broken
                ISSUED_ID=issue.new

                """)
    }

    @Test("A long value is cut between two characters")
    func longValue() throws {
        for prefix in ["", "x", "xx", "xxx"] {
            let entry = try entry(prefix + String(repeating: "日", count: 2000))
            #expect(String(validating: entry, as: UTF8.self) != nil)
            #expect(entry.count > 4000 && entry.count < 9000)
        }
    }

    @Test("A value with a line feed can't be read as two fields")
    func lineFeed() throws {
        let bytes = try entry("one\nPRIORITY=0")
        let end =
            Array("ISSUED_ISSUE\n".utf8) + [14, 0, 0, 0, 0, 0, 0, 0]
            + Array("one\nPRIORITY=0\nISSUED_ID=issue.new\n".utf8)
        #expect(bytes.suffix(end.count) == end[...])
    }

    @Test("Without a journal, an event is an ordinary line")
    func elsewhere() throws {
        let path = "/tmp/issued-journal-\(Randomness.uint64())"
        let journal = try Socket.datagramReceiver(at: path)
        defer { try? FileSystem.remove(path) }
        let (plain, plainLines) = keptLog(.notice, .plain, journal: path)
        let (unreachable, lines) = keptLog(.notice, .journal)
        for log in [plain, unreachable] { log.warning(.destinationAvailable, ["destination": "logzio"]) }
        let line = "Destination accepts records again destination=logzio id=destination.available\n"
        #expect(plainLines() == ["issued: warning: \(line)"])
        #expect(lines() == ["<4>\(line)"])
        _ = journal
    }

    @Test("Message ids have the journal's format, and identifiers are an area, a dot and words with hyphens")
    func numbers() {
        for event in LogEvent.all {
            let id = event.messageID
            #expect(id.count == 32 && id.allSatisfy { $0.isHexDigit && !$0.isUppercase })
            #expect(event.id.wholeMatch(of: /[a-z]+\.[a-z]+(-[a-z]+)*/) != nil)
        }
    }
}
