import IssueProtocol

/// Reads the names of producers, of which most are the one that was read before.
package struct ProducerReader: Sendable {
    /// What was read last, as it was written.
    private var written: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)
    private var last: ProducerID?

    package init() {}

    /// The producer that a UUID in a range of bytes names, or nothing.
    package mutating func id(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> ProducerID? {
        guard end - start == 36 else { return nil }
        // 36 bytes are five words, of which the last two overlap.
        let text = (
            bytes.word(at: start), bytes.word(at: start + 8), bytes.word(at: start + 16), bytes.word(at: start + 24),
            bytes.word(at: start + 28)
        )
        if text != written {
            last = ProducerID(bytes, from: start, to: end)
            written = text
        }
        return last
    }
}
