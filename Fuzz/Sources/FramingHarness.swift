import IssueProtocol

/// A stream of messages comes out the same however it is cut, and as a plain search for NUL bytes parts it.
///
/// Input: the limit, how many cuts there are, a byte for each, and the stream.
enum FramingHarness {
    /// What a decoder says in turn.
    enum Event: Equatable {
        case message([UInt8])
        case tooLarge
    }

    static func run(_ input: Span<UInt8>) {
        guard input.count > 2 else { return }
        let limit = Int(input[0])
        let cuts = input.array(from: 2).prefix(Int(input[1] % 32)).map { Int($0) }
        let stream = input.array(from: 2 + cuts.count)

        let expected = parted(stream, limit: limit)
        let whole = received([stream], limit: limit, exactly: true)
        require(whole == expected, "Fed whole, \(whole) came out instead of \(expected)")
        for exactly in [true, false] {
            let pieces = received(pieces(of: stream, cuts), limit: limit, exactly: exactly)
            require(pieces == expected, "Fed in pieces, \(pieces) came out instead of \(expected)")
        }
    }

    /// What must come out.
    private static func parted(_ stream: [UInt8], limit: Int) -> [Event] {
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
            // A piece of nothing is a read that was for nothing.
            let size = cuts.isEmpty || turn > 100 ? rest.count : cuts[turn % cuts.count]
            turn += 1
            pieces.append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return pieces
    }

    /// - Parameter exactly: Whether each piece is announced with its size, or with more than comes, as a socket does.
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
                require(nextFails(&decoder), "After an error there was another message")
                return events + [.tooLarge]
            }
            require(decoder.wantsBytes, "All messages were asked for, and no bytes are wanted")
            require(decoder.hasPartialFrame == (decoder.pendingCount > 0), "What is held is no part of a message")
            require(decoder.pendingCount <= limit, "More is held than a message may be long")
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
