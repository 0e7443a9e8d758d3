/// Splits a byte stream into messages that are each terminated by a NUL byte.
///
/// Receive a chunk, call ``next()`` until it returns nil, then receive again. With this order of calls, the buffer
/// never holds more than one message of maximum length and one chunk. A message is returned as a range of the buffer,
/// so it need not be copied. The range is valid until the next chunk is received, or until ``borrow(_:)``,
/// ``giveBack(_:keepingFrom:)`` or ``releaseMemory()`` is called.
package struct FrameDecoder: Sendable {
    /// The maximum length of a message in bytes, without its NUL.
    package let limit: Int
    private var buffer: [UInt8] = []
    /// The start of the first message that has not been returned yet.
    private var start = 0
    /// The index at which the search for the next NUL continues.
    private var searched = 0
    /// The end of the received bytes; the rest of the buffer is free.
    private var end = 0

    /// Creates a decoder.
    ///
    /// - Parameter limit: The maximum length of a message in bytes, without its NUL.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Whether an incomplete message is buffered. Only valid after ``next()`` has returned nil.
    package var hasPartialFrame: Bool { searched == end && start < end }

    /// Whether all received bytes have been searched for messages, so that more may be received.
    package var wantsBytes: Bool { searched == end }

    /// The number of received bytes that have not been returned yet.
    package var pendingCount: Int { end - start }

    /// The allocated size of the buffer, in bytes.
    package var capacity: Int { buffer.count }

    /// The range of the incomplete message; empty if there is none. Only valid after ``next()`` has returned nil.
    package var partialFrame: Range<Int> { start..<end }

    /// Copies a chunk into the buffer.
    package mutating func receive(_ chunk: Span<UInt8>) {
        receive(atMost: chunk.count) { buffer, room in
            var bytes = buffer.mutableSpan
            for index in chunk.indices { bytes[room.lowerBound + index] = chunk[index] }
            return chunk.count
        }
    }

    /// Copies a chunk into the buffer.
    package mutating func receive(_ chunk: [UInt8]) {
        receive(chunk.span)
    }

    /// Lets a closure write a chunk directly into the free part of the buffer.
    ///
    /// - Parameters:
    ///   - count: The maximum size of the chunk, in bytes.
    ///   - read: Writes bytes into the given range of the buffer, and only there. Returns their number.
    /// - Returns: The number of bytes that `read` returned.
    @discardableResult
    package mutating func receive<Failure: Error>(
        atMost count: Int, _ read: (_ buffer: inout [UInt8], _ room: Range<Int>) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        precondition(wantsBytes, "All complete messages must be read before more bytes are received")
        makeRoom(for: count)
        let received = try read(&buffer, end..<(end + count))
        precondition((0...count).contains(received), "A reader must not return more than the maximum")
        end += received
        return received
    }

    /// Returns the range of the next complete message, without its NUL; nil if none is complete.
    ///
    /// - Throws: `FrameError.tooLarge` if a message is too long. All later calls throw the same error.
    package mutating func next() throws(FrameError) -> Range<Int>? {
        guard let terminator = findTerminator() else {
            searched = end
            guard end - start <= limit else { throw .tooLarge(limit: limit) }
            return nil
        }
        let message = start..<terminator
        guard message.count <= limit else {
            // Treats the message as endless from now on, so that later calls throw the same error.
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

    /// Replaces each escape of an unpaired surrogate in a message with the escape of U+FFFD, which has the same length.
    ///
    /// Such an escape encodes no character, so a JSON scanner rejects it. Some languages write it nevertheless: Python
    /// for each invalid UTF-8 byte in a file name, JavaScript for half of an emoji.
    ///
    /// - Returns: `true` if the message contained such an escape.
    package mutating func replaceLoneSurrogates(in message: Range<Int>) -> Bool {
        var hasLone = false
        var index = message.lowerBound
        while index < message.upperBound {
            guard buffer[index] == UInt8(ascii: "\\") else {
                index += 1
                continue
            }
            switch surrogate(at: index, in: message) {
            case nil: index += 2
            case .high where surrogate(at: index + Self.escapeSize, in: message) == .low: index += 2 * Self.escapeSize
            case .high, .low:
                hasLone = true
                for (offset, digit) in "fffd".utf8.enumerated() { buffer[index + 2 + offset] = digit }
                index += Self.escapeSize
            }
        }
        return hasLone
    }

    private enum Surrogate {
        case high, low
    }

    /// The size of an escape such as `\ud83d`, in bytes.
    private static let escapeSize = 6

    /// Returns which half of a pair is escaped at an index of a message; nil if none is.
    private func surrogate(at index: Int, in message: Range<Int>) -> Surrogate? {
        guard index + Self.escapeSize <= message.upperBound, buffer[index + 1] == UInt8(ascii: "u") else { return nil }
        let digits = buffer[index + 2..<index + Self.escapeSize]
        guard buffer[index] == UInt8(ascii: "\\"), let text = String(validating: digits, as: UTF8.self),
            let unit = UInt16(text, radix: 16)
        else { return nil }
        return unit & 0xFC00 == 0xD800 ? .high : unit & 0xFC00 == 0xDC00 ? .low : nil
    }

    /// Releases the memory if all received bytes have been returned, for example on an idle connection.
    package mutating func releaseMemory() {
        guard start == end else { return }
        self = FrameDecoder(limit: limit)
    }

    // MARK: Memory

    /// The number of free bytes after an incomplete message in the decoder's own buffer; 0 if a borrowed buffer should
    /// be used.
    ///
    /// Without this, a sender of single bytes would cause all buffered bytes to be copied for each byte.
    package var ownRoom: Int {
        let room = buffer.count - end
        return start < end && room >= Self.minOwnRoom ? room : 0
    }

    private static let minOwnRoom = 1 << 10
    /// The maximum number of buffered bytes that may be copied after each read.
    private static let maxCopied = 4 << 10

    /// Copies the buffered bytes into `borrowed`, and swaps it with the current buffer, so that decoders can share a
    /// receive buffer. Does nothing unless the space left in `borrowed` exceeds the size of the current buffer.
    package mutating func borrow(_ borrowed: inout [UInt8]) {
        precondition(wantsBytes, "All complete messages must be read before a buffer is borrowed")
        guard borrowed.count - (end - start) > buffer.count else { return }
        let held = start..<end
        borrowed.replaceSubrange(0..<held.count, with: buffer[held])
        swap(&buffer, &borrowed)
        (start, end, searched) = (0, held.count, held.count)
    }

    /// Gives back the borrowed buffer, after copying the needed bytes to a smaller one. Does nothing if these bytes
    /// take more than half of the current buffer.
    ///
    /// - Parameters:
    ///   - borrowed: Is set to the current buffer, unless that is too large to keep or not larger than `borrowed`.
    ///   - first: The start of a returned message whose bytes are still needed; nil if there is none.
    /// - Returns: The distance, in bytes, by which all positions have moved towards the front.
    package mutating func giveBack(_ borrowed: inout [UInt8], keepingFrom first: Int? = nil) -> Int {
        let held = (first ?? start)..<end
        // A large message that arrives in many chunks must not be copied after each chunk.
        guard 2 * held.count <= buffer.count else { return 0 }
        var copy = Array(buffer[held])
        // The extra space ensures that the bytes are copied again only after they have grown by nearly half.
        if held.count > Self.maxCopied { copy.append(contentsOf: repeatElement(0, count: held.count / 2)) }
        if buffer.count > borrowed.count, buffer.count <= Self.maxBorrowed { swap(&buffer, &borrowed) }
        buffer = copy
        (start, end, searched) = (start - held.lowerBound, held.count, searched - held.lowerBound)
        return held.lowerBound
    }

    /// The maximum size of a buffer that is kept for reuse, in bytes.
    private static let maxBorrowed = 256 << 10

    private func findTerminator() -> Int? {
        let bytes = buffer.span
        var index = bytes.scan(from: bytes.skipNonzero(from: searched, to: end), to: end) { ByteMask.zeros(in: $0) }
        while index < end {
            if bytes[index] == 0 { return index }
            index += 1
        }
        return nil
    }

    /// Makes space for `count` bytes: if necessary, moves the buffered bytes to the front, and if that is not enough,
    /// grows the buffer.
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

/// The reason why a stream of messages cannot continue.
package enum FrameError: Error, Equatable, Sendable {
    /// A complete or incomplete message exceeds the maximum length.
    case tooLarge(limit: Int)
}

extension FrameError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLarge(let limit): "a message is longer than \(limit) bytes"
        }
    }
}
