import Glibc
import TestSockets
import Testing
import UnixIO

@Suite("File descriptors")
struct FileDescriptorTests {
    @Test("A descriptor is closed when its owner goes out of scope")
    func closes() throws {
        let pair = try DescriptorPair.pipe()
        do {
            let copy = try pair.second.duplicate()
            #expect(try copy.write([1]) == 1)
        }
        var buffer = [UInt8](repeating: 0, count: 8)
        #expect(try pair.first.read(into: &buffer) == 1)

        // After the last writer is closed, the reader gets the end of the stream.
        let reader = try writerGone()
        #expect(try reader.read(into: &buffer) == 0)
    }

    private func writerGone() throws -> FileDescriptor {
        let pair = try DescriptorPair.pipe()
        return try pair.first.duplicate()
    }

    @Test("A released descriptor stays open, and its new owner closes it once")
    func releases() throws {
        let pair = try SocketPair()
        let rawValue = try pair.first.duplicate().release()
        #expect(fcntl(rawValue, F_GETFD) != -1)

        try FileDescriptor(owning: rawValue).close()
        #expect(fcntl(rawValue, F_GETFD) == -1)
    }

    @Test("Every descriptor is closed on exec")
    func closeOnExec() throws {
        let pipe = try DescriptorPair.pipe()
        let sockets = try SocketPair()
        let file = try FileDescriptor.open("/dev/null")
        let copy = try file.duplicate()
        let counter = try EventCounter()

        for rawValue in [
            pipe.first.rawValue, pipe.second.rawValue, sockets.first.rawValue, sockets.second.rawValue,
            file.rawValue, copy.rawValue, counter.descriptor.rawValue,
        ] {
            #expect(fcntl(rawValue, F_GETFD) == FD_CLOEXEC)
        }
    }

    @Test("Reading into an array fills it from the offset, and leaves the rest unchanged")
    func readAtOffset() throws {
        let pair = try SocketPair()
        try pair.first.sendAll([1, 2, 3, 4])
        var buffer: [UInt8] = [9, 9, 9, 9, 9, 9]

        #expect(try pair.second.read(into: &buffer, at: 1, atMost: 3) == 3)
        #expect(buffer == [9, 1, 2, 3, 9, 9])
        #expect(try pair.second.read(into: &buffer, at: 5) == 1)
        #expect(buffer == [9, 1, 2, 3, 9, 4])
    }

    @Test("Reading with append adds exactly the bytes that are available")
    func readAppending() throws {
        let pair = try SocketPair()
        try pair.first.sendAll([3, 4, 5])
        var buffer: [UInt8] = [1, 2]

        #expect(try pair.second.read(appendingTo: &buffer, atMost: 2) == 2)
        #expect(buffer == [1, 2, 3, 4])
        #expect(pair.second.attemptRead(appendingTo: &buffer, atMost: 100) == .bytes(1))
        #expect(buffer == [1, 2, 3, 4, 5])
        #expect(pair.second.attemptRead(appendingTo: &buffer, atMost: 100) == .wouldBlock)
        #expect(buffer == [1, 2, 3, 4, 5])
    }

    @Test("Reading from an empty non-blocking descriptor throws or returns that it would block")
    func wouldBlock() throws {
        let pair = try SocketPair()
        var buffer = [UInt8](repeating: 0, count: 4)
        #expect(pair.first.attemptRead(into: &buffer) == .wouldBlock)
        #expect(throws: Errno.wouldBlock) { try readOnce(pair.first) }
    }

    @Test("The end of a stream differs from an empty stream")
    func end() throws {
        let pair = try SocketPair()
        try pair.second.shutdownWriting()
        var buffer = [UInt8](repeating: 0, count: 4)
        #expect(pair.first.attemptRead(into: &buffer) == .end)
    }

    @Test("A range of an array can be written")
    func writes() throws {
        let pair = try DescriptorPair.pipe()
        #expect(try pair.second.write([0, 1, 2, 3, 4], in: 1..<3) == 2)
        var buffer = [UInt8](repeating: 0, count: 8)
        #expect(try pair.first.read(into: &buffer) == 2)
        #expect(buffer.prefix(2) == [1, 2])
    }

    @Test("Writing all bytes waits for the reader if the pipe is full")
    func writeAll() throws {
        let pair = try DescriptorPair.pipe()
        try pair.first.setNonBlocking()
        try pair.second.setNonBlocking()
        let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        let writer = try pair.second.duplicate().release()

        let thread = try Thread.start(name: "writer") {
            let writer = FileDescriptor(owning: writer)
            try? writer.writeAll(content)
        }
        var received: [UInt8] = []
        while received.count < content.count {
            guard try Readiness.wait(pair.first, for: .read, timeout: .seconds(60)) else { break }
            guard case .bytes = pair.first.attemptRead(appendingTo: &received, atMost: 65_536) else { break }
        }
        thread.join()
        #expect(received == content)
    }

    private func readOnce(_ descriptor: borrowing FileDescriptor) throws(Errno) -> Int {
        var buffer = [UInt8](repeating: 0, count: 4)
        return try descriptor.read(into: &buffer)
    }
}
