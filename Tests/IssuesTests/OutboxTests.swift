import IssueTestSupport
import Issues
import Testing
import UnixIO

@Suite("The outbox")
struct OutboxTests {
    private let start = KernelInstant(nanoseconds: 0)

    @Test("The outbox is idle until the first issue, and then connects")
    func connecting() {
        var outbox = Outbox<Int>()
        #expect(outbox.next(at: start).name == "idle")

        _ = outbox.submitted(1, level: .error, bytes: 10)

        #expect(outbox.next(at: start).name == "connect")
    }

    @Test("Sequence numbers ascend, and at most the allowed number of calls is unanswered")
    func pipelining() {
        var outbox = connectedOutbox(callEntries: 2, calls: 2)
        for number in 1...7 { _ = outbox.submitted(number, level: .error, bytes: 10) }

        let sent = outbox.sendAll(at: start)

        #expect(sent.map(\.sequence) == [1, 3])
        #expect(sent.map(\.payloads) == [[1, 2], [3, 4]])
        #expect(outbox.answered(receipts: 2, at: start)?.map(\.payload) == [1, 2])
        #expect(outbox.sendAll(at: start).map(\.payloads) == [[5, 6]])
        #expect(outbox.answered(receipts: 2, at: start)?.map(\.payload) == [3, 4])
        #expect(outbox.sendAll(at: start).map(\.sequence) == [7])
    }

    @Test("Unanswered calls are sent first on the next connection, with the same numbers")
    func reconnecting() {
        var outbox = connectedOutbox(callEntries: 2, calls: 2)
        for number in 1...5 { _ = outbox.submitted(number, level: .error, bytes: 10) }
        let first = outbox.sendAll(at: start)
        _ = outbox.answered(receipts: 2, at: start)

        outbox.disconnected(at: start, unit: 0)
        #expect(outbox.next(at: start).moment == start + .milliseconds(50))
        #expect(outbox.next(at: start + .milliseconds(50)).name == "connect")
        outbox.connected()
        let second = outbox.sendAll(at: start)

        #expect(first.map(\.sequence) == [1, 3])
        #expect(second.map(\.sequence) == [3, 5])
        #expect(second.map(\.payloads) == [[3, 4], [5]])
        #expect(second.first?.text == first.last?.text)
    }

    @Test("After a refusal, nothing is sent until the delay has passed; then sending restarts with the refused call")
    func refusal() {
        var outbox = connectedOutbox(callEntries: 1, calls: 3)
        for number in 1...4 { _ = outbox.submitted(number, level: .error, bytes: 10) }
        _ = outbox.sendAll(at: start)
        #expect(outbox.answered(receipts: 1, at: start)?.map(\.payload) == [1])

        // The second call is refused, and so is the third, which was sent after it.
        #expect(outbox.refusedForNow(retryAfter: .seconds(2), at: start, unit: 0) == true)
        #expect(outbox.sendAll(at: start).isEmpty)
        #expect(outbox.refusedForNow(retryAfter: .seconds(2), at: start, unit: 0) == true)

        #expect(outbox.next(at: start).moment == start + .seconds(2))
        #expect(outbox.sendAll(at: start + .seconds(2)).map(\.sequence) == [2, 3, 4])
    }

    @Test("After a refusal, nothing is sent until all sent calls are answered, even if the delay has passed")
    func refusalOutstanding() {
        var outbox = connectedOutbox(callEntries: 1, calls: 2)
        for number in 1...2 { _ = outbox.submitted(number, level: .error, bytes: 10) }
        _ = outbox.sendAll(at: start)

        #expect(outbox.refusedForNow(retryAfter: .seconds(1), at: start, unit: 0) == true)

        #expect(outbox.sendAll(at: start + .seconds(1)).isEmpty)
        #expect(outbox.refusedForNow(retryAfter: nil, at: start + .seconds(1), unit: 0) == true)
        #expect(outbox.sendAll(at: start + .seconds(1)).map(\.sequence) == [1, 2])
    }

    @Test("A permanently refused call leaves the outbox, and a new connection is opened without a delay")
    func refusalForGood() {
        var outbox = connectedOutbox(callEntries: 1, calls: 2)
        for number in 1...2 { _ = outbox.submitted(number, level: .error, bytes: 10) }
        _ = outbox.sendAll(at: start)

        #expect(outbox.refusedPermanently(at: start)?.map(\.payload) == [1])

        #expect(outbox.next(at: start).name == "disconnect")
        outbox.disconnected(at: start, unit: 1)
        #expect(outbox.next(at: start).name == "connect")
        outbox.connected()
        #expect(outbox.sendAll(at: start).map(\.sequence) == [2])
    }

    @Test("A call that the daemon finds too large is split, and keeps its numbers; a call of one issue is dropped")
    func tooLarge() {
        var outbox = connectedOutbox(callEntries: 2, calls: 2)
        for number in 1...3 { _ = outbox.submitted(number, level: .error, bytes: 10) }
        #expect(outbox.sendAll(at: start).map(\.sequence) == [1, 3])

        #expect(outbox.refusedAsTooLarge(limit: 1_000, at: start)?.isEmpty == true)
        #expect(outbox.refusedForNow(retryAfter: .zero, at: start, unit: 0) == true)

        let later = start + .seconds(1)
        #expect(outbox.sendAll(at: later).map(\.sequence) == [1, 2, 3])
        #expect(outbox.refusedAsTooLarge(limit: 1_000, at: later)?.map(\.payload) == [1])
    }

    @Test("A call that is larger than estimated is split before it is sent")
    func largeEncoding() {
        var limits = OutboxLimits()
        limits.callBytes = 100
        var outbox = Outbox<Int>(limits: limits)
        outbox.connected()
        for number in 1...4 { _ = outbox.submitted(number, level: .error, bytes: 10) }

        let sent = outbox.sendAll(at: start) { call in [UInt8](repeating: 0, count: call.entries.count * 60) }

        #expect(sent.map(\.payloads) == [[1], [2], [3], [4]])
        #expect(sent.map(\.sequence) == [1, 2, 3, 4])
    }

    @Test("A full buffer drops the oldest issue of the lowest level and reports the count in the next call")
    func dropping() {
        var limits = OutboxLimits()
        limits.entries = 3
        var outbox = Outbox<Int>(limits: limits)
        _ = outbox.submitted(1, level: .warning, bytes: 10)
        _ = outbox.submitted(2, level: .critical, bytes: 10)
        _ = outbox.submitted(3, level: .warning, bytes: 10)

        #expect(outbox.submitted(4, level: .error, bytes: 10).map(\.payload) == [1])
        #expect(outbox.submitted(5, level: .critical, bytes: 10).map(\.payload) == [3])
        #expect(outbox.submitted(6, level: .debug, bytes: 10).map(\.payload) == [6])

        outbox.connected()
        let sent = outbox.sendAll(at: start)
        #expect(sent.map(\.payloads) == [[2, 4, 5]])
        #expect(sent.map(\.droppedBefore) == [3])
        _ = outbox.answered(receipts: 3, at: start)
        _ = outbox.submitted(7, level: .error, bytes: 10)
        #expect(outbox.sendAll(at: start).map(\.droppedBefore) == [0])
    }

    @Test("The buffer also has a limit in bytes")
    func bytes() {
        var limits = OutboxLimits()
        limits.bytes = 100
        var outbox = Outbox<Int>(limits: limits)
        _ = outbox.submitted(1, level: .error, bytes: 60)

        #expect(outbox.submitted(2, level: .error, bytes: 60).map(\.payload) == [1])
        #expect(outbox.submitted(3, level: .error, bytes: 40).isEmpty)
        #expect(outbox.count == 2)
    }

    @Test("The outbox asks to be woken for a new issue only if the issue may change the next step")
    func wanting() {
        var outbox = Outbox<Int>(limits: OutboxLimits())
        #expect(outbox.needsWakeUp)
        outbox.disconnected(at: start, unit: 0)
        #expect(outbox.next(at: start).name == "idle")
        _ = outbox.submitted(1, level: .error, bytes: 10)
        #expect(outbox.needsWakeUp)
        #expect(outbox.next(at: start).name == "wait")
        #expect(!outbox.needsWakeUp)

        outbox.connected()
        #expect(outbox.needsWakeUp)
        _ = outbox.sendAll(at: start)
        _ = outbox.refusedForNow(retryAfter: .seconds(1), at: start, unit: 0)
        #expect(!outbox.needsWakeUp)

        var narrow = connectedOutbox(callEntries: 1, calls: 1)
        _ = narrow.submitted(1, level: .error, bytes: 10)
        _ = narrow.sendAll(at: start)
        #expect(!narrow.needsWakeUp)
        _ = narrow.answered(receipts: 1, at: start)
        #expect(narrow.needsWakeUp)
    }

    @Test("Each failure doubles the delay up to a maximum, and an answer resets it")
    func backOff() {
        var outbox = Outbox<Int>()
        _ = outbox.submitted(1, level: .error, bytes: 10)

        var waits: [Duration] = []
        for _ in 1...11 {
            outbox.disconnected(at: start, unit: 1)
            waits.append(outbox.next(at: start).moment.map { start.duration(to: $0) } ?? .zero)
        }
        #expect(waits.prefix(3) == [.milliseconds(100), .milliseconds(200), .milliseconds(400)])
        #expect(waits.last == .seconds(30))
        #expect(outbox.failedAttempts == 11)

        outbox.connected()
        _ = outbox.sendAll(at: start)
        _ = outbox.answered(receipts: 1, at: start)
        _ = outbox.submitted(2, level: .error, bytes: 10)
        outbox.disconnected(at: start, unit: 0)
        #expect(outbox.next(at: start).moment == start + .milliseconds(50))
        outbox.retryNow()
        #expect(outbox.next(at: start).name == "connect")
    }

    @Test("A missing answer closes the connection but keeps the issue")
    func overdue() {
        var outbox = connectedOutbox(callEntries: 1, calls: 2)
        _ = outbox.submitted(1, level: .error, bytes: 10)
        _ = outbox.sendAll(at: start)

        #expect(outbox.next(at: start).moment == start + .seconds(45))
        #expect(outbox.next(at: start + .seconds(45)).name == "disconnect")
        outbox.disconnected(at: start, unit: 0)

        #expect(outbox.count == 1)
    }

    @Test("An answer that matches no call is rejected")
    func strayAnswers() {
        var outbox = connectedOutbox(callEntries: 2, calls: 2)
        #expect(outbox.answered(receipts: 1, at: start) == nil)
        _ = outbox.submitted(1, level: .error, bytes: 10)
        _ = outbox.sendAll(at: start)

        #expect(outbox.answered(receipts: 2, at: start) == nil)
        #expect(outbox.count == 1)
    }

    @Test("Issues before a mark are settled once they are answered, regardless of later ones")
    func settling() {
        var outbox = connectedOutbox(callEntries: 1, calls: 1)
        _ = outbox.submitted(1, level: .warning, bytes: 10)
        _ = outbox.submitted(2, level: .critical, bytes: 10)
        let mark = outbox.mark
        _ = outbox.submitted(3, level: .error, bytes: 10)

        _ = outbox.sendAll(at: start)
        _ = outbox.answered(receipts: 1, at: start)
        #expect(!outbox.isSettled(before: mark))
        _ = outbox.sendAll(at: start)
        _ = outbox.answered(receipts: 1, at: start)

        #expect(outbox.isSettled(before: mark))
        #expect(!outbox.isSettled(before: outbox.mark))
    }

    @Test("Every issue is settled once and in order, whatever faults the connection has", arguments: UInt64(1)...40)
    func anyWeather(seed: UInt64) {
        var random = SeededGenerator(seed)
        var daemon = StrictDaemon()
        var outbox = connectedOutbox(callEntries: 3, calls: 3)
        var settled: [Int] = []
        var now = start

        for number in 1...60 {
            _ = outbox.submitted(number, level: .allCases.randomElement(using: &random) ?? .error, bytes: 10)
            if Bool.random(using: &random) { now = now + .milliseconds(30) }
            settled += Self.step(&outbox, &daemon, at: &now, &random)
        }
        var rounds = 0
        while outbox.count > 0, rounds < 10_000 {
            rounds += 1
            settled += Self.step(&outbox, &daemon, at: &now, &random)
        }

        #expect(settled == Array(1...60))
        #expect(daemon.stored == Array(1...60))
    }

    private static func step(
        _ outbox: inout Outbox<Int>, _ daemon: inout StrictDaemon, at now: inout KernelInstant,
        _ random: inout SeededGenerator
    ) -> [Int] {
        switch outbox.next(at: now) {
        case .connect:
            daemon.connect()
            outbox.connected()
        case .encode(let call):
            let payloads = call.entries.map(\.payload)
            outbox.encoded(call.sequence, as: payloads.map(UInt8.init) + [UInt8(call.sequence)])
        case .send(let text):
            daemon.receive(text)
        case .disconnect:
            outbox.disconnected(at: now, unit: 0.5)
        case .wait(let moment):
            if daemon.hasAnswer {
                break
            }
            now = max(now, moment)
        case .idle:
            break
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            outbox.disconnected(at: now, unit: 0.5)
            daemon.disconnect()
            return []
        case 1: daemon.isBusy.toggle()
        default: break
        }
        switch daemon.answer() {
        case .receipts(let count)?: return outbox.answered(receipts: count, at: now)?.map(\.payload) ?? []
        case .busy?: _ = outbox.refusedForNow(retryAfter: .milliseconds(20), at: now, unit: 0.5)
        case nil: break
        }
        return []
    }

    private func connectedOutbox(callEntries: Int, calls: Int) -> Outbox<Int> {
        var limits = OutboxLimits()
        limits.callEntries = callEntries
        limits.calls = calls
        var outbox = Outbox<Int>(limits: limits)
        outbox.connected()
        return outbox
    }
}
