import IssueProtocol

/// Reads the times of records, of which most lie in the same minute as the one before.
struct TimeReader: Sendable {
    /// The minute that was read last, as it was written: `2026-11-21T10:00`.
    private var writtenMinute: (UInt64, UInt64) = (0, 0)
    private var minute: Int64 = 0

    /// The milliseconds since 1970 that an RFC 3339 text in a range of bytes names, or nothing.
    mutating func milliseconds(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Int64? {
        // The form that senders mostly use: 2026-11-21T10:00:00.123Z.
        guard end - start == 24, let offset = Self.withinMinute(bytes.word(at: start + 16)) else {
            return Timestamp(bytes, from: start, to: end)?.milliseconds
        }
        let written = (bytes.word(at: start), bytes.word(at: start + 8))
        if written != writtenMinute {
            guard let time = Timestamp(bytes, from: start, to: end) else { return nil }
            writtenMinute = written
            minute = time.milliseconds - offset
        }
        return minute + offset
    }

    /// The milliseconds of `:00.123Z`, given as a word; nothing where it has another form.
    @inline(__always)
    private static func withinMinute(_ word: UInt64) -> Int64? {
        guard word & 0xFF00_0000_FF00_00FF == 0x5A00_0000_2E00_003A else { return nil }
        // What is above 9 in any of the digits shows in its high bits, or when six is added.
        let digits = (word ^ 0x5A30_3030_2E30_303A)
        guard digits & 0xF0F0_F0F0_F0F0_F0F0 == 0, (digits &+ 0x0006_0606_0006_0600) & 0xF0F0_F0F0_F0F0_F0F0 == 0 else {
            return nil
        }
        func digit(_ place: UInt64) -> Int64 { Int64(truncatingIfNeeded: digits >> (8 * place) & 0xF) }
        let second = digit(1) * 10 + digit(2)
        guard second < 60 else { return nil }
        return second * 1000 + digit(4) * 100 + digit(5) * 10 + digit(6)
    }
}
