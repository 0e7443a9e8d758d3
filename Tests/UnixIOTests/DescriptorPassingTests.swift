import Glibc
import TestSockets
import Testing
import UnixIO

@Suite("Descriptor passing")
struct DescriptorPassingTests {
    @Test("A descriptor arrives with its bytes, refers to the same open file, and is closed on exec")
    func passing() throws {
        let pair = try SocketPair()
        let pipe = try DescriptorPair.pipe()
        let bytes = Array("here".utf8)
        #expect(pair.first.attemptSend(bytes.span, passing: pipe.second) == .bytes(4))
        var buffer = [UInt8](repeating: 0, count: 64)
        var file: FileDescriptor?
        #expect(try pair.second.receive(into: &buffer, at: 1, atMost: 63, passed: &file) == 4)
        #expect(buffer[1..<5].elementsEqual(bytes))
        guard let file = file.take() else {
            Issue.record("No descriptor was received")
            return
        }
        #expect(fcntl(file.rawValue, F_GETFD) & FD_CLOEXEC != 0)
        try file.writeAll([7])
        #expect(try pipe.first.read(into: &buffer) == 1)
        #expect(buffer[0] == 7)
    }

    @Test("Bytes without a descriptor pass none, and a plain read leaves none open")
    func none() throws {
        let pair = try SocketPair()
        _ = pair.first.attemptSend([1, 2])
        var buffer = [UInt8](repeating: 0, count: 64)
        var file: FileDescriptor?
        #expect(try pair.second.receive(into: &buffer, at: 0, atMost: 64, passed: &file) == 2)
        switch file {
        case .some: Issue.record("An unexpected descriptor was received")
        case .none: break
        }
        // After a message was read without receiving its descriptor, the pipe has no writer.
        var readers: [CInt] = []
        do {
            let pipe = try DescriptorPair.pipe()
            _ = pair.first.attemptSend([1, 2].span, passing: pipe.second)
            readers.append(try pipe.first.duplicate().release())
        }
        _ = try pair.second.read(into: &buffer)
        let reader = FileDescriptor(owning: readers[0])
        #expect(try reader.read(into: &buffer) == 0)
    }
}
