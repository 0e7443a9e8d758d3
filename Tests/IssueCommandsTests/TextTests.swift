import IssueCommands
import IssueProtocol
import Testing

@Suite("Text formatting")
struct TextTests {
    @Test(
        "The display width matches what terminals draw",
        arguments: [
            ("", 0), ("abc", 3), ("café", 4), ("cafe\u{301}", 4), ("日本語", 6), ("한국어", 6), ("ﾃｽﾄ", 3), ("！", 2),
            ("👍", 2), ("👨‍👩‍👧", 2), ("🇩🇪", 2), ("❤️", 2), ("❤", 1), ("a\u{200D}b", 2), ("…", 1), ("│", 1), ("Привет", 6),
        ])
    func width(text: String, width: Int) {
        #expect(DisplayWidth.of(text) == width)
    }

    @Test(
        "Text that is too wide is cut between characters and marked with an ellipsis",
        arguments: [
            ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("abcdef", 1, "…"), ("abcdef", 0, ""), ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"), ("👨‍👩‍👧👍x", 3, "👨‍👩‍👧…"),
        ])
    func cut(text: String, width: Int, expected: String) {
        let cut = Fitting.cut(text, to: width)
        #expect(cut == expected)
        #expect(DisplayWidth.of(cut) <= width)
    }

    @Test(
        "Characters that a terminal would interpret are escaped",
        arguments: [
            ("\u{1B}[31mred", "\\x1b[31mred"), ("a\nb\r\nc\td", "a\\nb\\r\\nc\\td"),
            ("\u{07}\u{08}\u{0}", "\\x07\\x08\\x00"),
            ("\u{9B}31m", "\\x9b31m"), ("\u{7F}", "\\x7f"), ("\u{202E}gnp", "\\u{202e}gnp"),
            ("\u{2066}\u{2028}\u{FEFF}", "\\u{2066}\\u{2028}\\u{feff}"), ("👨‍👩‍👧 日本 é", "👨‍👩‍👧 日本 é"),
        ])
    func harmless(text: String, expected: String) {
        #expect(TerminalSanitizer.line(text) == expected)
    }

    @Test("Every control character of Unicode is made visible")
    func allControls() {
        for value in Array(0x00...0x1F) + Array(0x7F...0x9F) {
            guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
            let text = TerminalSanitizer.line("a\(Character(scalar))b")
            #expect(text.hasPrefix("a\\") && text.hasSuffix("b"))
            #expect(text.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) })
        }
    }

    @Test("A long run of combining marks is cut")
    func piledMarks() {
        let text = TerminalSanitizer.line("a" + String(repeating: "\u{301}", count: 5000) + "b")
        #expect(text.unicodeScalars.count < 20)
        #expect(text.hasSuffix("b"))
    }

    @Test("Multi-line text keeps its line feeds; other control characters are removed or escaped")
    func page() {
        #expect(TerminalSanitizer.lines("a\nb\r\n\u{1B}c") == ["a", "b", "\\x1bc"])
    }

    @Test("Escaping JSON for the terminal preserves its meaning")
    func safeJSON() throws {
        let json = "{\"a\":\"\u{9B}31m \u{7F} \u{A0} é\u{85}\"}"
        let safe = TerminalSafeJSON.escape(Array(json.utf8))
        #expect(String(decoding: safe, as: UTF8.self) == "{\"a\":\"\\u009b31m \\u007f \u{A0} é\\u0085\"}")
        #expect(try JSONValue(json: safe) == JSONValue(json: json))
    }

    @Test(
        "Bidirectional marks and control characters in JSON are escaped without changing its meaning",
        arguments: [
            ("{\"a\":\"x\u{202E}y\u{2066}\u{200F}\"}", #"{"a":"x\u202ey\u2066\u200f"}"#),
            ("{\"\u{202E}\":1}", #"{"\u202e":1}"#), ("[\"\u{E0041}\"]", #"["\udb40\udc41"]"#),
            ("[\"\u{2028}\u{FEFF}\"]", #"["\u2028\ufeff"]"#), ("[\"👩‍👧 é\"]", "[\"👩‍👧 é\"]"),
            (#"["\\"]"#, #"["\\"]"#), ("{\"create\":{}}\n{}", "{\"create\":{}}\n{}"),
        ])
    func bidirectional(json: String, expected: String) throws {
        let safe = TerminalSafeJSON.escape(Array(json.utf8))
        #expect(String(decoding: safe, as: UTF8.self) == expected)
        if let value = try? JSONValue(json: json) { #expect(try JSONValue(json: safe) == value) }
    }

    @Test("Malformed JSON is printed without control characters, too")
    func noJSON() {
        let text = "\u{1B}[2J{\"a\":\"\u{1B}]0;t\u{7}\r\n\u{0}\\\u{1B}\"\r\u{9B}"
        let safe = String(decoding: TerminalSafeJSON.escape(Array(text.utf8)), as: UTF8.self)
        #expect(safe == #" [2J{"a":"\u001b]0;t\u0007\u000d\u000a\u0000\\u001b"  "#)
    }

    @Test(
        "A relative time is rounded to the nearest whole number of its smallest unit, and less than a second is now",
        arguments: [
            (0, "now"), (999, "now"), (-999, "now"), (1000, "1 s ago"), (59_499, "59 s ago"), (59_999, "1 min ago"),
            (60_000, "1 min ago"),
            (180_000, "3 min ago"), (3_569_000, "59 min ago"), (3_570_000, "1 h ago"), (3_600_000, "1 h ago"),
            (7_140_000, "1 h 59 min ago"), (7_199_999, "2 h ago"), (36_000_000, "10 h ago"), (84_599_000, "23 h ago"),
            (86_399_999, "1 day ago"), (90_000_000, "1 day 1 h ago"), (867_600_000, "10 days ago"),
            (-2_583_360_000, "in 30 days"), (2_548_800_000, "30 days ago"), (1900, "2 s ago"),
            (86_400_000, "1 day ago"), (172_800_000, "2 days ago"), (63_072_000_000, "2 years ago"),
            (91_454_400_000, "3 years ago"),
            (-20_000, "in 20 s"),
        ])
    func relativeTime(age: Int64, text: String) {
        let moment = IssueTimestamp(millisecondsSince1970: noon.millisecondsSince1970 - age)
        #expect(RelativeTime.text(moment, now: noon) == text)
    }

    @Test("Extreme times do not overflow")
    func extremeTimes() {
        #expect(RelativeTime.text(IssueTimestamp(millisecondsSince1970: .min), now: noon) == "now")
        #expect(RelativeTime.text(IssueTimestamp(millisecondsSince1970: .max), now: noon).hasPrefix("in "))
    }

    @Test(
        "A time is accepted in all documented forms",
        arguments: [
            ("2026-11-20T10:00:00Z", "2026-11-20T10:00:00.000Z"),
            ("2026-11-20T10:00:00+02:00", "2026-11-20T08:00:00.000Z"),
            ("2026-11-20 10:00:00", "2026-11-20T10:00:00.000Z"), ("2026-11-20", "2026-11-20T00:00:00.000Z"),
            ("2h", "2026-11-21T10:00:00.000Z"), ("7d", "2026-11-14T12:00:00.000Z"),
            ("-90min", "2026-11-21T10:30:00.000Z"),
            ("1h 30min", "2026-11-21T10:30:00.000Z"), ("now", "2026-11-21T12:00:00.000Z"),
            ("today", "2026-11-21T00:00:00.000Z"), ("Yesterday", "2026-11-20T00:00:00.000Z"),
            ("1w", "2026-11-14T12:00:00.000Z"), ("30s", "2026-11-21T11:59:30.000Z"),
            ("2026-11-20T10:00", "2026-11-20T10:00:00.000Z"), ("2026-11-20T10:00Z", "2026-11-20T10:00:00.000Z"),
            ("2026-11-20 10:00+01:00", "2026-11-20T09:00:00.000Z"), ("15:30", "2026-11-21T15:30:00.000Z"),
            ("8:05", "2026-11-21T08:05:00.000Z"), ("08:05:30", "2026-11-21T08:05:30.000Z"),
            ("15:00Z", "2026-11-21T15:00:00.000Z"), ("15:00+01:00", "2026-11-21T14:00:00.000Z"),
            ("8:05:30-02:30", "2026-11-21T10:35:30.000Z"), ("00:30+13:00", "2026-11-21T11:30:00.000Z"),
            ("yesterday 15:00+01:00", "2026-11-20T14:00:00.000Z"), ("yesterday 15:00", "2026-11-20T15:00:00.000Z"),
            ("tomorrow", "2026-11-22T00:00:00.000Z"), ("3 hours ago", "2026-11-21T09:00:00.000Z"),
            ("1h ago", "2026-11-21T11:00:00.000Z"), ("2 min ago", "2026-11-21T11:58:00.000Z"),
            ("1h 30min AGO", "2026-11-21T10:30:00.000Z"),
        ])
    func moments(text: String, expected: String) {
        #expect(TimeExpression.moment(text, now: noon)?.description == expected)
    }

    @Test(
        "A text that has none of the documented forms is not a time",
        arguments: [
            "", "soon", "2026", "2026-13-01", "ago", " ago", "2ago", "-2h ago", "2 ago", "2h ago ago", "now ago", "h",
            "5 parsecs", "-", "99999999999999999999d", "1.5h", "25:00",
            "8:0", "12:60", "today 8", "today  08:00", "2026-11-20T10", "2026-11-20T10:00+1", "15:00+1",
            "15:00+25:00", "15:00zz",
        ])
    func noMoments(text: String) {
        #expect(TimeExpression.moment(text, now: noon) == nil)
    }

    @Test(
        "The end of a mute is given as a time span from now, a time of day that comes next, or a future time",
        arguments: [
            ("8h", "2026-11-21T20:00:00.000Z"), ("+8h", "2026-11-21T20:00:00.000Z"),
            ("15:30", "2026-11-21T15:30:00.000Z"), ("08:00", "2026-11-22T08:00:00.000Z"),
            ("12:00", "2026-11-22T12:00:00.000Z"), ("08:00+01:00", "2026-11-22T07:00:00.000Z"),
            ("tomorrow 8:00", "2026-11-22T08:00:00.000Z"),
            ("tomorrow", "2026-11-22T00:00:00.000Z"), ("2026-12-01", "2026-12-01T00:00:00.000Z"),
            ("now", nil), ("today", nil), ("1h ago", nil), ("+1h ago", nil), ("yesterday 23:00", nil), ("0s", nil),
            ("-8h", nil), ("8", nil),
            ("soon", nil),
        ])
    func futureMoments(text: String, expected: String?) {
        #expect(TimeExpression.futureMoment(text, now: noon)?.description == expected)
    }

    @Test(
        "A time span is accepted as in systemd",
        arguments: [
            ("30s", 30_000), ("30", 30_000), ("2min 30s", 150_000), ("500ms", 500), ("0", 0), ("1h", 3_600_000),
            ("1m", 60_000), (" 2 h ", 7_200_000),
        ])
    func spans(text: String, milliseconds: Int64) {
        #expect(DurationExpression.duration(text) == .milliseconds(milliseconds))
    }

    @Test(
        "A text that systemd would not accept is not a time span",
        arguments: ["", " ", "s", "x5", "5x", "-5s", "9223372036854775807w", "١s"])
    func noSpans(text: String) {
        #expect(DurationExpression.duration(text) == nil)
    }

    @Test(
        "The priorities of logger(1) and the severities of issues are accepted as severities",
        arguments: [
            ("error", IssueLevel.error), ("user.err", .error), ("daemon.crit", .critical), ("warn", .warning),
            ("local0.notice", .info), ("EMERG", .critical), ("debug", .debug),
            ("fatal", .critical), ("0", .critical), ("2", .critical), ("3", .error), ("4", .warning), ("5", .info),
            ("6", .info), ("7", .debug),
        ])
    func severities(word: String, severity: IssueLevel) {
        #expect(SeverityWord.severity(word) == severity)
    }

    @Test("A sparkline is scaled to the highest count, and shows zero and a small count differently")
    func sparkline() {
        #expect(Sparkline.text([0, 1, 4, 8, 800, 0]) == "·▁▁▁█·")
        #expect(Sparkline.text([1, 2, 3, 4, 5, 6, 7, 8]) == "▁▂▃▄▅▆▇█")
        #expect(Sparkline.text([]) == "")
        #expect(Sparkline.text([0, .max, -3]) == "·█·")
    }

    @Test("Numbers are grouped by thousands, and sizes are rounded to a tenth of their unit")
    func quantities() {
        #expect(
            [0, 7, 999, 1000, 1_234_567, -1000].map { Quantity.text($0) } == [
                "0", "7", "999", "1,000", "1,234,567", "-1,000",
            ])
        #expect(Quantity.text(Int64.min) == "-9,223,372,036,854,775,808")
        #expect(Quantity.bytes(1023) == "1023 B")
        #expect(Quantity.bytes(1536) == "1.5 KiB")
        #expect(Quantity.bytes(1_048_524) == "1023.9 KiB")
        #expect(Quantity.bytes(1_048_525) == "1.0 MiB")
        #expect(Quantity.bytes(-1_063_000_000) == "-1013.8 MiB")
        #expect(Quantity.bytes(Int64.max) == "8.0 EiB")
    }

    @Test("A metadata value is JSON if it is valid JSON, otherwise a string")
    func metadata() {
        #expect(MetadataPair.member("a=3")?.value == .integer(3))
        #expect(MetadataPair.member("a={\"b\":[true,null]}")?.value == .object([.init("b", [true, nil])]))
        #expect(MetadataPair.member("a=plain words")?.value == .string("plain words"))
        #expect(MetadataPair.member("a==")?.value == .string("="))
        #expect(MetadataPair.member("a=")?.value == .string(""))
        #expect(MetadataPair.member("=x") == nil)
        #expect(MetadataPair.member("x") == nil)
    }
}
