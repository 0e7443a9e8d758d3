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

    mutating func releaseMemory() {
        frames.releaseMemory()
    }
}
