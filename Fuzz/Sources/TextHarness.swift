import IssueCommands
import IssueCore
import IssueDaemon
import IssueProtocol

/// Any text is harmless on a terminal, in a line of the log, in an entry of the journal and in JSON.
///
/// Input: a text.
enum TextHarness {
    static func run(_ input: Span<UInt8>) {
        let bytes = input.array()
        let text = bytes.asText
        let line = TerminalSanitizer.line(text)
        require(!line.unicodeScalars.contains(where: TerminalSanitizer.needsEscape), "A line has a control sequence")
        // Sanitizing the line again may change it: combining marks after an escaped character join the last letter of
        // the escape, and then there may be one mark too many.
        require(longestMarkRun(in: line) <= maxMarks, "A line has too many combining marks in a row")
        for line in TerminalSanitizer.lines(text) {
            require(
                !line.unicodeScalars.contains(where: TerminalSanitizer.needsEscape),
                "One of several lines has a control sequence")
            require(longestMarkRun(in: line) <= maxMarks, "One of several lines has too many combining marks in a row")
        }
        checkLog(text)
        checkJournal(text)
        checkJSON(bytes)
        let summary = ResponseSummary(text).text
        require(summary.count <= ResponseSummary.maxCharacters, "A summary is too long")
    }

    /// The maximum number of combining marks of one character.
    private static let maxMarks = 16

    /// Returns the length of the longest sequence of combining marks.
    private static func longestMarkRun(in line: String) -> Int {
        var longest = 0
        var run = 0
        for scalar in line.unicodeScalars {
            let category = scalar.properties.generalCategory
            run = category == .nonspacingMark || category == .enclosingMark ? run + 1 : 0
            longest = max(longest, run)
        }
        return longest
    }

    private static func checkLog(_ text: String) {
        for form in [LogForm.journal, .plain, .bare] {
            let line = LogLine.text(.info, .daemonReady, ["name": text], form: form)
            let body = form == .bare ? line[...] : line.dropLast()
            require(form == .bare || line.hasSuffix("\n"), "A line of the log has no line feed")
            require(
                !body.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F },
                "A line of the log has a control character")
            require(line.unicodeScalars.count <= 13_000, "A line of the log is too long")
        }
    }

    /// Reads the entry as journald does. The text of the sender must not create additional fields.
    private static func checkJournal(_ text: String) {
        let entry = JournalEntry(.issueNew, .info, ["name": text])
        var rest = entry.bytes[...]
        var names: [String] = []
        while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "\n") }) {
            names.append(Array(rest[..<end]).asText)
            let isPlain = rest[end] == UInt8(ascii: "=")
            rest = rest[(end + 1)...]
            if isPlain {
                guard let close = rest.firstIndex(of: UInt8(ascii: "\n")) else { break }
                rest = rest[(close + 1)...]
            } else {
                require(rest.count > 8, "A field has no length")
                let count = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
                require(rest.count >= 8 + count + 1, "A field is longer than its entry")
                rest = rest.dropFirst(8 + count + 1)
            }
        }
        require(rest.isEmpty, "An entry ends within a field")
        let expected = ["MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER", "MESSAGE_ID", "ISSUED_NAME", "ISSUED_ID"]
        require(names == expected, "An entry has the fields \(names)")
    }

    private static func checkJSON(_ bytes: [UInt8]) {
        let safe = TerminalSafeJSON.escape(bytes)
        require(
            !safe.asText.unicodeScalars.contains { TerminalSanitizer.needsEscape($0) && $0 != "\n" && $0 != "\t" },
            "JSON for a terminal has a control sequence")
        guard let value = try? JSONValue(json: bytes) else { return }
        require((try? JSONValue(json: safe)) == value, "JSON has another meaning after escaping")
    }
}
