import IssueCore
import IssueProtocol
import IssueTestSupport
import Testing

@testable import IssueDaemon
@testable import IssueStore

@Suite("The daemon's status")
struct StatusRegistryTests {
    private func faults(of statusRegistry: StatusRegistry, viewer: Viewer = .everything) -> [String] {
        statusRegistry.statusWithoutStore(viewer: viewer).store.faults
    }

    @Test("Refusing reports is a fault, with the time of the first refusal, until reports are stored again")
    func refusing() throws {
        let statusRegistry = StatusRegistry(path: "/nowhere/issues.db")
        #expect(faults(of: statusRegistry) == [])
        statusRegistry.update(StoreFailure.noSpace)
        let first = try #require(faults(of: statusRegistry).first)
        #expect(first.hasSuffix(": there is no space left for the database"))
        #expect(statusRegistry.summary.contains("refusing reports"))
        statusRegistry.update(StoreFailure.inUse)
        let second = try #require(faults(of: statusRegistry).first)
        #expect(second.hasSuffix(": another daemon has the database open"))
        #expect(first.prefix { $0 != "Z" } == second.prefix { $0 != "Z" })
        #expect(faults(of: statusRegistry, viewer: .user(1001)) == [])
        statusRegistry.update(nil)
        #expect(faults(of: statusRegistry) == [])
        #expect(!statusRegistry.summary.contains("refusing"))
    }

    @Test(
        "The line for the service manager mentions set-aside databases, and configuration errors until they are fixed")
    func notes() throws {
        let folder = try ScratchFolder()
        let statusRegistry = StatusRegistry(path: folder["issues.db"])
        let problem = ConfigurationProblem(at: ConfigurationLocation(file: "a.conf"), "Wrong.", scope: .everything)
        func update(_ problems: [ConfigurationProblem], lastValid: Configuration?) {
            let reading = ConfigurationReading(configuration: .default, problems: problems)
            statusRegistry.update(EffectiveConfiguration(reading, lastValid: lastValid))
        }
        #expect(statusRegistry.summary == "0 connections")
        update([problem], lastValid: .default)
        #expect(
            statusRegistry.summary
                == "0 connections; configuration error, using the last valid one: see issuectl status")
        update([problem], lastValid: nil)
        #expect(
            statusRegistry.summary.hasSuffix(
                "; configuration error, using the lines without errors: see issuectl status"))
        update([], lastValid: nil)
        #expect(statusRegistry.summary == "0 connections")
        try folder.write("", to: "issues.db.damaged-A")
        #expect(statusRegistry.summary == "0 connections; database files set aside: see issuectl status")
        update([problem], lastValid: .default)
        #expect(
            statusRegistry.summary
                == "0 connections; configuration error, using the last valid one; database files set aside: "
                + "see issuectl status")
    }

    @Test("If forwarding could not be started, the configured destinations wait for the store")
    func withoutForwarding() {
        let statusRegistry = StatusRegistry(path: "/nowhere/issues.db")
        let view = ForwardingView(state: .sending)
        statusRegistry.update(StatusRegistry.Forwarder(name: "runs", view: view, state: DestinationRow.State()))
        statusRegistry.addWaiting(["runs", "missing"])
        let names = ["runs", "missing", "removed"]
        let store = statusRegistry.statusWithoutStore(viewer: .everything).store
        let status = statusRegistry.status(
            StoreReader.Figures(
                store: store, received: 0,
                ledgers: names.map { StoreReader.DestinationFigures(name: $0, kind: "logz", ledger: Ledger()) }),
            viewer: .everything)
        #expect(status.destinations.map(\.state) == [.sending, .waiting, .idle])
        #expect(
            status.destinations.map(\.reason) == [nil, StoreStatus.failureReason, DestinationStatus.removedReason])
    }

    @Test("Users who see all records learn the path of the database, others do not")
    func path() {
        let statusRegistry = StatusRegistry(path: "/nowhere/issues.db")
        #expect(statusRegistry.statusWithoutStore(viewer: .everything).store.path == "/nowhere/issues.db")
        #expect(statusRegistry.statusWithoutStore(viewer: .user(1001)).store.path == nil)
    }

    @Test("Notifiers are in the order of their names, whichever of them starts first")
    func notifierOrder() {
        let statusRegistry = StatusRegistry(path: "/nowhere/issues.db")
        for name in ["pager", "chat", "mail"] { statusRegistry.update(NotifierStatus(name: name, format: "json")) }
        #expect(
            statusRegistry.statusWithoutStore(viewer: .everything).notifiers.map(\.name) == ["chat", "mail", "pager"])
        #expect(statusRegistry.statusWithoutStore(viewer: .user(1001)).notifiers.isEmpty)
    }

    @Test(
        "While a destination fails, the status shows since when, even if the store is reopened in the meantime")
    func failingSince() throws {
        var statusRegistry = StatusRegistry(path: "/nowhere/issues.db")
        func since(
            _ state: DestinationState, _ reason: String?, _ stored: DestinationRow.State = DestinationRow.State()
        ) -> IssueTimestamp? {
            let view = ForwardingView(state: state, reason: reason)
            statusRegistry.update(StatusRegistry.Forwarder(name: "d", view: view, state: stored))
            let store = statusRegistry.statusWithoutStore(viewer: .everything).store
            let figures = StoreReader.DestinationFigures(name: "d", kind: "logz", ledger: Ledger())
            let status = statusRegistry.status(
                .init(store: store, received: 0, ledgers: [figures]), viewer: .everything)
            return status.destinations.first?.failingSince
        }
        #expect(since(.idle, nil) == nil)
        #expect(since(.waiting, "send_rate") == nil)
        let first = try #require(since(.waiting, "no_answer"))
        statusRegistry.setDestinations([])
        #expect(since(.paused, "unauthorised") == first)
        // A new time would differ.
        try waitUntil("the clock has advanced") { Clock.wall > first }
        statusRegistry = StatusRegistry(path: "/nowhere/issues.db", after: statusRegistry)
        #expect(since(.paused, "unauthorised") == first)
        #expect(since(.sending, nil) == nil)
        // The first failure was before the start.
        var state = DestinationRow.State()
        state.failingSince = IssueTimestamp(millisecondsSince1970: 5)
        statusRegistry = StatusRegistry(path: "/nowhere/issues.db")
        #expect(since(.waiting, "no_answer", state) == state.failingSince)
    }

    @Test("Users who see all records learn when a record last became a dead letter, others do not")
    func lastDeadLetter() {
        let statusRegistry = StatusRegistry(path: "/nowhere/issues.db")
        var state = DestinationRow.State()
        state.lastDeadLetter = IssueTimestamp(millisecondsSince1970: 5)
        statusRegistry.update(StatusRegistry.Forwarder(name: "d", view: ForwardingView(state: .idle), state: state))
        let store = statusRegistry.statusWithoutStore(viewer: .everything).store
        func seen(by viewer: Viewer, deadLettered: Int64) -> IssueTimestamp? {
            var ledger = Ledger()
            ledger.deadLettered = deadLettered
            let figures = StoreReader.DestinationFigures(name: "d", kind: "logz", ledger: ledger)
            return statusRegistry.status(.init(store: store, received: 0, ledgers: [figures]), viewer: viewer)
                .destinations.first?.lastDeadLetter
        }
        #expect(seen(by: .everything, deadLettered: 1) == state.lastDeadLetter)
        // The dead letters were requeued or removed.
        #expect(seen(by: .everything, deadLettered: 0) == nil)
        #expect(seen(by: .user(1001), deadLettered: 1) == nil)
    }

    @Test("The bytes of an earlier day do not count as sent today")
    func bytesToday() throws {
        let statusRegistry = StatusRegistry(path: "/nowhere/issues.db")
        let store = statusRegistry.statusWithoutStore(viewer: .everything).store
        var budget = DailyBudget(limit: 0)
        budget.sent(100, at: Clock.wall)
        func seen(_ day: Int64) -> Int? {
            var state = DestinationRow.State()
            (state.day, state.dayBytes) = (day, budget.bytes)
            statusRegistry.update(StatusRegistry.Forwarder(name: "d", view: ForwardingView(state: .idle), state: state))
            let figures = StoreReader.DestinationFigures(name: "d", kind: "logz", ledger: Ledger())
            return statusRegistry.status(.init(store: store, received: 0, ledgers: [figures]), viewer: .everything)
                .destinations.first?.bytesToday
        }
        #expect(seen(budget.day) == 100)
        #expect(seen(budget.day - 1) == 0)
    }

    @Test("Users who see all records learn when pending records last expired, others do not")
    func lastExpired() {
        let statusRegistry = StatusRegistry(path: "/nowhere/issues.db")
        let (view, time) = (ForwardingView(state: .idle), IssueTimestamp(millisecondsSince1970: 5))
        statusRegistry.update(StatusRegistry.Forwarder(name: "d", view: view, state: DestinationRow.State()))
        let store = statusRegistry.statusWithoutStore(viewer: .everything).store
        func seen(by viewer: Viewer, expired: Int64) -> IssueTimestamp? {
            var ledger = Ledger()
            ledger.expired = expired
            var figures = StoreReader.DestinationFigures(name: "d", kind: "logz", ledger: ledger)
            figures.lastExpired = time
            return statusRegistry.status(.init(store: store, received: 0, ledgers: [figures]), viewer: viewer)
                .destinations.first?.lastExpired
        }
        #expect(seen(by: .everything, expired: 1) == time)
        // A purge has erased the expired records.
        #expect(seen(by: .everything, expired: 0) == nil)
        #expect(seen(by: .user(1001), expired: 1) == nil)
    }

    @Test("The advice for a notifier with an error in its section is the first error")
    func notifierAdvice() {
        let statusRegistry = StatusRegistry(path: "/nowhere/issues.db")
        let problems = ["First.", "Second."].map {
            ConfigurationProblem(at: ConfigurationLocation(file: "a.conf", line: 3), $0, scope: .notifier("bad"))
        }
        let reading = ConfigurationReading(configuration: .default, problems: problems)
        statusRegistry.update(EffectiveConfiguration(reading, lastValid: nil))
        for name in ["bad", "other"] {
            statusRegistry.update(NotifierStatus(name: name, format: "", state: .paused, reason: "misconfigured"))
        }
        statusRegistry.update(NotifierStatus(name: "running", format: "json"))
        let status = statusRegistry.statusWithoutStore(viewer: .everything)
        let advice = status.notifiers.map(\.advice)
        #expect(advice.first == "a.conf:3: First." && advice.last == .some(nil))
        #expect(advice[1]?.contains("issued --check") == true)
        #expect(status.store.faultsByKind.map(\.kind) == [.notifier, .notifier])
    }

    @Test("A set-aside database is a fault, and so is a WAL without its database; each is named once")
    func setAside() throws {
        let folder = try ScratchFolder()
        for name in ["A", "A-wal", "A-shm", "B-wal", "B-shm"] {
            try folder.write("", to: "issues.db.damaged-\(name)")
        }
        let path = folder["issues.db"]
        #expect(
            faults(of: StatusRegistry(path: path)) == [
                "the database \(path).damaged-A could not be used and was set aside: see issuectl repair",
                "the WAL of a missing database was set aside; move it away: \(path).damaged-B-wal",
            ])
    }
}
