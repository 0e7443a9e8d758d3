internal import IssueWire
internal import UnixIO

/// Makes replies of the bytes that a connection gives.
struct ReplyReader: Sendable {
    private var frames: FrameDecoder

    init(limit: Int) {
        frames = FrameDecoder(limit: limit)
    }

    /// The next whole reply, if there is one.
    mutating func next() throws -> VarlinkReply? {
        guard let frame = try frames.next() else { return nil }
        return try VarlinkReply(decoding: frames[frame])
    }

    /// Reads what is there, up to so much; 0 is the end.
    mutating func read(from socket: borrowing FileDescriptor, atMost count: Int) throws(Errno) -> Int {
        try frames.receive(atMost: count) { buffer, room throws(Errno) in
            try socket.read(into: &buffer, at: room.lowerBound, atMost: room.count)
        }
    }

    /// Reads what is there, and takes the descriptor that was passed along with it, if any.
    mutating func read(
        from socket: borrowing FileDescriptor, atMost count: Int, passed file: inout FileDescriptor?
    ) throws(Errno) -> Int {
        // A closure can't borrow an argument that is changed, nor copy a descriptor.
        var buffer = [UInt8](repeating: 0, count: count)
        let received = try socket.receive(into: &buffer, at: 0, atMost: count, passed: &file)
        frames.receive(buffer.span.extracting(0..<received))
        return received
    }

    mutating func releaseMemory() {
        frames.releaseMemory()
    }
}
