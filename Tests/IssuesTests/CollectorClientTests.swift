import IssueBrowsing
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@testable import Issues

@Suite("Calls that tasks make to the daemon")
struct CollectorClientTests {
    /// A client whose connections stay open during a test.
    private let client = CollectorClient(idleTime: .seconds(3600))

    private func fates(
        _ id: String, at fixture: CollectorFixture, retries: Bool = true, timeout: Duration = .seconds(600)
    )
        async throws
        -> [IssueFate.Outcome]
    {
        try await client.fates(
            AwaitParameters(id: id, timeout: timeout), at: .init(socket: fixture.path), retries: retries
        ).fates.map(\.outcome)
    }

    private func show(_ id: String = "x", at fixture: CollectorFixture) async throws {
        await #expect(throws: CollectorConnectionError.refused(.notFound(id: id))) {
            try await client.call(.show, json: IDParameters(id: id).json, at: .init(socket: fixture.path))
        }
    }

    @Test("Calls of many tasks share one connection, and each gets a reply")
    func calls() async throws {
        try await CollectorFixture.with { fixture in
            try await withThrowingTaskGroup { group in
                for number in 1...200 { group.addTask { try await show("\(number)", at: fixture) } }
                try await group.waitForAll()
            }
            #expect(fixture.collector?.state.withLock { $0.connections } == 1)
        }
    }

    @Test("A cancelled call throws CancellationError and closes its connection, and later calls open another one")
    func cancelledCall() async throws {
        try await CollectorFixture.with { fixture in
            let collector = try #require(fixture.collector)
            let call = Task {
                try await client.call(
                    .flush, json: FlushParameters().json, at: .init(socket: fixture.path), timeout: nil)
            }
            #expect(try await collector.waits { $0.flushes == 1 })
            let queued = Task { try await show(at: fixture) }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            try await queued.value
            #expect(collector.state.withLock { $0.connections } == 2)
            // Still running: the thread that accepts connections, and the session of the new connection.
            #expect(try await collector.waits { $0.running == 2 })
        }
    }

    @Test("A task that is cancelled before its call throws CancellationError")
    func cancelledBefore() async throws {
        try await CollectorFixture.with { fixture in
            let call = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await client.call(.flush, json: FlushParameters().json, at: .init(socket: fixture.path))
            }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
    }

    @Test("A missing reply causes a timeout")
    func timeout() async throws {
        try await CollectorFixture.with { fixture in
            await #expect(throws: CollectorConnectionError.timedOut) {
                try await client.call(
                    .flush, json: FlushParameters().json, at: .init(socket: fixture.path), timeout: .milliseconds(30))
            }
            try await eventually("the thread has ended") { !client.isRunning }
        }
    }

    @Test("If the daemon cannot be reached, a call fails, and so does a wait for fates without retries")
    func unreachable() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            let error = CollectorConnectionError.unreachable(path: fixture.path, .noSuchFile)
            await #expect(throws: error) {
                try await client.call(.show, json: IDParameters(id: "x").json, at: .init(socket: fixture.path))
            }
            await #expect(throws: error) { try await fates("r1", at: fixture, retries: false) }
            try await eventually("the thread has ended") { !client.isRunning }
        }
    }

    @Test("A call after a restart of the daemon opens a new connection")
    func restart() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            for _ in 1...3 {
                let collector = try FakeCollector(path: fixture.path)
                try await show(at: fixture)
                try await onThread { collector.stop() }
            }
        }
    }

    private static let changes: [@Sendable (IssueBrowser) async throws -> Void] = [
        { _ = try await $0.removeDeployment("shop", version: "2.4.0") },
        { _ = try await $0.addRule("Order * failed", mergingInto: "g1") },
        { _ = try await $0.deploy("shop", version: "2.4.0") },
        { _ = try await $0.merge(["g2"], into: "g1") },
    ]

    @Test("A change that has another effect or reply the second time is not repeated if it gets no reply")
    func changes() async throws {
        try await CollectorFixture.with { fixture in
            let browser = IssueBrowser(socket: fixture.path)
            for (index, change) in Self.changes.enumerated() {
                // After a reply, the shared connection counts as used.
                let unknown = await #expect(throws: IssueDeliveryError.self) { try await browser.show("x") }
                #expect(unknown?.code == .notFound)
                let lost = await #expect(throws: IssueDeliveryError.self) { try await change(browser) }
                #expect(lost?.code == .unreachable)
                #expect(fixture.collector?.state.withLock { $0.changes } == index + 1)
            }
        }
    }

    // MARK: Fates

    @Test("A record is waited for no longer than its timeout if its first lookup fails after the timeout")
    func lateFailure() {
        let start = MonotonicClock.now
        func after(_ milliseconds: Int) -> KernelInstant { start.advanced(by: .milliseconds(milliseconds)) }
        let record = AwaitedRecord(id: "r1", destination: nil, deadline: after(100), retries: true)
        let queue = AwaitQueue()
        queue.add(record)
        _ = queue.removeFinished(at: after(100))
        #expect(!record.reply.isFinished)
        queue.connectFailed(.unreachable(path: "/x", .noSuchFile), at: after(300))
        _ = queue.removeFinished(at: after(300))
        #expect(record.reply.isFinished)
    }

    @Test("10,000 records are awaited at once on one connection")
    func manyFates() async throws {
        try await CollectorFixture.with { fixture in
            let collector = try #require(fixture.collector)
            collector.holdFates(true)
            let settled = try await withThrowingTaskGroup { group in
                for number in 1...10_000 { group.addTask { try await fates("r\(number)", at: fixture) } }
                // New records are looked up before pending ones are looked up again, so nearly all are pending by now.
                #expect(try await collector.waits { $0.awaits > 10_000 })
                #expect(collector.state.withLock { $0.connections } == 1)
                collector.holdFates(false)
                return try await group.reduce(0) { $0 + ($1 == [.delivered] ? 1 : 0) }
            }
            #expect(settled == 10_000)
            #expect(collector.state.withLock { $0.connections } == 1)
        }
    }

    @Test("10,000 waiting tasks can be cancelled, and another one continues to wait")
    func cancelledFates() async throws {
        try await CollectorFixture.with { fixture in
            let collector = try #require(fixture.collector)
            collector.holdFates(true)
            let patient = Task { try await fates("patient", at: fixture) }
            let tasks = (1...10_000).map { number in Task { try await fates("r\(number)", at: fixture) } }
            #expect(try await collector.waits { $0.awaits > 1000 })
            for task in tasks { task.cancel() }
            var cancelled = 0
            for task in tasks where await task.result.isCancelled { cancelled += 1 }
            #expect(cancelled == 10_000)
            collector.holdFates(false)
            #expect(try await patient.value == [.delivered])
        }
    }

    @Test("After the timeout, the current fates are returned")
    func fatesTimeout() async throws {
        try await CollectorFixture.with { fixture in
            fixture.collector?.holdFates(true)
            for timeout in [Duration.milliseconds(200), .zero] {
                let fates = try await fates("r1", at: fixture, timeout: timeout)
                #expect(fates == [.pending])
            }
        }
    }

    @Test("When the daemon restarts, a task that retries continues to wait for fates; one that does not retry fails")
    func fatesRestart() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            let first = try FakeCollector(path: fixture.path)
            first.holdFates(true)
            let patient = Task { try await fates("r1", at: fixture) }
            let other = Task { try await fates("r2", at: fixture, retries: false) }
            #expect(try await first.waits { $0.awaits > 2 })
            try await onThread { first.stop() }
            await #expect(throws: CollectorConnectionError.self) { try await other.value }
            let second = try FakeCollector(path: fixture.path)
            #expect(try await patient.value == [.delivered])
            try await onThread { second.stop() }
        }
    }

    // MARK: Streams

    @Test("A stream returns its parts in order, and throws after the last one")
    func stream() async throws {
        try await CollectorFixture.with { fixture in
            let stream = client.stream(.records, json: RecordsParameters().json, at: .init(socket: fixture.path))
            var pages: [String?] = []
            var continues = true
            while continues {
                let part = try await stream.next()
                pages.append(try RecordsReply(json: part.parameters).next)
                continues = part.continues
            }
            #expect(pages == ["1", "2", nil])
            await #expect(throws: CollectorConnectionError.closed) { try await stream.next() }
        }
    }

    @Test("A cancelled or released stream closes its connection")
    func cancelledStream() async throws {
        try await CollectorFixture.with { fixture in
            let collector = try #require(fixture.collector)
            let stream = client.stream(.flush, json: FlushParameters().json, at: .init(socket: fixture.path))
            let task = Task { try await stream.next() }
            #expect(try await collector.waits { $0.flushes == 1 })
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await collector.waits { $0.running == 1 })

            var other: CollectorStream? = client.stream(
                .records, json: RecordsParameters().json, at: .init(socket: fixture.path))
            _ = try await other?.next()
            #expect(collector.state.withLock { $0.running } == 2)
            other = nil
            #expect(try await collector.waits { $0.running == 1 })
        }
    }

    // MARK: The thread

    @Test("The thread ends when no connection was used for a while, and starts again with the next call")
    func idle() async throws {
        try await CollectorFixture.with { fixture in
            let client = CollectorClient(idleTime: .milliseconds(10))
            #expect(!client.isRunning)
            for _ in 1...3 {
                await #expect(throws: CollectorConnectionError.refused(.notFound(id: "x"))) {
                    try await client.call(.show, json: IDParameters(id: "x").json, at: .init(socket: fixture.path))
                }
                try await eventually("the thread has ended") { !client.isRunning }
            }
            #expect(fixture.collector?.state.withLock { $0.connections } == 3)
            #expect(try await fixture.collector?.waits { $0.running == 1 } == true)
        }
    }

    @Test("A forked child uses a new client")
    func fork() {
        let inherited = CollectorClient(processID: -1)
        let own = inherited.ofThisProcess
        #expect(own !== inherited)
        #expect(own === inherited.ofThisProcess)
        #expect(own === own.ofThisProcess)
    }
}

extension Result {
    fileprivate var isCancelled: Bool {
        if case .failure(let error) = self { error is CancellationError } else { false }
    }
}
