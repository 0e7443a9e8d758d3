import IssueProtocol
import Testing

@Suite("The health of the daemon")
struct HealthReportTests {
    private static let now = IssueTimestamp("2026-11-21T12:00:00Z") ?? .epoch

    /// Returns a healthy status as a reader sees it, changed by the closure.
    static func status(_ change: (inout DaemonStatus) -> Void = { _ in }) -> DaemonStatus {
        var ledger = Ledger()
        ledger.received = 5
        ledger.delivered = 5
        var status = DaemonStatus(
            version: "0.1.0", host: "web-1", startedAt: now.advanced(by: .seconds(-3600)), received: 5, rejected: 0,
            duplicates: 0, refused: 0, connections: 1,
            store: StoreStatus(id: "s1", records: 5, groups: 1, bytes: 4096, oldest: nil, freeBytes: 1, faults: []),
            destinations: [DestinationStatus(name: "logzio", kind: "LogzIO", ledger: ledger)], suppressions: [])
        change(&status)
        return status
    }

    private func report(
        _ thresholds: HealthThresholds = HealthThresholds(), _ change: (inout DaemonStatus) -> Void
    ) -> HealthReport {
        HealthReport(Self.status(change), now: Self.now, thresholds: thresholds)
    }

    private func pending(_ age: Duration, _ status: inout DaemonStatus) {
        status.destinations[0].oldestPending = Self.now.advanced(by: .zero - age)
        status.destinations[0].ledger.received += 2
        status.destinations[0].ledger.pending = 2
    }

    @Test("A daemon that stores and forwards in time is healthy, without findings")
    func healthy() {
        let report = report { _ in }
        #expect(report.verdict == .healthy && report.findings.isEmpty)
        #expect(report.verdict.code == 0)
    }

    @Test(
        "The verdict follows the age of the oldest pending record",
        arguments: [
            (0, HealthVerdict.healthy), (899, .healthy), (900, .degraded), (21_599, .degraded), (21_600, .failing),
            (10_000_000, .failing), (-60, .healthy),
        ])
    func age(seconds: Int, verdict: HealthVerdict) {
        let report = report { pending(.seconds(seconds), &$0) }
        #expect(report.verdict == verdict)
        #expect(report.findings.allSatisfy { $0.kind == .destination && $0.destination == "logzio" })
    }

    @Test("Pending corrections count like pending records")
    func corrections() {
        func messages(_ corrections: Int, pending records: Int64) -> [String] {
            report {
                $0.destinations[0].oldestPending = Self.now.advanced(by: .seconds(-7200))
                $0.destinations[0].pendingCorrections = corrections
                $0.destinations[0].ledger.received += records
                $0.destinations[0].ledger.pending = records
            }.findings.map(\.message)
        }
        let start = "destination logzio is idle; "
        #expect(messages(1, pending: 0) == ["\(start)its pending correction has waited 2 h"])
        #expect(messages(3, pending: 0) == ["\(start)the oldest of 3 pending corrections has waited 2 h"])
        #expect(messages(1, pending: 2) == ["\(start)the oldest of 2 pending records and 1 correction has waited 2 h"])
    }

    @Test("A notifier that is paused, late, or has delivered nothing since it gave up events causes a finding")
    func notifiers() {
        func kinds(_ change: (inout NotifierStatus) -> Void) -> [HealthFinding.Kind] {
            var notifier = NotifierStatus(name: "oncall", format: "json", received: 3, delivered: 3)
            change(&notifier)
            return report { $0.notifiers = [notifier] }.findings.map(\.kind)
        }
        #expect(kinds { _ in } == [])
        #expect(kinds { $0.state = .paused } == [.notifier])
        #expect(kinds { $0.oldestPending = Self.now.advanced(by: .seconds(-299)) } == [])
        #expect(kinds { $0.oldestPending = Self.now.advanced(by: .seconds(-300)) } == [.notifier])
        func kinds(givenUp: Int64, success: Int64?) -> [HealthFinding.Kind] {
            kinds {
                $0.givenUp = 1
                $0.lastGivenUp = Self.now.advanced(by: .seconds(-givenUp))
                $0.lastSuccess = success.map { Self.now.advanced(by: .seconds(-$0)) }
            }
        }
        #expect(kinds(givenUp: 60, success: 59) == [])
        #expect(kinds(givenUp: 60, success: 61) == [.notifier])
        #expect(kinds(givenUp: 60, success: nil) == [.notifier])
        #expect(kinds(givenUp: 10_000_000, success: 10_000_001) == [.notifier])
        // The section was removed and added again: its events were given up without an attempt.
        #expect(kinds { ($0.delivered, $0.givenUp) = (0, 3) } == [])
    }

    @Test("The thresholds of the age can be changed")
    func thresholds() {
        var thresholds = HealthThresholds()
        thresholds.degradedAge = .seconds(7200)
        thresholds.failingAge = .seconds(7201)
        #expect(report(thresholds) { pending(.seconds(7199), &$0) }.verdict == .healthy)
        #expect(report(thresholds) { pending(.seconds(7200), &$0) }.verdict == .degraded)
        #expect(report(thresholds) { pending(.seconds(7201), &$0) }.verdict == .failing)
        thresholds.degradedAge = .seconds(100_000)
        #expect(report(thresholds) { pending(.seconds(7201), &$0) }.verdict == .failing)
    }

    @Test("A paused destination is degraded at once, with its reason and the age of its records in one finding")
    func paused() {
        let report = report { status in
            pending(.seconds(120), &status)
            status.destinations[0].state = .paused
            status.destinations[0].reason = "unauthorised"
            status.store.add("destination logzio is paused: the token was refused", .credential)
        }
        #expect(report.verdict == .degraded)
        #expect(
            report.findings.map(\.message) == [
                "destination logzio is paused (unauthorised); the oldest of 2 pending records has waited 2 min"
            ])
    }

    @Test(
        "After a dead letter, a destination is degraded for a day, unless it has accepted other records since",
        arguments: [
            (60, 0, HealthVerdict.healthy), (60, nil, .degraded), (86_399, nil, .degraded), (86_400, nil, .healthy),
            // If some records of a batch were accepted, its dead letters are not later than these.
            (60, 60, .healthy), (60, 61, .degraded), (60, 120, .degraded),
        ] as [(Int64, Int64?, HealthVerdict)])
    func deadLetters(age: Int64, sinceSuccess: Int64?, verdict: HealthVerdict) {
        let report = report { status in
            status.destinations[0].lastDeadLetter = Self.now.advanced(by: .seconds(-age))
            status.destinations[0].lastSuccess = sinceSuccess.map { Self.now.advanced(by: .seconds(-$0)) }
        }
        #expect(report.verdict == verdict)
        #expect(report.findings.allSatisfy { $0.kind == .deadLetters && $0.destination == "logzio" })
    }

    @Test("The finding about dead letters says where to look; a destination that was removed has none")
    func deadLetterMessages() {
        func messages(_ change: (inout DestinationStatus) -> Void) -> [String] {
            report { status in
                status.destinations[0].lastDeadLetter = Self.now.advanced(by: .seconds(-180))
                status.destinations[0].lastSuccess = nil
                change(&status.destinations[0])
            }.findings.map(\.message)
        }
        #expect(
            messages { _ in } == [
                "destination logzio has dead letters, the last 3 min ago, and has accepted nothing since: "
                    + "see issuectl dead-letters"
            ])
        #expect(messages { $0.reason = DestinationStatus.removedReason } == [])
    }

    @Test(
        "After pending records have expired, the daemon is degraded for a day, even if later ones are accepted",
        // The last of these times is in the future: it was stored while the clock was wrong.
        arguments: [(0, HealthVerdict.degraded), (86_399, .degraded), (86_400, .healthy), (-86_400, .healthy)]
            as [(Int64, HealthVerdict)])
    func expired(age: Int64, verdict: HealthVerdict) {
        func report(_ change: (inout DestinationStatus) -> Void = { _ in }) -> HealthReport {
            self.report { status in
                status.destinations[0].lastExpired = Self.now.advanced(by: .seconds(-age))
                status.destinations[0].lastSuccess = Self.now
                change(&status.destinations[0])
            }
        }
        #expect(report().verdict == verdict && report().verdict.code == (verdict == .healthy ? 0 : 1))
        #expect(report().findings.allSatisfy { $0.kind == .expired && $0.destination == "logzio" })
        #expect(report { $0.reason = DestinationStatus.removedReason }.verdict == .healthy)
    }

    @Test("The finding about expired records says how many there are and what to do")
    func expiredMessage() {
        let report = report { status in
            status.destinations[0].lastExpired = Self.now.advanced(by: .seconds(-180))
            status.destinations[0].ledger.expired = 7
            status.destinations[0].ledger.received += 7
        }
        #expect(
            report.findings.map(\.message) == [
                "records expired before destination logzio had them, the last 3 min ago, 7 in total: find out why it "
                    + "accepts records too slowly or not at all, or raise MaxSize= or MaxAge="
            ])
    }

    @Test("The finding about a notifier with an error in its section says what to do, and omits earlier answers")
    func misconfiguredNotifier() {
        let report = report { status in
            var notifier = NotifierStatus(name: "oncall", format: "", state: .paused, reason: "misconfigured")
            notifier.lastAnswer = "200: accepted"
            status.notifiers = [notifier]
        }
        #expect(
            report.findings.map(\.message) == [
                "notifier oncall is paused (misconfigured): fix its section in the configuration; issued --check "
                    + "lists the errors"
            ])
    }

    @Test("A finding about a single record or event uses the singular")
    func single() {
        let report = report { status in
            pending(.seconds(120), &status)
            status.destinations[0].ledger.pending = 1
            status.destinations[0].ledger.received -= 1
            status.destinations[0].state = .paused
            var notifier = NotifierStatus(name: "oncall", format: "json")
            (notifier.pending, notifier.oldestPending) = (1, status.destinations[0].oldestPending)
            notifier.oldestPending = notifier.oldestPending?.advanced(by: .seconds(-3600))
            status.notifiers.append(notifier)
            notifier = NotifierStatus(name: "pager", format: "json")
            notifier.lastGivenUp = Self.now.advanced(by: .seconds(-60))
            status.notifiers.append(notifier)
        }
        #expect(
            report.findings.map(\.message) == [
                "destination logzio is paused; its pending record has waited 2 min",
                "notifier oncall has a pending event, which has waited 1 h",
                "notifier pager has given up events, the last 1 min ago, and delivered nothing since",
            ])
    }

    @Test("Records of a destination that was removed from the configuration wait without a finding")
    func removed() {
        let report = report { status in
            pending(.seconds(1_000_000), &status)
            status.destinations[0].reason = DestinationStatus.removedReason
        }
        #expect(report.verdict == .healthy)
    }

    @Test("While reports are refused, the verdict is failing, and that finding comes before the others")
    func refusing() {
        let report = report { status in
            status.store.add("1 records in damaged blocks of the database can't be read", .damagedBlocks)
            status.store.add(
                "\(StoreStatus.refusalFaultPrefix)2026-11-21T11:00:00.000Z: the disk is full", .refusing)
        }
        #expect(report.verdict == .failing)
        #expect(report.findings.map(\.kind) == [.refusing, .fault])
        #expect(report.findings.map(\.verdict) == [.failing, .degraded])
    }

    @Test("A refused report counts for a quarter of an hour, however many were refused before")
    func refused() {
        func verdict(refusedBefore seconds: Int64) -> HealthVerdict {
            report { status in
                status.refused = 7
                status.refusedAt = Self.now.advanced(by: .seconds(-seconds))
            }.verdict
        }
        #expect(verdict(refusedBefore: 899) == .degraded)
        #expect(verdict(refusedBefore: 900) == .healthy)
        let justNow = report { ($0.refused, $0.refusedAt) = (7, Self.now) }
        #expect(
            justNow.findings.map(\.message) == [
                "reports were refused for lack of space or time, the last just now; "
                    + "records refused since the start for any reason: 7"
            ])
        // Without a time, the refused reports were invalid.
        #expect(report { $0.refused = 7 }.verdict == .healthy)
    }

    @Test("Large numbers are grouped by thousands, as in all texts for users")
    func largeNumbers() {
        let report = report { status in
            status.destinations[0].oldestPending = Self.now.advanced(by: .seconds(-7200))
            status.destinations[0].pendingCorrections = 1200
            status.destinations[0].ledger.received += 49_200
            status.destinations[0].ledger.pending = 49_200
            (status.refused, status.refusedAt) = (5000, Self.now)
            var late = NotifierStatus(name: "late", format: "json", received: 3000, delivered: 0)
            (late.pending, late.oldestPending) = (3000, Self.now.advanced(by: .seconds(-7200)))
            status.notifiers = [late]
        }
        let text = report.findings.map(\.message).joined(separator: "\n")
        for part in ["49,200 pending records and 1,200 corrections", "any reason: 5,000", "3,000 pending events"] {
            #expect(text.contains(part), "\(text)")
        }
    }

    @Test("A ledger that does not balance degrades the verdict, and causes only one finding")
    func ledger() {
        #expect(report { $0.destinations[0].ledger.delivered = 4 }.findings.map(\.kind) == [.ledger])
        let both = report { status in
            status.destinations[0].ledger.delivered = 4
            status.store.add("\(StoreStatus.ledgerFaultPrefix)logzio does not balance: of 5 records …", .ledger)
        }
        #expect(both.findings.map(\.kind) == [.ledger])
        #expect(both.verdict == .degraded)
    }

    @Test("If the database cannot be opened, the verdict is failing, and the finding has the reason")
    func closed() {
        let report = report { status in
            status.store = StoreStatus(
                id: "", records: 0, groups: 0, bytes: nil, oldest: nil, freeBytes: nil, faults: ["the disk is gone"])
            status.destinations = []
        }
        #expect(report.verdict == .failing)
        #expect(report.findings.map(\.message) == ["the database cannot be opened: the disk is gone"])
    }

    @Test("Without the right to see everything, the verdict is never healthy, but what is visible counts")
    func rights() {
        let hidden = report { $0.store.bytes = nil }
        #expect(hidden.verdict == .unknown && hidden.verdict.code == 1)
        let paused = report { status in
            status.store.bytes = nil
            status.destinations[0].state = .paused
        }
        #expect(paused.verdict == .degraded)
        #expect(paused.findings.map(\.kind) == [.destination, .rights])
    }

    @Test("A report survives writing and reading as JSON")
    func json() throws {
        let report = report { status in
            pending(.seconds(1000), &status)
            status.store.faults = ["a fault"]
        }
        #expect(try HealthReport(json: report.json) == report)
        #expect(String(decoding: report.json, as: UTF8.self).hasPrefix(#"{"verdict":"degraded","findings":[{"kind":"#))
    }
}
