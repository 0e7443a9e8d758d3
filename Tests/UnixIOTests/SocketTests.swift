import Foundation
import Glibc
import TestSockets
import Testing
import UnixIO

@Suite("Sockets")
struct SocketTests {
    @Test("A connection transfers bytes in both directions, and accepting does not block")
    func roundTrip() throws {
        let folder = try ScratchFolder()
        let address = try SocketAddress.unix(folder.file("s"))
        let listener = try Socket.listenUnix(at: address, mode: 0o600)
        #expect(try listener.isListening())
        #expect(try !hasConnection(listener))

        let client = try Socket.connect(to: address, timeout: .seconds(60))
        let server = try accept(listener)
        try client.sendAll(Array("ping".utf8))
        try server.sendAll(Array("pong".utf8))

        var buffer: [UInt8] = []
        #expect(try server.read(appendingTo: &buffer, atMost: 64) == 4)
        #expect(try client.read(appendingTo: &buffer, atMost: 64) == 4)
        #expect(buffer == Array("pingpong".utf8))
        #expect(try !server.isListening())
    }

    @Test("The socket file has the given mode, whatever the umask is")
    func mode() async {
        // In a process of its own, because the umask applies to all threads.
        await #expect(processExitsWith: .success) {
            for mask in [0, 0o077, 0o777] as [mode_t] {
                for mode in [0o600, 0o660, 0o666] as [UInt32] {
                    let folder = try ScratchFolder()
                    let path = folder.file("s")
                    let usual = umask(mask)
                    let listener = try Socket.listenUnix(at: .unix(path), mode: mode)
                    umask(usual)
                    #expect(try FileSystem.status(of: path).mode == mode)
                    #expect(try FileSystem.status(of: path).kind == .socket)
                    _ = consume listener
                }
            }
        }
    }

    @Test("The socket file of a process that has ended is replaced")
    func stale() throws {
        let folder = try ScratchFolder()
        let address = try SocketAddress.unix(folder.file("s"))
        try listenAndDie(address)
        #expect(throws: Errno.connectionRefused) { try connectAndForget(address) }

        let listener = try Socket.listenUnix(at: address, mode: 0o600)
        try connectAndForget(address)
        #expect(try hasConnection(listener))
    }

    @Test("The socket file of a running process is not touched")
    func live() throws {
        let folder = try ScratchFolder()
        let address = try SocketAddress.unix(folder.file("s"))
        let listener = try Socket.listenUnix(at: address, mode: 0o600)

        #expect(throws: Errno.addressInUse) { try Socket.listenUnix(at: address, mode: 0o600).close() }
        // The first connection is the probe of the second call of listenUnix.
        _ = try hasConnection(listener)
        try connectAndForget(address)
        #expect(try hasConnection(listener))
    }

    @Test("A file that is not a socket is never removed")
    func notSocket() throws {
        let folder = try ScratchFolder()
        let path = folder.file("s")
        try FileSystem.writeAtomically([1, 2, 3], to: path)

        #expect(throws: Errno.addressInUse) { try Socket.listenUnix(at: .unix(path), mode: 0o600).close() }
        #expect(try FileSystem.read(path, limit: 10) == [1, 2, 3])
    }

    @Test("If several servers start at the same time, exactly one listens")
    func race() throws {
        let folder = try ScratchFolder()
        let address = try SocketAddress.unix(folder.file("s"))
        // Repeated often enough to hit the moment between bind and listen.
        for _ in 0..<300 {
            try listenAndDie(address)
            let winners = Monitor<[CInt]>([])
            try startRacers(4, at: address, winners: winners)
            let listeners = winners.withLock { $0 }
            #expect(listeners.count == 1)
            for winner in listeners { try die(FileDescriptor(owning: winner)) }
        }
    }

    /// Leaves the socket file of a listener that has ended.
    private func listenAndDie(_ address: SocketAddress) throws {
        try die(Socket.listenUnix(at: address, mode: 0o600))
    }

    /// Ends a listener, even if a child that another test has just forked still holds a copy of its descriptor.
    private func die(_ listener: consuming FileDescriptor) throws {
        try listener.shutdownBoth()
        try listener.close()
    }

    private func startRacers(_ count: Int, at address: SocketAddress, winners: Monitor<[CInt]>) throws {
        let finished = Monitor(0)
        for _ in 0..<count {
            _ = try Thread.start(name: "racer") {
                if let listener = try? Socket.listenUnix(at: address, mode: 0o600) {
                    let rawValue = listener.release()
                    winners.withLock { $0.append(rawValue) }
                }
                finished.withLock { $0 += 1 }
                finished.broadcast()
            }
        }
        let deadline = MonotonicClock.now.advanced(by: .seconds(60))
        let done: Bool? = finished.wait(deadline: deadline) { $0 == count ? true : nil }
        #expect(done == true)
    }

    @Test("An abstract name needs no file")
    func abstract() throws {
        let address = try SocketAddress.unix("@uio-test-\(UInt64.random(in: 0...UInt64.max))")
        #expect(address.path == nil)
        let listener = try Socket.listenUnix(at: address, mode: 0o600)
        try connectAndForget(address)
        #expect(try hasConnection(listener))
    }

    @Test("Connecting to a listener that does not accept ends at the timeout")
    func fullBacklog() throws {
        let folder = try ScratchFolder()
        let address = try SocketAddress.unix(folder.file("s"))
        let listener = try Socket.listenUnix(at: address, mode: 0o600, backlog: 0)
        // A backlog of 0 has space for one connection.
        let first = try Socket.connect(to: address, timeout: .zero)

        #expect(throws: Errno.wouldBlock) { try connectAndForget(address, timeout: .zero) }
        let start = MonotonicClock.now
        #expect(throws: Errno.timedOut) { try connectAndForget(address, timeout: .milliseconds(50)) }
        #expect(start.duration(to: MonotonicClock.now) >= .milliseconds(50))

        // A waiting connection is queued as soon as there is space.
        let thread = try Thread.start(name: "acceptor") { [rawValue = listener.rawValue] in
            _ = Glibc.close(Glibc.accept(rawValue, nil, nil))
        }
        try connectAndForget(address, timeout: .seconds(60))
        thread.join()
        _ = consume first
        _ = consume listener
    }

    @Test("Sending to a closed peer is an error and raises no SIGPIPE")
    func brokenPipe() throws {
        let one = try peerGone()
        #expect(one.attemptSend([1]) == .failed(.brokenPipe))
        #expect(throws: Errno.brokenPipe) { try one.sendAll([1, 2, 3]) }
    }

    private func peerGone() throws -> FileDescriptor {
        let pair = try SocketPair()
        return try pair.first.duplicate()
    }

    @Test("Sending to a peer that does not read ends at the timeout")
    func sendTimeout() throws {
        let pair = try SocketPair()
        try pair.first.setSendBuffer(bytes: 4096)
        #expect(throws: Errno.timedOut) {
            try pair.first.sendAll([UInt8](repeating: 0, count: 1 << 20), timeout: .milliseconds(20))
        }
    }

    @Test("A datagram reaches a path and an abstract name", arguments: [false, true])
    func datagram(abstract: Bool) throws {
        let folder = try ScratchFolder()
        let path = abstract ? "@uio-test-\(UInt64.random(in: 0...UInt64.max))" : folder.file("n")
        let receiver = try Socket.datagramReceiver(at: path)
        try Socket.sendDatagram(Array("READY=1".utf8), to: .unix(path))
        var buffer: [UInt8] = []
        #expect(try receiver.read(appendingTo: &buffer, atMost: 100) == 7)
        #expect(buffer == Array("READY=1".utf8))
    }

    private func connectAndForget(_ address: SocketAddress, timeout: Duration = .seconds(60)) throws {
        try Socket.connect(to: address, timeout: timeout).close()
    }
}
