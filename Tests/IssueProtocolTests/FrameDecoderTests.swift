import IssueProtocol
import Testing

@Suite("FrameDecoder")
struct FrameDecoderTests {
    static let messages = [
        #"{"method":"a.B"}"#, "", "1234567", "12345678", "123456789", String(repeating: "x", count: 200), "é\u{1}",
    ]
    static let stream = messages.flatMap { Array("\($0)\0".utf8) }

    @Test("The messages do not depend on how the bytes arrive", arguments: [1, 2, 3, 7, 64, 1000])
    func dripFeed(chunk: Int) throws {
        var decoder = FrameDecoder(limit: 200)

        #expect(try Self.feed(Self.stream, to: &decoder, by: chunk) == Self.messages)
        #expect(!decoder.hasPartialFrame)
        #expect(decoder.wantsBytes)
        #expect(decoder.pendingCount == 0)
    }

    @Test("The messages are the same if a reader writes directly into the buffer", arguments: [1, 2, 3, 7, 64, 1000])
    func ownRoom(chunk: Int) throws {
        var decoder = FrameDecoder(limit: 200)
        var read = 0
        var messages: [String] = []
        while read < Self.stream.count {
            // A reader rarely fills the whole space.
            let count = try decoder.receive(atMost: 2 * chunk) { buffer, room throws(FrameError) in
                #expect(room.count == 2 * chunk)
                let count = min(chunk, Self.stream.count - read)
                buffer.replaceSubrange(room.prefix(count), with: Self.stream[read..<(read + count)])
                return count
            }
            read += count
            messages += try Self.drain(&decoder)
        }

        #expect(messages == Self.messages)
    }

    @Test("A truncated stream gives the complete messages and reports a partial one")
    func truncated() throws {
        for end in 0...Self.stream.count {
            var decoder = FrameDecoder(limit: 200)
            let messages = try Self.feed(Array(Self.stream[..<end]), to: &decoder, by: 7)

            let whole = Self.stream[..<end].filter { $0 == 0 }.count
            #expect(messages == Array(Self.messages[..<whole]))
            #expect(decoder.hasPartialFrame == (end > 0 && Self.stream[end - 1] != 0))
        }
    }

    @Test(
        "A message may be as long as the limit and no longer, whether or not it is complete", arguments: [1, 5, 64])
    func limit(chunk: Int) throws {
        for (length, isTaken) in [(31, true), (32, true), (33, false), (1000, false)] {
            for ending: [UInt8] in [[], [0], [0, 65, 0]] {
                var decoder = FrameDecoder(limit: 32)
                let bytes = [UInt8(65), 0] + [UInt8](repeating: 66, count: length) + ending
                if isTaken {
                    #expect(
                        try Self.feed(bytes, to: &decoder, by: chunk).count == 1 + ending.filter { $0 == 0 }.count)
                } else {
                    #expect(throws: FrameError.tooLarge(limit: 32)) { try Self.feed(bytes, to: &decoder, by: chunk) }
                    decoder.receive([0, 65, 0])
                    #expect(throws: FrameError.tooLarge(limit: 32)) { try decoder.next() }
                }
            }
        }
    }

    @Test("Short and long messages are decoded, whether a chunk has many messages or a message takes many chunks")
    func mixture() throws {
        var chance = SeededGenerator(seed: 7)
        var messages: [String] = []
        for _ in 0..<300 {
            messages.append(String(repeating: "m", count: chance.pick([0, 1, 8, 15, 16, 100, 3000])))
        }
        let stream = messages.flatMap { Array("\($0)\0".utf8) }

        for chunk in [100, 4096, 65_536] {
            var decoder = FrameDecoder(limit: 3000)
            #expect(try Self.feed(stream, to: &decoder, by: chunk) == messages)
        }
    }

    @Test("Memory is released only when no bytes are buffered, and decoding continues afterwards")
    func release() throws {
        var decoder = FrameDecoder(limit: 100)
        decoder.receive([65, 66])
        #expect(try decoder.next() == nil)

        decoder.releaseMemory()
        #expect(decoder.capacity > 0)
        decoder.receive([67, 0])
        let message = try #require(try decoder.next())
        #expect(Self.text(decoder[message]) == "ABC")

        decoder.releaseMemory()
        #expect(decoder.capacity == 0)
        decoder.receive([68, 0])
        let next = try #require(try decoder.next())
        #expect(Self.text(decoder[next]) == "D")
    }

    @Test("Decoders that share a receive buffer each decode their own messages")
    func lending() throws {
        var chance = SeededGenerator(seed: 11)
        let expected = (0..<8).map { number in
            (0..<60).map { "\(number)-\($0)-" + String(repeating: "x", count: chance.pick([0, 3, 30, 200, 900])) }
        }
        var streams = expected.map { $0.flatMap { Array("\($0)\0".utf8) }[...] }
        var decoders = [FrameDecoder](repeating: FrameDecoder(limit: 1000), count: 8)
        var messages = [[String]](repeating: [], count: 8)
        var borrowed: [UInt8] = []
        while let number = streams.indices.filter({ !streams[$0].isEmpty }).randomElement(using: &chance) {
            decoders[number].borrow(&borrowed)
            let chunk = streams[number].prefix(chance.pick([1, 7, 100, 2000]))
            streams[number] = streams[number].dropFirst(chunk.count)
            decoders[number].receive(Array(chunk))
            messages[number] += try Self.drain(&decoders[number])
            _ = decoders[number].giveBack(&borrowed)
        }
        #expect(messages == expected)
    }

    @Test("A message that is still in use stays valid at its new position")
    func keeping() throws {
        var decoder = FrameDecoder(limit: 1000)
        var borrowed = [UInt8](repeating: 0, count: 4096)
        decoder.borrow(&borrowed)
        #expect(borrowed.isEmpty)
        decoder.receive(Array("first\0second\0third\0fou".utf8))
        _ = try decoder.next()
        let second = try #require(try decoder.next())
        let moved = decoder.giveBack(&borrowed, keepingFrom: second.lowerBound)
        #expect(moved == 6)
        #expect(borrowed.count >= 4096)
        #expect(Self.text(decoder[(second.lowerBound - moved)..<(second.upperBound - moved)]) == "second")
        let third = try #require(try decoder.next())
        #expect(Self.text(decoder[third]) == "third")
        #expect(try decoder.next() == nil)
        #expect(decoder.pendingCount == 3)
        decoder.borrow(&borrowed)
        decoder.receive(Array("rth\0".utf8))
        let fourth = try #require(try decoder.next())
        #expect(Self.text(decoder[fourth]) == "fourth")
    }

    static func feed(_ bytes: [UInt8], to decoder: inout FrameDecoder, by chunk: Int) throws -> [String] {
        var messages: [String] = []
        for start in stride(from: 0, to: bytes.count, by: chunk) {
            let part = Array(bytes[start..<min(start + chunk, bytes.count)])
            decoder.receive(part)
            messages += try drain(&decoder)
        }
        return messages
    }

    static func drain(_ decoder: inout FrameDecoder) throws -> [String] {
        var messages: [String] = []
        while let message = try decoder.next() { messages.append(text(decoder[message])) }
        return messages
    }

    static func text(_ bytes: Span<UInt8>) -> String {
        String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }

    @Test(
        "An escaped surrogate without its other half is replaced, and nothing else",
        arguments: [
            (#"\udcff"#, #"\ufffd"#), (#"a\uD800b"#, #"a\ufffdb"#), (#"\ud83d\ude00"#, nil), (#"\uFFFD\ue000"#, nil),
            (#"\ud83d\ud83d\ude00"#, #"\ufffd\ud83d\ude00"#), (#"\ude00\ud83d"#, #"\ufffd\ufffd"#),
            (#"\\udcff"#, nil), (#"\\\udcff"#, #"\\\ufffd"#), (#"\ud83d\n"#, #"\ufffd\n"#), (#"\ud8"#, nil),
            (#"\u+d80"#, nil), ("\\", nil),
        ] as [(String, String?)])
    func loneSurrogates(message: String, expected: String?) throws {
        var decoder = FrameDecoder(limit: 100)
        decoder.receive(Array((message + "\0" + #"\udc00"#).utf8))
        let frame = try #require(try decoder.next())
        #expect(decoder.replaceLoneSurrogates(in: frame) == (expected != nil))
        #expect(Self.text(decoder[frame]) == expected ?? message)
        #expect(decoder.replaceLoneSurrogates(in: frame) == false)
        #expect(Self.text(decoder[decoder.partialFrame]) == #"\udc00"#, "The next message was changed")
    }

    @Test("A message that arrives byte by byte is copied only after it has grown by half")
    func singleBytes() throws {
        var decoder = FrameDecoder(limit: 1 << 20)
        var borrowed = [UInt8](repeating: 0, count: 128 << 10)
        let message = (0..<200_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        var growths = 0
        for (index, byte) in (message + [0]).enumerated() {
            if decoder.ownRoom == 0 {
                let before = borrowed.count
                decoder.borrow(&borrowed)
                // The buffer was swapped: the buffered bytes were copied.
                if index > 4 << 10, borrowed.count != before { growths += 1 }
            }
            decoder.receive(atMost: max(1, min(decoder.ownRoom, 128 << 10))) { buffer, room in
                buffer[room.lowerBound] = byte
                return 1
            }
            if index < message.count {
                #expect(try decoder.next() == nil)
                _ = decoder.giveBack(&borrowed)
            }
        }
        let frame = try #require(try decoder.next())
        #expect(Self.text(decoder[frame]) == String(decoding: message, as: UTF8.self))
        #expect(growths < 20)
    }
}
