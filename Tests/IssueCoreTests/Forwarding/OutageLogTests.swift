import Testing

@testable import IssueCore

@Suite("The log of an outage")
struct OutageLogTests {
    private let start = MonotonicInstant(sinceBoot: .seconds(1000))
    private let refused = OutageLog.Condition.waiting(reason: "refused")
    private let timeout = OutageLog.Condition.waiting(reason: "timeout")
    private let unauthorised = OutageLog.Condition.paused(reason: "unauthorised")

    private func entry(
        _ condition: OutageLog.Condition, _ previous: String? = nil, leftOut: Int = 0, isRepeated: Bool = false,
        duration: Duration? = nil
    ) -> OutageLog.Entry {
        OutageLog.Entry(
            condition: condition, previous: previous, leftOut: leftOut, duration: duration, isRepeated: isRepeated)
    }

    /// Returns the entries for conditions that follow each other at one time.
    private func run(
        _ log: inout OutageLog, _ conditions: [OutageLog.Condition], at now: MonotonicInstant
    ) -> [OutageLog.Entry] {
        conditions.compactMap { log.entry(for: $0, at: now) }
    }

    @Test("The beginning, each change of the reason and the end are logged once")
    func once() {
        var log = OutageLog()
        let entries = run(
            &log,
            [
                .accepting, refused, refused, timeout, timeout, unauthorised, unauthorised, timeout, .accepting,
                .accepting,
            ],
            at: start)
        #expect(
            entries == [
                entry(refused),
                entry(timeout, "refused"),
                entry(unauthorised),
                entry(timeout),
                entry(.accepting, duration: .zero),
            ])
    }

    @Test("Of alternating reasons, ten an hour are logged; one that lasts is logged later, with the number left out")
    func alternating() {
        var log = OutageLog()
        let first = run(&log, (0..<1000).map { $0 % 2 == 0 ? refused : timeout }, at: start)
        #expect(first.count == 10)
        #expect(log.stored == "waiting: timeout")
        let early = log.entry(for: refused, at: start.advanced(by: .seconds(3599)))
        #expect(early == nil)
        // 990 of the first thousand conditions, and the one at 3,599 s.
        let late = log.entry(for: refused, at: start.advanced(by: .seconds(3600)))
        #expect(late == entry(refused, "timeout", leftOut: 991))
    }

    @Test("Of repeated outages, ten per hour are logged, each of them with its end")
    func flapping() {
        var log = OutageLog()
        let entries = run(&log, (0..<100).map { $0 % 2 == 0 ? refused : .accepting }, at: start)
        #expect(entries.map(\.condition) == (0..<20).map { $0 % 2 == 0 ? refused : .accepting })
        #expect(log.stored == nil)
    }

    @Test("A pause is logged even if other reasons have alternated")
    func paused() {
        var log = OutageLog()
        _ = run(&log, (0..<100).map { $0 % 2 == 0 ? refused : timeout }, at: start)
        let paused = log.entry(for: unauthorised, at: start)
        #expect(paused?.condition == unauthorised)
    }

    @Test("The entry for the end of an outage has its duration if the outage began after the daemon was started")
    func duration() {
        var log = OutageLog()
        let later = start.advanced(by: .seconds(90))
        _ = run(&log, [refused, timeout], at: start)
        let entries = run(&log, [unauthorised, .accepting, .accepting], at: later)
        #expect(entries.map(\.duration) == [nil, .seconds(90)])
        let second = run(&log, [timeout, .accepting], at: later)
        #expect(second.map(\.duration) == [nil, .zero])
        var resumed = OutageLog(stored: "waiting: refused")
        let after = run(&resumed, [refused, timeout, .accepting], at: later)
        #expect(after.map(\.duration) == [nil, nil, nil])
    }

    @Test("A destination that rejects every record ends an outage, but does not begin one")
    func rejecting() {
        var log = OutageLog()
        #expect(run(&log, [.rejecting, .accepting, .rejecting], at: start) == [])
        let entries = run(&log, [refused, .rejecting, .rejecting, refused, .rejecting, .accepting], at: start)
        #expect(entries.map(\.condition) == [refused, .rejecting, refused, .rejecting, .accepting])
        var before = OutageLog(stored: "waiting: refused")
        _ = run(&before, [.rejecting], at: start)
        #expect(before.stored == "rejecting")
        var next = OutageLog(stored: before.stored)
        #expect(run(&next, [.accepting], at: start).map(\.condition) == [.accepting])
    }

    @Test("What was logged is known after a restart, and logged once more if it lasts")
    func restarts() {
        for condition in [refused, unauthorised] {
            var log = OutageLog()
            _ = log.entry(for: condition, at: start)
            var next = OutageLog(stored: log.stored)
            let entries = run(&next, [condition, condition, .accepting], at: start)
            #expect(entries == [entry(condition, isRepeated: true), entry(.accepting)])
            var ended = OutageLog(stored: log.stored)
            #expect(run(&ended, [.accepting, condition], at: start) == [entry(.accepting), entry(condition)])
        }
        #expect([nil, "waiting: timeout", "paused: x"].map { OutageLog(stored: $0).failure } == [nil, .timeout, nil])
        let pauses = [nil, "waiting: timeout", "paused: x", "paused: unauthorised"].map {
            OutageLog(stored: $0).pauseReason
        }
        #expect(pauses == [nil, nil, nil, .unauthorised])
        var other = OutageLog(stored: "waiting: timeout")
        #expect(run(&other, [refused, timeout], at: start) == [entry(refused, "timeout"), entry(timeout, "refused")])
        var older = OutageLog(stored: "away")
        let entries = run(&older, [refused, timeout], at: start)
        #expect(entries == [entry(refused, isRepeated: true), entry(timeout, "refused")])
    }
}
