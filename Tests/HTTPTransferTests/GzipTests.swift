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

    @Test("Decompressing returns the compressed bytes", arguments: [0, 1, 2, 65_535, 65_536, 65_537, 5_000_000])
    func roundTrip(count: Int) throws {
        let bytes = Self.sample(count)
        for level in [0, 1, 6, 9] {
            let packed = try Gzip.compress(bytes, level: level)
            #expect(packed.starts(with: [0x1F, 0x8B, 8]))
            #expect(try Gzip.decompress(packed, limit: count) == bytes)
        }
    }

    @Test("A compressor can be reused with the same result")
    func reuse() throws {
        var compressor = try GzipCompressor(level: 6)
        for count in [1000, 0, 70_000, 1000] {
            #expect(try compressor.compress(Self.sample(count)) == Gzip.compress(Self.sample(count), level: 6))
        }
    }

    @Test("A body compressed in parts is a single stream, for any parts", arguments: [0, 1, 1000, 65_536, 3_000_000])
    func pieces(count: Int) throws {
        var compressor = try GzipCompressor(level: 6)
        let bytes = Self.sample(count)
        for size in [1, 70_000, 1 << 20] where count / size < 100_000 {
            var packed: [UInt8] = []
            for start in stride(from: 0, to: count, by: size) {
                try compressor.append(Array(bytes[start..<min(start + size, count)]), to: &packed)
            }
            try compressor.finish(into: &packed)
            #expect(try Gzip.decompress(packed, limit: count) == bytes)
        }
    }

    @Test("Compressed text is smaller")
    func smaller() throws {
        let bytes = [UInt8](repeating: 7, count: 1_000_000)
        #expect(try Gzip.compress(bytes).count < 2000)
    }

    @Test("The limit applies while the output grows, not only afterwards")
    func limit() throws {
        let packed = try Gzip.compress([UInt8](repeating: 0, count: 1_000_000))
        #expect(throws: GzipError.overLimit) { try Gzip.decompress(packed, limit: 999_999) }
        #expect(throws: GzipError.overLimit) { try Gzip.decompress(packed, limit: 0) }
        // The damage is after the limit, so it is not even reached.
        #expect(throws: GzipError.overLimit) { try Gzip.decompress(packed.dropLast(20) + [1, 2, 3], limit: 1000) }
    }

    @Test("A truncated stream is an error at any length")
    func truncated() throws {
        let packed = try Gzip.compress(Self.sample(3000))
        for count in 0..<packed.count {
            #expect(throws: GzipError.truncated, "cut at \(count)") {
                try Gzip.decompress(Array(packed.prefix(count)), limit: 1_000_000)
            }
        }
    }

    @Test("A wrong checksum or length is an error")
    func wrongTrailer() throws {
        let packed = try Gzip.compress(Self.sample(3000))
        for offset in 1...8 {
            var damaged = packed
            damaged[damaged.count - offset] ^= 0x40
            #expect(throws: GzipError.corrupt) { try Gzip.decompress(damaged, limit: 1_000_000) }
        }
    }

    @Test("Every changed byte is detected or harmless")
    func damaged() throws {
        let bytes = Self.sample(3000)
        let packed = try Gzip.compress(bytes)
        for index in packed.indices {
            var damaged = packed
            damaged[index] ^= 0xFF
            // A header contains bytes without an effect: the time and the system.
            if let output = try? Gzip.decompress(damaged, limit: 1_000_000) {
                #expect((4..<10).contains(index))
                #expect(output == bytes)
            }
        }
    }

    @Test("Anything but gzip is an error", arguments: ["plain text", "\u{1F}", "{}"])
    func notGzip(text: String) {
        #expect(throws: GzipError.self) { try Gzip.decompress(Array(text.utf8), limit: 1000) }
    }

    @Test("Concatenated streams are read as one, and trailing bytes are an error")
    func members() throws {
        let packed = try Gzip.compress([1, 2]) + Gzip.compress([3])
        #expect(try Gzip.decompress(packed, limit: 3) == [1, 2, 3])
        #expect(throws: GzipError.corrupt) { try Gzip.decompress(packed + [0, 0, 0], limit: 3) }
    }
}
