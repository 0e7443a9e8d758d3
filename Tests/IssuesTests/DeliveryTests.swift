import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("Delivery to the daemon")
struct DeliveryTests {
    @Test(
        "Every issue gets exactly one id, in order, whatever faults the daemon has",
        arguments: [
            [], [.busy(.milliseconds(20))], [.none, .closeUnread], [.none, .closeUnanswered],
            [.halfAnswer, .busy(.zero)],
            [.none, .busy(.milliseconds(1)), .closeUnread, .noSpace, .closeUnanswered, .none, .halfAnswer, .tooLarge],
        ] as [[FakeCollector.Fault]])
    func everyIssueOnce(faults: [FakeCollector.Fault]) async throws {
        var limits = CollectorFixture.quickLimits
        limits.callEntries = 7
        try await CollectorFixture.with(faults: faults, limits: limits) { fixture in
            let receipts = (1...100).map { fixture.reporter.submit(IssueReport("issue \($0)")) }

            var ids: [String] = []
            for receipt in receipts { ids.append(try await receipt.stored()) }

            let stored = fixture.collector?.stored ?? []
            #expect(stored.map(\.record.message) == (1...100).map { "issue \($0)" })
            #expect(stored.map(\.id) == ids)
            #expect(Set(ids).count == 100)
            #expect(Set(stored.map(\.producer)) == [fixture.delivery.producer])
            #expect(stored.map(\.sequence) == Array(1...100))
            #expect(try await fixture.delivery.flushed(within: .seconds(60)))
        }
    }

    @Test("Without a daemon, reporting does not block, and all issues arrive once a daemon starts")
    func absence() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            let start = MonotonicClock.now
            let receipts = (1...200).map { fixture.reporter.submit(IssueReport("issue \($0)")) }
            #expect(start.duration(to: MonotonicClock.now) < .seconds(2))
            #expect(try await !fixture.delivery.flushed(within: .milliseconds(30)))

            let collector = try FakeCollector(path: fixture.path)
            defer { collector.stop() }
            for receipt in receipts { _ = try await receipt.stored() }

            #expect(collector.stored.map(\.record.message) == (1...200).map { "issue \($0)" })
        }
    }

    @Test("A wait for an issue to be stored ends after a timeout, but the issue is still stored later")
    func limitedWait() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            let receipt = fixture.reporter.submit(IssueReport("m"))
            let error = await #expect(throws: IssueDeliveryError.self) {
                try await receipt.stored(timeout: .milliseconds(1))
            }
            #expect(error?.code == .timedOut)

            let collector = try FakeCollector(path: fixture.path)
            defer { collector.stop() }
            let id = try await receipt.stored(timeout: .seconds(600))
            #expect(collector.stored.map(\.id) == [id])
        }
    }

    @Test("A record has the fingerprint of its reports; reports with different fingerprints are not combined")
    func fingerprints() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            var reports = Array(repeating: IssueReport("m", line: 1, column: 1), count: 4)
            reports[0].fingerprint = "a"
            reports[1].fingerprint = "a"
            reports[3].fingerprint = ""
            for report in reports { fixture.reporter.receive(report) }
            let collector = try FakeCollector(path: fixture.path)
            defer { collector.stop() }
            #expect(try await fixture.delivery.flushed(within: .seconds(600)))
            #expect(collector.stored.map(\.record.fingerprint).filter { $0 != nil } == ["a"])
            #expect(collector.stored.first?.record.count == 2)
            #expect(collector.stored.count > 1)
        }
    }

    @Test("A restart of the daemon neither loses nor duplicates issues")
    func restart() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            let first = try FakeCollector(path: fixture.path)
            let before = fixture.reporter.submit(IssueReport("before"))
            _ = try await before.stored()
            first.stop()
            // Without this issue, the client might not try to connect again: it may have closed its idle connection.
            let during = fixture.reporter.submit(IssueReport("during"))
            #expect(try await fixture.waitForFailure())

            let second = try FakeCollector(path: fixture.path)
            defer { second.stop() }
            _ = try await during.stored()

            #expect(second.stored.map(\.record.message) == ["during"])
            #expect(second.stored.map(\.sequence) == [2])
        }
    }

    @Test("A flush respects its timeout and returns whether all issues arrived")
    func flushing() async throws {
        try await CollectorFixture.with(faults: [.late]) { fixture in
            let isFlushedAtOnce = try await fixture.delivery.flushed(within: .zero)
            #expect(isFlushedAtOnce)
            fixture.reporter.submit(IssueReport("slow"))

            let start = MonotonicClock.now
            #expect(try await !fixture.delivery.flushed(within: .milliseconds(50)))
            let waited = start.duration(to: MonotonicClock.now)
            #expect(waited >= .milliseconds(50))

            fixture.collector?.release()
            #expect(try await fixture.delivery.flushed(within: .seconds(60)))
        }
    }

    @Test("A flush that stops at the first failure ends early if no daemon is running", .timeLimit(.minutes(5)))
    func hurry() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            fixture.reporter.submit(IssueReport("nobody hears"))

            let isFlushed = try await fixture.delivery.flushed(within: .seconds(3600), stopsAtFirstFailure: true)
            #expect(!isFlushed)
        }
    }

    @Test("The receipt of a rejected record fails, and the other records of the call are stored")
    func rejection() async throws {
        try await CollectorFixture.with { fixture in
            let receipts = ["good", "bad", "better"].map { fixture.reporter.submit(IssueReport($0)) }

            _ = try await receipts[0].stored()
            let error = await #expect(throws: IssueDeliveryError.self) { try await receipts[1].stored() }
            _ = try await receipts[2].stored()

            #expect(error?.code == .rejected)
            #expect(error?.message == "message: is bad")
        }
    }

    @Test("A call that the daemon cannot read is dropped, and the next one succeeds")
    func refusal() async throws {
        var limits = CollectorFixture.quickLimits
        limits.callEntries = 1
        try await CollectorFixture.with(faults: [.invalid], limits: limits) { fixture in
            let first = fixture.reporter.submit(IssueReport("first"))
            let second = fixture.reporter.submit(IssueReport("second"))

            let error = await #expect(throws: IssueDeliveryError.self) { try await first.stored() }
            _ = try await second.stored()

            #expect(error?.code == .rejected)
            #expect(fixture.collector?.stored.map(\.sequence) == [2])
        }
    }

    @Test("If the buffer is full, the receipts of dropped issues fail, and the next record says how many were dropped")
    func dropping() async throws {
        var limits = CollectorFixture.quickLimits
        limits.entries = 2
        try await CollectorFixture.with(faults: nil, limits: limits) { fixture in
            let mild = fixture.reporter.submit(IssueReport("mild", level: .warning))
            let kept = fixture.reporter.submit(IssueReport("kept", level: .error))
            let worst = fixture.reporter.submit(IssueReport("worst", level: .critical))
            let error = await #expect(throws: IssueDeliveryError.self) { try await mild.stored() }

            let collector = try FakeCollector(path: fixture.path)
            defer { collector.stop() }
            _ = try await kept.stored()
            _ = try await worst.stored()

            #expect(error?.code == .dropped)
            #expect(collector.stored.map(\.record.message) == ["kept", "worst"])
            #expect(collector.stored.first?.record.metadata?["dropped_before"]?.asInteger == 1)
        }
    }

    @Test("If delivery is disabled, a receipt fails immediately")
    func disabled() async throws {
        let reporter = DaemonReporter(delivery: Delivery(paths: []))

        let error = await #expect(throws: IssueDeliveryError.self) {
            try await reporter.submit(IssueReport("nowhere")).stored()
        }

        #expect(error?.code == .disabled)
    }

    @Test("Waiting for a receipt can be cancelled without affecting other waiting tasks")
    func cancellation() async throws {
        try await CollectorFixture.with(faults: [.late]) { fixture in
            let receipt = fixture.reporter.submit(IssueReport("slow"))
            let impatient = Task { try await receipt.stored() }
            let patient = Task { try await receipt.stored() }

            impatient.cancel()
            await #expect(throws: CancellationError.self) { try await impatient.value }
            fixture.collector?.release()

            let id = try await patient.value
            #expect(id == fixture.collector?.stored.first?.id)
        }
    }

    @Test("Waiting for the fates of an issue can be cancelled without affecting other waiting tasks")
    func cancelledFates() async throws {
        try await CollectorFixture.with { fixture in
            let collector = try #require(fixture.collector)
            collector.holdFates(true)
            let receipt = fixture.reporter.submit(IssueReport("slow"))
            let impatient = Task { try await receipt.delivered(timeout: .seconds(600)) }
            let patient = Task { try await receipt.delivered(timeout: .seconds(600)) }
            // Either both tasks have queried the fates, or one task has done so twice.
            #expect(try await collector.waits { $0.awaits >= 2 })

            impatient.cancel()
            await #expect(throws: CancellationError.self) { try await impatient.value }
            collector.holdFates(false)

            #expect(try await patient.value.map(\.outcome) == [.delivered])
        }
    }

    @Test("Fates are queried on a second connection")
    func fates() async throws {
        try await CollectorFixture.with { fixture in
            let fates = try await fixture.reporter.submit(IssueReport("m")).delivered(timeout: .seconds(60))

            #expect(fates.map(\.destination) == ["LogzIO"])
            #expect(fates.map(\.outcome) == [.delivered])
            #expect(fixture.collector?.state.withLock { $0.connections } == 2)
        }
    }

    @Test("A query for an unknown destination throws an error that names the destination")
    func fatesElsewhere() async throws {
        try await CollectorFixture.with { fixture in
            let receipt = fixture.reporter.submit(IssueReport("m"))
            let fates = try await receipt.delivered(to: "LogzIO", timeout: .seconds(60))
            #expect(fates.map(\.outcome) == [.delivered])

            let error = await #expect(throws: IssueDeliveryError.self) {
                try await receipt.delivered(to: "nowhere", timeout: .seconds(60))
            }

            #expect(
                error
                    == IssueDeliveryError(
                        .notFound, #"There is no destination "nowhere"; known: LogzIO."#))
        }
    }

    @Test("Waiting for the fates of an issue that is not stored in time throws a timeout error")
    func fatesOfNothing() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            let receipt = fixture.reporter.submit(IssueReport("m"))

            let error = await #expect(throws: IssueDeliveryError.self) {
                try await receipt.delivered(timeout: .milliseconds(20))
            }

            #expect(error?.code == .timedOut)
        }
    }

    @Test("A forked child uses a new delivery with another producer")
    func fork() {
        let inherited = Delivery(paths: [], processID: -1)

        let own = inherited.ofThisProcess

        #expect(own !== inherited)
        #expect(own === inherited.ofThisProcess)
        #expect(own === own.ofThisProcess)
        #expect(own.producer != inherited.producer)
        #expect(own.producer.utf8.count == 36)
    }

    @Test("Several reporters with the same delivery send an issue once")
    func once() async throws {
        try await CollectorFixture.with { fixture in
            withIssueReporters([fixture.reporter, DaemonReporter(delivery: fixture.delivery)]) {
                reportIssue("m")
            }

            let isFlushed = try await fixture.delivery.flushed(within: .seconds(60))
            #expect(isFlushed)
            #expect(fixture.collector?.stored.map(\.record.message) == ["m"])
        }
    }
}
