import IssueCore
import IssueProtocol
import IssueStore
import IssueTestSupport
import Synchronization
import Testing
import UnixIO

@testable import IssueDaemon

/// Tests the loop of the socket on its own. The tests replace the services that it calls.
@Suite("The socket, with unusual clients")
struct SocketLoopTests {
    /// The calls that the socket has handed on.
    private struct Calls: Sendable {
        var queries: [QueryJob] = []
        /// The number of queries that had been passed on at each withdrawal.
        var withdrawn: [Int] = []
        /// Whether the socket's thread is blocked in the first query.
        var isHeld = false
    }

    /// Runs the socket alone. Queries are recorded, and only the test replies to them.
    private func withSocket(
        holdsFirst: Bool = false,
        _ body: (_ service: SocketService, _ calls: Monitor<Calls>, _ connect: () throws -> FileDescriptor) throws ->
            Void
    ) throws {
        let folder = try ScratchFolder()
        let address = try SocketAddress.unix(folder["socket"])
        let service = try SocketService(
            listener: SharedDescriptor(try Socket.listenUnix(at: address, mode: 0o600)), .default,
            statusRegistry: StatusRegistry(path: "/nowhere/issues.db"), log: .silent)
        service.access.withLock { $0 = AccessPolicy(ownUser: 0, readers: [], operators: []) }
        let calls = Monitor(Calls(isHeld: holdsFirst))
        let handlers = SocketService.Handlers(
            submit: { _ in RecordBatch() },
            query: { job in
                calls.withLock { $0.queries.append(job) }
                calls.broadcast()
                _ = calls.wait { $0.isHeld ? nil : true }
            },
            cancelWork: { _, _ in
                calls.withLock { $0.withdrawn.append($0.queries.count) }
                calls.broadcast()
            },
            repliesChanged: { _, _ in }, enqueueJob: { _ in false }, flush: { _, _ in 0 })
        let thread = try JoinableThread(name: "socket") { service.run(handlers) }
        defer {
            calls.withLock { $0.isHeld = false }
            calls.broadcast()
            service.end()
            thread.join()
        }
        try body(service, calls) { try Socket.connect(to: address, timeout: .seconds(60)) }
    }

    /// Two queries. The second one waits for the reply to the first one.
    private static let twoQueries = [UInt8](
        [String](repeating: #"{"method":"org.issued.Collector.List","parameters":{}}"# + "\0", count: 2).joined().utf8)

    private func wait(_ calls: Monitor<Calls>, until holds: @Sendable @escaping (Calls) -> Bool) throws {
        let deadline = MonotonicClock.now.advanced(by: .seconds(240))
        try #require(calls.wait(deadline: deadline) { holds($0) ? true : nil } == true)
    }

    @Test("Three thousand clients that disconnect with open queries leave no connection behind")
    func hangUps() throws {
        try withSocket { service, calls, connect in
            for _ in 0..<3000 {
                let client = try connect()
                try client.sendAll(Self.twoQueries, timeout: .seconds(60))
            }
            // Connections are accepted in order, so this one is the last.
            let last = try connect()
            try last.sendAll(Self.twoQueries, timeout: .seconds(60))
            let deadline = MonotonicClock.now.advanced(by: .seconds(240))
            while MonotonicClock.now < deadline,
                calls.withLock({ $0.queries.count <= 3000 })
                    || !service.statusRegistry.summary.hasPrefix("1 connection")
            {
                // Nothing arrives, since no query is answered.
                #expect(try !Readiness.wait(last, for: .read, timeout: .milliseconds(10)))
            }
            #expect(service.statusRegistry.summary.hasPrefix("1 connection"))
        }
    }

    @Test("Clients that disconnect without having sent anything are dropped before they count as connections")
    func silentClients() throws {
        try withSocket(holdsFirst: true) { _, calls, connect in
            let first = try connect()
            try first.sendAll(Self.twoQueries, timeout: .seconds(60))
            try wait(calls) { $0.queries.count == 1 }
            // The thread of the socket is held, so these clients wait in the listen queue until they have disconnected.
            for _ in 0..<100 { _ = try connect() }
            let last = try connect()
            try last.sendAll(Self.twoQueries, timeout: .seconds(60))
            calls.withLock { $0.isHeld = false }
            calls.broadcast()
            // The second query of the first client waits for the reply to its first one.
            try wait(calls) { $0.queries.count == 2 }
            let ids = calls.withLock { $0.queries.map(\.connection) }
            #expect(ids[1] == ids[0] + 1)
        }
    }

    @Test("A late reply to a withdrawn query does not count as the reply to the next one")
    func lateAnswer() throws {
        try withSocket(holdsFirst: true) { service, calls, connect in
            do {
                let client = try connect()
                try client.sendAll(Self.twoQueries, timeout: .seconds(60))
                try wait(calls) { $0.queries.count == 1 }
            }
            // The client has disconnected, and the reply to its first query is on its way.
            let first = calls.withLock { $0.queries[0] }
            service.answered(
                QueryAnswer(connection: first.connection, queryToken: first.queryToken, content: .reply([0])))
            calls.withLock { $0.isHeld = false }
            calls.broadcast()
            // The second query gets no reply, so it must be withdrawn.
            try wait(calls) { $0.withdrawn.contains(2) }
            let second = calls.withLock { $0.queries[1] }
            #expect(second.connection == first.connection && second.queryToken != first.queryToken)
        }
    }

    @Test("Twenty thousand calls in a row that need no query thread all get their replies")
    func manyQueries() throws {
        try withSocket { _, calls, connect in
            let count = 20_000
            let query = Array(#"{"method":"org.varlink.service.GetInfo"}"#.utf8) + [0]
            let client = try connect()
            try client.setNonBlocking()
            let all = [UInt8]([[UInt8]](repeating: query, count: count).joined())
            var (sent, replies) = (0, 0)
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            let deadline = MonotonicClock.now.advanced(by: .seconds(240))
            while replies < count {
                try #require(MonotonicClock.now < deadline, "\(replies) of \(count) queries were answered")
                if sent < all.count, case .bytes(let count) = client.attemptSend(all, from: sent) { sent += count }
                guard try Readiness.wait(client, for: .read, timeout: .milliseconds(10)) else { continue }
                guard case .bytes(let count) = client.attemptRead(into: &buffer) else {
                    Issue.record("The connection was closed")
                    return
                }
                for byte in buffer[..<count] where byte == 0 { replies += 1 }
            }
            #expect(calls.withLock { $0.queries.isEmpty })
        }
    }
}
