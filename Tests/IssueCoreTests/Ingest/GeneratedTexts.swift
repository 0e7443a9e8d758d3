import IssueProtocol

/// Random texts, both typical and pathological. Reproducible by seed.
struct GeneratedTexts {
    private static let words = [
        "Timed out after", "connection to", "refused", "user's", "can't open", "id=", "Décodage échoué :", "日本語",
        "face", "deadbeef", "cafe", "a", "x86_64", "v2", "Ωmega", "\u{65}\u{301}", "e.g.", "and/or", "key:", "(", ")",
        "[", "]", "{", "}", "<n>", "%20", "👩‍👩‍👧", "🔥", "\u{FEFF}", "\u{2028}", "\u{10FFFF}", "-", "+", "=", ",", ".",
    ]
    private static let hostile = [
        "'", "\"", "`", "''", "\"\"", "'\"'", "/", "//", "/.", "~/x", ":", "://", "@", "a@", "a@b", "0x", "0x1G", "1.",
        "1.2.3", "1.2.3.4", "256.1.1.1:80", "1.2.3.4.5", "1:2", "\n", "\t", "\r\n", "\u{0}", "\u{1}", "\u{2}", "\u{6}",
        "\u{1F}", "\u{7F}", "\u{1B}[31m", "\u{7}", "\\", "\\u0000", "00000000", "9a41c07e55b2d310", "https://", "h://x",
        "https://example.com/a?b=1&c=[2]#d;", "file:///tmp/a.txt:12:", "/usr/lib/libc.so.6.", "mail@example.com.",
        "abcdefab-cdef-abcd-efab-cdefabcdefab", "550e8400-e29b-41d4-a716-446655440000",
        "550e8400-e29b-41d4-a716-44665544000", "550e8400-e29b-41d4-a716-4466554400000", "'it''s'", "\"a 'b' c\"",
    ]

    /// Returns a message of several pieces, sometimes longer than the template limit.
    static func message(using traffic: inout SeededGenerator) -> String {
        var pieces = Int(traffic.number(below: 12))
        if traffic.happens(oneIn: 25) { pieces += 200 }
        var text = ""
        for _ in 0..<pieces {
            text += piece(using: &traffic)
            if !traffic.happens(oneIn: 3) { text += " " }
        }
        return text
    }

    private static func piece(using traffic: inout SeededGenerator) -> String {
        switch traffic.number(below: 10) {
        case 0...2: return words[Int(traffic.number(below: Int64(words.count)))]
        case 3...4: return hostile[Int(traffic.number(below: Int64(hostile.count)))]
        case 5: return String(traffic.number(below: 1_000_000))
        case 6: return String(traffic.next(), radix: 16)
        case 7: return "\"" + words[Int(traffic.number(below: Int64(words.count)))] + "\""
        case 8: return "/var/lib/\(traffic.number(below: 100))/x.db"
        default:
            // Any scalar, so that all widths of UTF-8 occur next to each other.
            return Unicode.Scalar(UInt32(traffic.number(below: 0x11_0000))).map { String($0) } ?? "\u{FFFD}"
        }
    }
}
