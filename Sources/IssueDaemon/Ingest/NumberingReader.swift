import IssueCore
import IssueProtocol

/// Reads who numbers the records of a call, which most calls say as the one before them did.
struct NumberingReader {
    /// What stood between the records and the number the last time, from the comma on.
    private var before = ByteBuffer()
    private var producer: ProducerID?

    /// What is longer is read each time.
    private static let mostBytes = 96

    /// Passes the name of the producer up to its number, if both follow the records as they did the last time.
    @inline(__always)
    mutating func passExpected(_ scanner: inout JSONScanner) -> ProducerID? {
        scanner.passMembers(before.span) ? producer : nil
    }

    /// The records ended at one index and the number begins at another.
    mutating func read(_ id: ProducerID?, _ bytes: Span<UInt8>, from start: Int, to end: Int) {
        guard let id, end - start <= Self.mostBytes else { return }
        producer = id
        before.truncate(to: 0)
        before.append(bytes, from: start, to: end)
    }
}
