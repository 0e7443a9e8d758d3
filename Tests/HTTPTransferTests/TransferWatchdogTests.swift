import Glibc
import TestSockets
import Testing
import UnixIO

@testable import HTTPTransfer

@Suite struct TransferWatchdogTests {
    @Test("A transfer that does not end in time loses its connections, and connections that it opens afterwards")
    func overdue() throws {
        let own = try SocketPair(nonBlocking: false)
        let peers = try SocketPair(nonBlocking: false)
        let sockets = TransferSockets()
        let watchdog = TransferWatchdog()
        sockets.add(own.first.rawValue)
        watchdog.begin(sockets, within: .milliseconds(1))
        var bytes: [UInt8] = []
        // Blocks until the watchdog shuts the socket down.
        #expect(try own.first.read(appendingTo: &bytes, atMost: 1) == 0)
        #expect(sockets.isOverdue)
        sockets.add(peers.first.rawValue)
        #expect(try peers.first.read(appendingTo: &bytes, atMost: 1) == 0)
        watchdog.end(sockets)
        watchdog.begin(sockets, within: .seconds(60))
        #expect(!sockets.isOverdue)
        watchdog.end(sockets)
    }

    @Test("A transfer that has ended keeps its connections, while an overdue transfer loses its own")
    func ended() throws {
        let kept = try SocketPair()
        let other = try SocketPair(nonBlocking: false)
        let (first, second, third) = (TransferSockets(), TransferSockets(), TransferSockets())
        let watchdog = TransferWatchdog()
        first.add(kept.first.rawValue)
        second.add(other.first.rawValue)
        watchdog.begin(third, within: .seconds(60))
        watchdog.begin(first, within: .zero)
        watchdog.end(first)
        watchdog.begin(second, within: .zero)
        var bytes: [UInt8] = []
        #expect(try other.first.read(appendingTo: &bytes, atMost: 1) == 0)
        #expect(kept.first.attemptRead(appendingTo: &bytes, atMost: 1) == .wouldBlock)
        #expect(!first.isOverdue && second.isOverdue && !third.isOverdue)
        watchdog.end(second)
        watchdog.end(third)
    }
}
