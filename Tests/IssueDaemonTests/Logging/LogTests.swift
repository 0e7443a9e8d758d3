import Foundation
import IssueDaemon
import Synchronization
import Testing

@Suite("The diagnostic log")
struct LogTests {
    private final class LineCollector: Sendable {
        let all = Mutex<[String]>([])
    }

    private func log(_ level: LogLevel, _ form: LogForm) -> (Log, LineCollector) {
        let lines = LineCollector()
        return (Log(level: level, form: form) { line in lines.all.withLock { $0.append(line) } }, lines)
    }

    @Test("A line for the journal starts with the priority, any other line with the level")
    func forms() {
        let (journal, inJournal) = log(.debug, .journal)
        let (plain, onScreen) = log(.debug, .plain)
        for log in [journal, plain] {
            log.debug("a")
            log.info("b", ["count": "5"])
            log.notice("c")
            log.warning("The destination is paused", ["destination": "logzio", "reason": "no answer"])
            log.error("e")
        }
        #expect(
            inJournal.all.withLock { $0 } == [
                "<7>a\n", "<6>b count=5\n", "<5>c\n",
                "<4>The destination is paused destination=logzio reason=\"no answer\"\n", "<3>e\n",
            ])
        #expect(
            onScreen.all.withLock { $0 } == [
                "issued: debug: a\n", "issued: info: b count=5\n", "issued: notice: c\n",
                "issued: warning: The destination is paused destination=logzio reason=\"no answer\"\n",
                "issued: error: e\n",
            ])
    }

    @Test("Fields below the level are not evaluated, and the level changes for all copies of a log")
    func levels() {
        let (log, lines) = log(.notice, .plain)
        let copy = log
        func never() -> KeyValuePairs<String, String> {
            Issue.record("The fields of a line that is not written were evaluated")
            return [:]
        }
        copy.info("no", never())
        #expect(!copy.isWritten(.info) && copy.isWritten(.notice))
        log.setLevel(.debug)
        copy.info("yes")
        log.setLevel(.error)
        copy.warning("no", never())
        #expect(lines.all.withLock { $0 } == ["issued: info: yes\n"])
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
        let (log, lines) = log(.notice, .plain)
        log.notice("m", ["v": value])
        #expect(lines.all.withLock { $0 } == ["issued: notice: m v=\(written)\n"])
    }

    @Test("A long value is truncated")
    func long() {
        let (log, lines) = log(.notice, .plain)
        log.notice("m", ["v": String(repeating: "a", count: 100_000)])
        #expect(lines.all.withLock { $0[0].utf8.count } < 1100)
    }

    @Test("The journal's format is chosen if standard error leads to the journal")
    func choosing() {
        func form(_ target: LogTarget, _ stream: String?, inode: UInt64? = 5) -> LogForm {
            .chosen(for: target, stream: stream, device: 4, inode: inode)
        }
        #expect(form(.auto, "4:5") == .journal)
        #expect(form(.auto, "4:6") == .plain)
        #expect(form(.auto, nil) == .plain)
        #expect(form(.auto, "4:5", inode: nil) == .plain)
        #expect(form(.journal, nil) == .journal)
        #expect(form(.stderr, "4:5") == .plain)
    }
}
