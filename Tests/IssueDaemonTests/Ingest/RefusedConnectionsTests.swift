import IssueCore
import TestSockets
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Refused connections")
struct RefusedConnectionsTests {
    private static let start = MonotonicInstant(sinceBoot: .seconds(1))

    /// Makes a connection and refuses it.
    ///
    /// - Returns: The client's end of the connection.
    private func refuse(
        with refused: inout RefusedConnections, at time: MonotonicInstant = start
    ) throws -> FileDescriptor {
        let listener = try Socket.listenLoopback()
        let client = try Socket.connectLoopback(port: try listener.localPort(), timeout: .seconds(60))
        _ = try Readiness.wait(listener, for: .read, timeout: .seconds(60))
        guard let served = try listener.accept() else { throw Errno.timedOut }
        refused.add(served, at: time)
        return client
    }

    /// Returns what the client received before the connection was closed; nil if it is open and nothing was received.
    private func received(_ client: borrowing FileDescriptor) throws -> String? {
        guard try Readiness.wait(client, for: .read, timeout: .zero) else { return nil }
        var bytes: [UInt8] = []
        while case .bytes = client.attemptRead(appendingTo: &bytes, atMost: 4096) {
            try #require(try Readiness.wait(client, for: .read, timeout: .seconds(60)), "The connection stays open")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("A refused connection is answered and closed after a moment")
    func delay() throws {
        var refused = RefusedConnections(maxConnections: 10, openFileLimit: 16_384)
        #expect(refused.deadline == nil)
        let client = try refuse(with: &refused)
        let end = Self.start.advanced(by: RefusedConnections.delay)
        #expect(refused.deadline == end)
        refused.answerDue(at: end.advanced(by: .nanoseconds(-1)))
        #expect(try received(client) == nil)
        refused.answerDue(at: end)
        #expect(try #require(try received(client)).contains("org.issued.Collector.Busy"))
        #expect(refused.isEmpty)
    }

    @Test("If too few descriptors are free for refused connections to wait, the oldest one is answered at once")
    func descriptors() throws {
        var none = RefusedConnections(maxConnections: 10, openFileLimit: 1000)
        let client = try refuse(with: &none)
        #expect(none.isEmpty)
        #expect(try received(client)?.contains("Busy") == true)

        var one = RefusedConnections(maxConnections: 10, openFileLimit: 1024 + 10 + 1)
        let first = try refuse(with: &one)
        let second = try refuse(with: &one)
        #expect(try received(first)?.contains("Busy") == true)
        #expect(try received(second) == nil)
        one.answerAll()
        #expect(try received(second)?.contains("Busy") == true)
    }

    @Test("Refused connections are answered in the order in which they were refused, each after the same delay")
    func order() throws {
        var refused = RefusedConnections(maxConnections: 300, openFileLimit: 16_384)
        var clients: [SharedDescriptor] = []
        for number in 0..<100 {
            let client = try refuse(with: &refused, at: Self.start.advanced(by: .milliseconds(number)))
            clients.append(SharedDescriptor(client))
        }
        for number in 0..<100 {
            let due = Self.start.advanced(by: RefusedConnections.delay + .milliseconds(number))
            #expect(refused.deadline == due)
            refused.answerDue(at: due)
            #expect(try received(clients[number].descriptor)?.contains("Busy") == true)
            if number < 99 { #expect(try received(clients[number + 1].descriptor) == nil) }
        }
        #expect(refused.isEmpty && refused.deadline == nil)
    }

    @Test("Connections that were refused together are answered in portions, with a pause after each")
    func portions() throws {
        var refused = RefusedConnections(maxConnections: 300, openFileLimit: 16_384)
        for _ in 0..<40 { _ = try refuse(with: &refused) }
        var times: [MonotonicInstant] = []
        while let time = refused.deadline {
            times.append(time)
            refused.answerDue(at: time)
        }
        let first = Self.start.advanced(by: RefusedConnections.delay)
        #expect(times == (0..<3).map { first.advanced(by: RefusedConnections.pause * $0) })
    }
}
