import IssueProtocol
import Testing

@Suite("Vector scans")
struct ByteScanTests {
    /// Calls `body` with byte sequences of many lengths that contain some matching bytes, each with a random range.
    private static func forEachPart(_ body: ([UInt8], Range<Int>) -> Void) {
        var generator = SeededGenerator(seed: 7)
        for length in 0..<150 {
            let bytes = (0..<length).map { _ in
                UInt8.random(in: 0...39, using: &generator) == 0
                    ? [0, 0x22, 0x5C, 0x1F, 0x7D, 0xC3].randomElement(using: &generator) ?? 0
                    : UInt8.random(in: 0x61...0x7A, using: &generator)
            }
            let start = Int.random(in: 0...length, using: &generator)
            body(bytes, start..<Int.random(in: start...length, using: &generator))
        }
    }

    @Test("A scan stops at the first match, or where fewer than sixteen bytes are left")
    func scan() {
        Self.forEachPart { bytes, range in
            let found = bytes.span.scan(from: range.lowerBound, to: range.upperBound) {
                ByteMask.stringStops(in: $0)
            }
            let stops = { (byte: UInt8) in byte == 0x22 || byte == 0x5C || byte < 0x20 || byte >= 0x80 }
            let whole = range.lowerBound + range.count / 16 * 16
            #expect(found == bytes[range.lowerBound..<whole].firstIndex(where: stops) ?? whole)
        }
    }

    @Test("Skipping never passes a zero, and passes every block of 64 bytes without one")
    func nonzero() {
        Self.forEachPart { bytes, range in
            let passed = bytes.span.skipNonzero(from: range.lowerBound, to: range.upperBound)
            let first = bytes[range].firstIndex(of: 0) ?? range.upperBound
            #expect(passed <= first)
            #expect(passed + 64 > min(first, range.upperBound))
        }
    }

    @Test("Comparing vectors gives the same result as comparing bytes")
    func equality() {
        Self.forEachPart { bytes, range in
            let copy = [UInt8](repeating: 1, count: 3) + bytes[range]
            let isSame = bytes.span.equals(from: range.lowerBound, copy.span, from: 3, count: range.count)
            #expect(isSame)
            for index in 3..<copy.count {
                var other = copy
                other[index] ^= 0x80
                let isEqual = bytes.span.equals(from: range.lowerBound, other.span, from: 3, count: range.count)
                #expect(!isEqual)
            }
        }
    }

    @Test("Pairs of integers are passed in order, up to the first match")
    func words() {
        Self.forEachPart { bytes, range in
            var given: [UInt8] = []
            bytes.span.forEachPair(
                from: range.lowerBound, to: range.upperBound, until: { $0 .== ByteMask.of("}") }
            ) { low, high in
                for word in [low, high] {
                    for index in 0..<8 { given.append(UInt8(truncatingIfNeeded: word >> UInt64(8 * index))) }
                }
            }
            let whole = range.lowerBound + range.count / 16 * 16
            let end = bytes[range.lowerBound..<whole].firstIndex(of: 0x7D) ?? whole
            let expected = Array(bytes[range.lowerBound..<end])
            #expect(given.prefix(expected.count).elementsEqual(expected))
            #expect(given.dropFirst(expected.count).allSatisfy { $0 == 0 })
            #expect(given.count < expected.count + 16 || end < whole)
        }
    }
}
