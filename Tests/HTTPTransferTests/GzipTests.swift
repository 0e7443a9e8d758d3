import FakeLogz
import HTTPTransfer
import Testing

@Suite struct GzipTests {
    /// Bytes that are neither repetitive nor completely random.
    static func sample(_ count: Int) -> [UInt8] {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        return (0..<count).map { index in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return index % 3 == 0 ? UInt8(truncatingIfNeeded: state) : UInt8(ascii: "a")
        }
    }

    /// Passes the bytes to the compressor in parts of `size` bytes, and returns the compressed body.
    private func packed(_ bytes: [UInt8], in size: Int, level: Int) throws -> [UInt8] {
        var compressor = try GzipCompressor(level: level)
        var packed: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            try compressor.append(Array(bytes[start..<min(start + size, bytes.count)]), to: &packed)
        }
        try compressor.finish(into: &packed)
        return packed
    }

    @Test(
        "A compressed body is decompressed to the same bytes, whatever the size of its parts and the level",
        arguments: [0, 1, 2, 1000, 65_535, 65_536, 65_537, 3_000_000])
    func roundTrip(count: Int) throws {
        let bytes = Self.sample(count)
        for size in [1, 70_000, 1 << 20, 4 << 20] where count / size < 100_000 {
            for level in size == 1 ? [6] : [0, 1, 6, 9] {
                let packed = try packed(bytes, in: size, level: level)
                #expect(packed.starts(with: [0x1F, 0x8B, 8]))
                #expect(try Inflate.gzip(packed, limit: count) == bytes)
                // The last four bytes are the size of the last stream, so there is only one.
                let size = packed.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
                #expect(size == count)
            }
        }
    }

    @Test("A million equal bytes are compressed to less than 2,000 bytes")
    func smaller() throws {
        #expect(try packed([UInt8](repeating: 7, count: 1_000_000), in: 1 << 20, level: 6).count < 2000)
    }

    @Test("Nothing can be appended to a body that has ended")
    func ended() throws {
        var compressor = try GzipCompressor(level: 6)
        var output: [UInt8] = []
        try compressor.finish(into: &output)
        do {
            try compressor.append([1], to: &output)
            Issue.record("The part was accepted")
        } catch {
            #expect(error == .failed)
        }
    }
}
