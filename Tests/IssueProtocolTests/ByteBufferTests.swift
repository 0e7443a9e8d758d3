import IssueProtocol
import Testing

@Suite("ByteBuffer")
struct ByteBufferTests {
    @Test("The contents equal an array of the same pieces")
    func appending() {
        let source = (0..<200).map { UInt8($0) }
        for start in 0..<20 {
            var buffer = ByteBuffer()
            var expected: [UInt8] = []
            // Runs of every length, including runs at the end of their source.
            for length in 0...40 {
                for from in [start, source.count - length] {
                    buffer.append(source.span, from: from, to: from + length)
                    expected += source[from..<(from + length)]
                }
                buffer.append(UInt8(length))
                expected.append(UInt8(length))
            }
            #expect(buffer.count == expected.count)
            #expect(buffer[0..<buffer.count] == expected)
        }
    }

    @Test("Truncating drops the bytes after the new end, and appending continues there")
    func truncating() {
        var buffer = ByteBuffer(Array(1...100))
        buffer.truncate(to: 3)
        buffer.append(7)
        #expect(buffer[0..<buffer.count] == [1, 2, 3, 7])
        #expect(buffer.span.count == 4)
        buffer.truncate(to: 0)
        #expect(buffer.isEmpty)
    }

    @Test("Integers overwrite existing bytes in little-endian order")
    func storing() {
        var buffer = ByteBuffer([9])
        buffer.appendRoom(8)
        buffer.append(10)
        buffer.store(words: [0x0807_0605_0403_0201].span, at: 1)
        #expect(buffer[0..<buffer.count] == [9, 1, 2, 3, 4, 5, 6, 7, 8, 10])
    }
}
