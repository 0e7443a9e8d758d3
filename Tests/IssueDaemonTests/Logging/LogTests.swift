import Foundation
import IssueProtocol
import Testing

@testable import IssueDaemon

@Suite("The diagnostic log")
struct LogTests {
    @Test("A line for the journal starts with the priority, a plain line with the level; both end with the identifier")
    func forms() {
        let (journal, inJournal) = keptLog(.debug, .journal)
        let (plain, onScreen) = keptLog(.debug)
        for log in [journal, plain] {
            log.log(.debug, .daemonReady)
            log.info(.destinationBatchFinished, ["lines": "5"])
            log.notice(.storeOpened)
            log.warning(.storeMaintenanceFailed, ["error": "no answer", "file": "a"])
            log.error(.socketFailed)
        }
        let failure =
            "Store maintenance failed; retrying later error=\"no answer\" file=a id=store.maintenance-failed\n"
        #expect(
            inJournal() == [
                "<7>Ready id=daemon.ready\n", "<6>Batch finished lines=5 id=destination.batch-finished\n",
                "<5>Database opened id=store.opened\n", "<4>\(failure)",
                "<3>Could not serve the socket; exiting id=socket.failed\n",
            ])
        #expect(
            onScreen() == [
                "issued: debug: Ready id=daemon.ready\n",
                "issued: info: Batch finished lines=5 id=destination.batch-finished\n",
                "issued: notice: Database opened id=store.opened\n", "issued: warning: \(failure)",
                "issued: error: Could not serve the socket; exiting id=socket.failed\n",
            ])
    }

    @Test("A line that does not go to the journal starts with the time in UTC, with milliseconds")
    func dated() throws {
        let (log, lines) = keptLog(.notice, .dated)
        let before = Clock.wall
        log.notice(.storeOpened)
        let line = lines()[0]
        #expect(line.hasSuffix("Z issued: notice: Database opened id=store.opened\n"))
        let time = try #require(IssueTimestamp(String(line.prefix { $0 != " " })))
        #expect(line.prefix { $0 != " " }.count == 24 && time >= before && time <= Clock.wall)
    }

    @Test("The fields of a line below the level are not evaluated; the level changes for all copies of a log")
    func levels() {
        let (log, lines) = keptLog()
        let copy = log
        func never() -> KeyValuePairs<String, String> {
            Issue.record("The fields of a line that is not written were evaluated")
            return [:]
        }
        copy.info(.daemonReady, never())
        #expect(!copy.isWritten(.info) && copy.isWritten(.notice))
        log.setLevel(.debug)
        copy.info(.daemonStopping)
        log.setLevel(.error)
        copy.warning(.daemonReady, never())
        #expect(lines() == ["issued: info: Stopping id=daemon.stopping\n"])
    }

    @Test(
        "An event is one line, regardless of its fields",
        arguments: [
            ("a\nb", "\"a\\nb\""), ("a\r\t", "\"a\\r\\t\""), ("\u{1B}[31m", "\"\\u{1b}[31m\""),
            ("a\"b\\", "\"a\\\"b\\\\\""),
            ("", "\"\""), ("a=b", "\"a=b\""), ("über", "über"), ("a\u{2028}b", "\"a\\u{2028}b\""),
            ("\u{202E}x", "\"\\u{202e}x\""), ("\u{85}\u{7F}\u{0}", "\"\\u{85}\\u{7f}\\u{0}\""),
            ("e\u{301}", "e\u{301}"),
        ])
    func escapes(value: String, written: String) {
        let (log, lines) = keptLog()
        log.notice(.daemonReady, ["v": value])
        #expect(lines() == ["issued: notice: Ready v=\(written) id=daemon.ready\n"])
    }

    @Test("A long value is truncated")
    func long() {
        let (log, lines) = keptLog()
        log.notice(.daemonReady, ["v": String(repeating: "a", count: 100_000)])
        #expect(lines()[0].utf8.count < 1100)
    }

    @Test("The journal's format is chosen with Target=journal or, with auto, if standard error leads to the journal")
    func choosing() {
        func form(_ target: LogTarget, _ stream: String?, inode: UInt64? = 5) -> LogForm {
            .chosen(for: target, stream: stream, device: 4, inode: inode)
        }
        #expect(form(.auto, "4:5") == .journal)
        #expect(form(.auto, "4:6") == .dated)
        #expect(form(.auto, nil) == .dated)
        #expect(form(.auto, "4:5", inode: nil) == .dated)
        #expect(form(.journal, nil) == .journal)
        #expect(form(.stderr, nil) == .dated)
        #expect(form(.stderr, "4:5") == .plain)
    }
}
