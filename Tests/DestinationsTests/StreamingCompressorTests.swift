import FakeLogz
import HTTPTransfer
import Testing

@testable import Destinations

@Suite struct StreamingCompressorTests {
    private let line = [UInt8](repeating: UInt8(ascii: "x"), count: 20 << 10)

    @Test("If zlib fails in the middle, the body is broken, and its lines can be sent in another body")
    func brokenBody() throws {
        let broken = StreamingCompressor(.lines, level: 6) { (level) throws(GzipError) in
            // Nothing can be appended to a stream that has ended.
            var compressor = try GzipCompressor(level: level)
            var output: [UInt8] = []
            try compressor.finish(into: &output)
            return compressor
        }
        for _ in 0..<3 { broken.add(line) }
        #expect(!broken.isBroken)
        for _ in 0..<2 {
            #expect(!broken.finish())
            #expect(broken.isBroken)
        }

        let other = StreamingCompressor(.lines, level: 6)
        for _ in 0..<3 { other.add(line) }
        #expect(other.finish() && !other.isBroken && other.isCompressed)
        let expected = Array(repeating: line + [UInt8(ascii: "\n")], count: 3).flatMap(\.self)
        #expect(try Inflate.gzip(other.bytes, limit: 1 << 20) == expected)
    }
}
