/// Parts a stream of bytes into messages that each end with a NUL byte.
///
/// Receive a chunk, ask for messages until there is none, receive again. A
/// message is a range of the decoder's own buffer, good until the next chunk,
/// so it is never copied. Kept to that order, the buffer never holds more than
/// one message of the greatest length and one chunk.
package struct FrameDecoder: Sendable {
    /// The greatest length of a message, its NUL not counted.
    package let limit: Int
    private var buffer: [UInt8] = []
    /// Where the first message that was not handed out begins.
    private var start = 0
    /// Up to where no NUL was found.
    private var searched = 0
    /// Where the received bytes end; what lies behind is room for more.
    private var end = 0

    package init(limit: Int) {
        self.limit = limit
    }

    /// Whether a message has begun whose end has not come. True only after all whole messages were asked for.
    package var hasPartialFrame: Bool { searched == end && start < end }

    /// Whether all whole messages were handed out, so that more bytes may be received.
    package var wantsBytes: Bool { searched == end }

    /// The number of bytes that were received and not handed out.
    package var pendingCount: Int { end - start }

    /// The size of its buffer, whatever of that is in use.
    package var capacity: Int { buffer.count }

    /// Where the message lies whose end has not come.
    package var partialFrame: Range<Int> { start..<end }

    /// Takes over a chunk.
    package mutating func receive(_ chunk: Span<UInt8>) {
        receive(atMost: chunk.count) { buffer, room in
            var bytes = buffer.mutableSpan
            for index in chunk.indices { bytes[room.lowerBound + index] = chunk[index] }
            return chunk.count
        }
    }

    /// Takes over a chunk.
    package mutating func receive(_ chunk: [UInt8]) {
        receive(chunk.span)
    }

    /// Lets a reader write a chunk into the buffer itself, into the room that it is given and nowhere else, and
    /// answers what it answered: how many bytes it wrote.
    @discardableResult
    package mutating func receive<Failure: Error>(
        atMost count: Int, _ read: (_ buffer: inout [UInt8], _ room: Range<Int>) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        precondition(wantsBytes, "Messages that wait must be asked for before more bytes are received")
        makeRoom(for: count)
        let received = try read(&buffer, end..<(end + count))
        precondition((0...count).contains(received), "A reader can't have written more than there was room for")
        end += received
        return received
    }

    /// Where the next whole message lies, without its NUL, or nothing when its end has not come. After an error there
    /// is no message any more.
    package mutating func next() throws(FrameError) -> Range<Int>? {
        guard let terminator = terminator() else {
            searched = end
            guard end - start <= limit else { throw .tooLarge(limit: limit) }
            return nil
        }
        let message = start..<terminator
        guard message.count <= limit else {
            // From now on it is as if the message had no end, so the same error comes again.
            searched = end
            throw .tooLarge(limit: limit)
        }
        start = terminator + 1
        searched = start
        return message
    }

    /// The bytes of a message.
    package subscript(message: Range<Int>) -> Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { buffer.span.extracting(message) }
    }

    /// Gives back the memory while nothing is held, as for a connection that is idle.
    package mutating func releaseMemory() {
        guard start == end else { return }
        self = FrameDecoder(limit: limit)
    }

    // MARK: Memory

    /// How many bytes of a message that has come in part fit into the decoder's own buffer; 0 where a buffer had better
    /// be lent. A sender of single bytes would otherwise have all that is held copied for each of them.
    package var ownRoom: Int {
        let room = buffer.count - end
        return start < end && room >= Self.minOwnRoom ? room : 0
    }

    private static let minOwnRoom = 1 << 10
    /// More than that is not copied with each read.
    private static let maxCopied = 4 << 10

    /// Goes on in a buffer that is lent to it, so that not each decoder needs one of its own to receive into.
    package mutating func borrow(_ borrowed: inout [UInt8]) {
        precondition(wantsBytes, "Messages that wait lie in the decoder's own buffer")
        guard borrowed.count - (end - start) > buffer.count else { return }
        let held = start..<end
        var bytes = borrowed.mutableSpan
        for index in held { bytes[index - held.lowerBound] = buffer[index] }
        swap(&buffer, &borrowed)
        (start, end, searched) = (0, held.count, held.count)
    }

    /// Keeps what is held in little memory, and gives the buffer back.
    ///
    /// - Parameter first: where the bytes begin that are still wanted, if a message is that was handed out.
    /// - Returns: how far everything has moved to the front.
    package mutating func giveBack(_ borrowed: inout [UInt8], keepingFrom first: Int? = nil) -> Int {
        let held = (first ?? start)..<end
        // A large message that comes in pieces is not copied with each of them.
        guard 2 * held.count <= buffer.count else { return 0 }
        var kept = Array(buffer[held])
        // It is copied again only when it has grown by half.
        if held.count > Self.maxCopied { kept.append(contentsOf: repeatElement(0, count: held.count / 2)) }
        if buffer.count > borrowed.count, buffer.count <= Self.maxBorrowed { swap(&buffer, &borrowed) }
        buffer = kept
        (start, end, searched) = (start - held.lowerBound, held.count, searched - held.lowerBound)
        return held.lowerBound
    }

    /// A larger buffer is not kept for others.
    private static let maxBorrowed = 256 << 10

    private func terminator() -> Int? {
        let bytes = buffer.span
        var index = bytes.scan(from: bytes.passNonzero(from: searched, to: end), to: end) { ByteMask.zeros(in: $0) }
        while index < end {
            if bytes[index] == 0 { return index }
            index += 1
        }
        return nil
    }

    /// Makes room behind the end: by moving what is held to the front, and by growing where that is not enough.
    private mutating func makeRoom(for count: Int) {
        if start == end {
            start = 0
            end = 0
        } else if start > 0, end + count > buffer.count {
            let held = start..<end
            var bytes = buffer.mutableSpan
            for index in held { bytes[index - held.lowerBound] = bytes[index] }
            start = 0
            end = held.count
        }
        searched = end
        if end + count > buffer.count {
            let grown = max(end + count, min(2 * buffer.count, limit + 1 + count))
            buffer.append(contentsOf: repeatElement(0, count: grown - buffer.count))
        }
    }
}

/// Why a stream of messages can't go on.
package enum FrameError: Error, Equatable, Sendable {
    /// A message that is longer than allowed, whether or not its end has come.
    case tooLarge(limit: Int)
}

extension FrameError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLarge(let limit): "a message is longer than \(limit) bytes"
        }
    }
}
