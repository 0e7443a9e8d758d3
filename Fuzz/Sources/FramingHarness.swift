import IssueProtocol

/// A stream yields the same messages as a plain search for NUL bytes, no matter how the stream is split.
///
/// Input: the limit, the number of cuts, the size of each piece as a byte, and the stream.
enum FramingHarness {
    /// A result of the decoder.
    enum Event: Equatable {
        case message([UInt8])
        case tooLarge
    }

    static func run(_ input: Span<UInt8>) {
        guard input.count > 2 else { return }
        let limit = Int(input[0])
        let cuts = input.array(from: 2).prefix(Int(input[1] % 32)).map { Int($0) }
        let stream = input.array(from: 2 + cuts.count)

        let expected = expectedEvents(of: stream, limit: limit)
        let whole = received([stream], limit: limit, exactly: true)
        require(whole == expected, "The whole stream yields \(whole) instead of \(expected)")
        for exactly in [true, false] {
            let pieces = received(pieces(of: stream, cuts), limit: limit, exactly: exactly)
            require(pieces == expected, "The stream in pieces yields \(pieces) instead of \(expected)")
        }
    }

    /// Returns the events that a plain search for NUL bytes yields.
    private static func expectedEvents(of stream: [UInt8], limit: Int) -> [Event] {
        var events: [Event] = []
        var rest = stream[...]
        while let end = rest.firstIndex(of: 0) {
            guard end - rest.startIndex <= limit else { return events + [.tooLarge] }
            events.append(.message(Array(rest[..<end])))
            rest = rest[(end + 1)...]
        }
        return rest.count > limit ? events + [.tooLarge] : events
    }

    private static func pieces(of stream: [UInt8], _ cuts: [Int]) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = stream[...]
        var turn = 0
        while !rest.isEmpty {
            // An empty piece is a read that returned no bytes.
            let size = cuts.isEmpty || turn > 100 ? rest.count : cuts[turn % cuts.count]
            turn += 1
            pieces.append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return pieces
    }

    /// Returns the events of a decoder that receives the pieces.
    ///
    /// - Parameter exactly: `true` to pass each piece as an array. Otherwise the decoder provides a buffer that is
    ///   larger than the piece, as for a read from a socket.
    private static func received(_ pieces: [[UInt8]], limit: Int, exactly: Bool) -> [Event] {
        var decoder = FrameDecoder(limit: limit)
        var events: [Event] = []
        for piece in pieces {
            if exactly {
                decoder.receive(piece)
            } else {
                decoder.receive(atMost: piece.count + 7) { buffer, room in
                    for index in piece.indices { buffer[room.lowerBound + index] = piece[index] }
                    return piece.count
                }
            }
            do throws(FrameError) {
                while let message = try decoder.next() { events.append(.message(decoder[message].array())) }
            } catch {
                require(nextFails(&decoder), "A message follows an error")
                return events + [.tooLarge]
            }
            require(decoder.wantsBytes, "All messages were taken, but the decoder does not want bytes")
            require(
                decoder.hasPartialFrame == (decoder.pendingCount > 0),
                "hasPartialFrame does not agree with pendingCount")
            require(decoder.pendingCount <= limit, "The decoder holds more bytes than the limit")
            decoder.releaseMemory()
        }
        return events
    }

    private static func nextFails(_ decoder: inout FrameDecoder) -> Bool {
        do throws(FrameError) {
            _ = try decoder.next()
            return false
        } catch {
            return true
        }
    }
}
