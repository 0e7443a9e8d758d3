import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// The current state of the daemon's services, for `Status`.
final class StatusRegistry: Sendable {
    /// The state of a destination's forwarding service.
    struct Forwarder: Sendable {
        var name: String
        var view: ForwardingView
        var state: DestinationRow.State

        /// The reason in the status of a destination whose section has an error.
        static let misconfigured = "misconfigured"

        /// A destination that is paused until its section is fixed.
        init(misconfigured row: DestinationRow) {
            self.init(
                name: row.name,
                view: ForwardingView(
                    state: .paused, reason: Self.misconfigured,
                    advice: "Fix the destination's section in the configuration; issued --check lists the errors."),
                state: row.state)
        }

        init(name: String, view: ForwardingView, state: DestinationRow.State) {
            (self.name, self.view, self.state) = (name, view, state)
        }
    }

    /// The counts since the start of the process. All registries of a process share them.
    private struct Counts: Sendable {
        var rejected = 0
        var duplicates = 0
        var refused = 0
        var refusedAt: IssueTimestamp?
        var redactions = RedactionCounts()
    }

    private struct State: Sendable {
        /// Whether a changed setting takes effect only after a restart.
        var needsRestart = false
        var connections = 0
        var forwarders: [Forwarder] = []
        /// When destinations began to fail, by name. These times are kept when a destination restarts or the store
        /// is opened again.
        var failingSince: [String: IssueTimestamp] = [:]
        /// The notifiers, by name.
        var notifiers: [String: NotifierStatus] = [:]
        /// Why reports are refused, and since when; nil if they are not.
        var obstacle: (failure: StoreFailure, since: IssueTimestamp)?
        /// Whether other files fill the disk so much that no records are removed for `KeepFree=`.
        var isKeepFreeUnreachable = false
        /// When it was found that commits of the last run are lost; nil if none are.
        var commitsLostAt: IssueTimestamp?
        var configurationFaults: [(text: String, kind: StoreFaultKind)] = []
        /// A short form of the configuration's errors, for the service manager; nil without errors.
        var configurationNote: String?
        /// The limits of each destination, by name. They are kept when a destination restarts.
        var limits: [String: LimitView] = [:]
        var overflows = OverflowHistory()
        var limitSettings = LimitSettings()
        /// The advice for each destination that is paused because of its configuration, by name.
        var destinationAdvice: [String: String] = [:]
        /// The advice for each notifier whose section has an error, by name.
        var notifierAdvice: [String: String] = [:]
    }

    private let state: Mutex<State>
    private let counts: Monitor<Counts>
    private let startedAt: IssueTimestamp
    private let started: MonotonicInstant
    private let path: String

    /// - Parameters:
    ///   - path: The path of the database.
    ///   - earlier: The previous registry, whose counts and times of failures continue; nil for the first registry of
    ///     the process.
    init(path: String, after earlier: StatusRegistry? = nil) {
        self.path = path
        var state = State()
        state.failingSince = earlier?.state.withLock { $0.failingSince } ?? [:]
        self.state = Mutex(state)
        startedAt = earlier?.startedAt ?? Clock.wall
        started = earlier?.started ?? Clock.monotonic
        counts = earlier?.counts ?? Monitor(Counts())
    }

    func counted(rejected: Int, duplicates: Int) {
        guard rejected > 0 || duplicates > 0 else { return }
        counts.withLock {
            $0.rejected += rejected
            $0.duplicates += duplicates
        }
    }

    /// Counts the records of a report that was answered with an error.
    ///
    /// - Parameters:
    ///   - records: The number of records, without those that were rejected; 1 if the report could not be read.
    ///   - isLackOfResources: `true` if the daemon lacked space or time for it; `false` for any other reason.
    func countedRefusal(records: Int, isLackOfResources: Bool) {
        let now = isLackOfResources ? Clock.wall : nil
        counts.withLock { counts in
            counts.refused += records
            counts.refusedAt = now ?? counts.refusedAt
        }
    }

    /// - Parameter needsRestart: `true` if a reload has changed `[Socket]` or the database path, which the current run
    ///   does not apply.
    func update(needsRestart: Bool) {
        state.withLock { $0.needsRestart = needsRestart }
    }

    /// Counts values that were redacted in records.
    func counted(_ redactions: RedactionCounts) {
        counts.withLock { $0.redactions.add(redactions) }
    }

    func counted(connections: Int) {
        state.withLock { $0.connections = connections }
    }

    /// Sets why reports can't be stored; nil if they can.
    func update(_ failure: StoreFailure?) {
        state.withLock { state in
            state.obstacle = failure.map { ($0, state.obstacle?.since ?? Clock.wall) }
        }
    }

    /// Sets whether other files fill the disk so much that no records are removed for `KeepFree=`.
    func update(keepFreeUnreachable: Bool) {
        state.withLock { $0.isKeepFreeUnreachable = keepFreeUnreachable }
    }

    /// Sets when it was found that commits of the last run are lost; nil if none are.
    func update(commitsLostAt time: IssueTimestamp?) {
        state.withLock { $0.commitsLostAt = time }
    }

    /// Sets the errors and limits of the configuration that is now used.
    func update(_ configuration: EffectiveConfiguration) {
        let (faults, advice) = (configuration.faults, configuration.adviceByDestination)
        let (note, notifierAdvice) = (configuration.note, configuration.adviceByNotifier)
        let limits = configuration.configuration.limits
        state.withLock {
            ($0.configurationFaults, $0.destinationAdvice) = (faults, advice)
            ($0.configurationNote, $0.notifierAdvice) = (note, notifierAdvice)
            $0.limitSettings = limits
        }
    }

    func update(_ forwarder: Forwarder) {
        state.withLock { state in
            let since = state.failingSince[forwarder.name] ?? forwarder.state.failingSince
            state.failingSince[forwarder.name] = forwarder.view.isFailing ? since ?? Clock.wall : nil
            if let index = state.forwarders.firstIndex(where: { $0.name == forwarder.name }) {
                state.forwarders[index] = forwarder
            } else {
                state.forwarders.append(forwarder)
            }
        }
    }

    func update(_ notifier: NotifierStatus) {
        state.withLock { $0.notifiers[notifier.name] = notifier }
    }

    func forgetNotifiers() {
        state.withLock { $0.notifiers = [:] }
    }

    /// Returns `true` if the configuration has a destination of that name, even one whose section has an error.
    func hasDestination(named name: String) -> Bool {
        state.withLock { state in state.forwarders.contains { $0.name == name } }
    }

    /// Forgets all destinations except the configured ones. Those that are new are idle until their services publish
    /// a state.
    func setDestinations(_ rows: [DestinationRow]) {
        state.withLock { state in
            state.forwarders = rows.map { row in
                state.forwarders.first { $0.name == row.name }
                    ?? Forwarder(name: row.name, view: ForwardingView(state: .idle), state: row.state)
            }
        }
    }

    /// Adds the destinations that are missing, because forwarding could not be started. They wait for the store.
    func addWaiting(_ names: [String]) {
        state.withLock { state in
            for name in names where !state.forwarders.contains(where: { $0.name == name }) {
                let view = ForwardingView(state: .waiting, reason: StoreStatus.failureReason)
                state.forwarders.append(Forwarder(name: name, view: view, state: DestinationRow.State()))
            }
        }
    }

    /// Notes that a destination can't use the store until the time of the next attempt.
    func storeFailed(destination name: String, nextAttempt: MonotonicInstant) {
        state.withLock { state in
            guard let index = state.forwarders.firstIndex(where: { $0.name == name }) else { return }
            var view = ForwardingView(state: .waiting, reason: StoreStatus.failureReason)
            (view.nextAttempt, view.lastAnswer) = (nextAttempt, state.forwarders[index].view.lastAnswer)
            state.forwarders[index].view = view
        }
    }

    /// Notes that a notifier can't use the store until the time of the next attempt.
    func storeFailed(notifier name: String, nextAttempt: MonotonicInstant) {
        let next = Clock.wall.advanced(by: Clock.monotonic.duration(to: nextAttempt))
        state.withLock { state in
            state.notifiers[name]?.state = .waiting
            state.notifiers[name]?.reason = StoreStatus.failureReason
            state.notifiers[name]?.nextAttempt = next
        }
    }

    // MARK: Limits

    /// Publishes the limits of a destination.
    func update(_ limits: LimitView, of destination: String) {
        state.withLock { $0.limits[destination] = limits }
    }

    /// Returns the last published numbers of records that the limits of a destination have held back; nil if there are
    /// none.
    func limitHistory(of destination: String) -> LimitHistory? {
        state.withLock { $0.limits[destination]?.history }
    }

    /// Counts an application name, sender, group or series that exceeded a limit.
    func counted(_ overflow: CardinalityOverflow) {
        let now = Clock.sinceBoot
        state.withLock { $0.overflows.add(overflow, $0.limitSettings, at: now) }
    }

    /// Returns the limits that a viewer may see.
    ///
    /// - Parameter announcements: The status of the limits on announcements.
    func limits(announcements: [LimitStatus], viewer: Viewer) -> LimitsReply {
        let state = state.withLock { $0 }
        let wall = Clock.wall
        var limits = announcements + state.overflows.statuses(state.limitSettings, at: Clock.sinceBoot)
        var unlisted: Int64 = 0
        var since = max(startedAt, wall.advanced(by: .seconds(-86_400)))
        let names = Set(state.forwarders.map(\.name))
        for (name, view) in state.limits where names.contains(name) {
            let (own, more) = view.statuses(destination: name, wall: wall)
            limits += own
            unlisted += more
            // A history starts again when the limits of the destination change.
            since = max(since, view.history.start ?? since)
        }
        let isAll = viewer == .everything
        if !isAll { limits = limits.filter { $0.uid.map { viewer.sees(Int64($0)) } ?? false } }
        return LimitsReply(sorting: limits, unlisted: isAll ? unlisted : 0, since: since)
    }

    /// A line about the state for the service manager.
    var summary: String {
        let state = state.withLock { $0 }
        var text = "\(state.connections) \(state.connections == 1 ? "connection" : "connections")"
        if let obstacle = state.obstacle { text += ", refusing reports: \(obstacle.failure)" }
        for forwarder in state.forwarders {
            text += ", \(forwarder.name) \(forwarder.view.state.rawValue)"
            if let reason = forwarder.view.reason { text += " (\(reason))" }
        }
        var notes = [state.configurationNote].compactMap { $0 }
        if !setAsideFaults.isEmpty { notes.append("database files set aside") }
        guard !notes.isEmpty else { return text }
        return "\(text); \(notes.joined(separator: "; ")): see issuectl status"
    }

    /// Returns the part of the status that a viewer may read.
    func status(_ figures: StoreReader.Figures, viewer: Viewer) -> DaemonStatus {
        let state = state.withLock { $0 }
        let counts = counts.withLock { $0 }
        let isAll = viewer == .everything
        var store = figures.store
        store.faultIDs = store.faults.map { _ in StoreFaultKind.ledger.rawValue }
        if isAll {
            store.sqliteVersion = StoreReader.sqliteVersion
            store.path = path
            store.freeBytes = FileSystem.freeSpace(in: FileSystem.parentFolder(of: path)).map { Int($0) }
            if let (failure, since) = state.obstacle {
                store.add("\(StoreStatus.refusalFaultPrefix)\(since.description): \(failure)", .refusing)
            }
            if state.isKeepFreeUnreachable {
                store.add(
                    "KeepFree= can't be met because other files fill the disk, so no records are removed for it; free "
                        + "disk space, or lower KeepFree= if it is above its minimum", .keepFree)
            }
            if figures.damagedRecords > 0 {
                let records = Quantity.text(figures.damagedRecords, "record")
                store.add("\(records) in damaged blocks of the database can't be read", .damagedBlocks)
            }
            if let found = state.commitsLostAt {
                store.add(
                    "some records from before \(found.description) are lost, although they had receipts: the "
                        + "database or its WAL was removed or damaged (shown until the next start)", .commitsLost)
            }
            for fault in setAsideFaults { store.add(fault, .setAside) }
            for fault in state.configurationFaults { store.add(fault.text, fault.kind) }
            if state.needsRestart {
                store.add(
                    "changes to [Socket] or the database path are not in effect yet: restart the daemon", .restart)
            }
            for fault in Self.credentialFaults(state) { store.add(fault, .credential) }
        }
        return DaemonStatus(
            version: ProductVersion.text, host: Host.name, startedAt: startedAt,
            received: Int(clamping: figures.received),
            rejected: isAll ? counts.rejected : 0, duplicates: isAll ? counts.duplicates : 0,
            refused: isAll ? counts.refused : 0, connections: isAll ? state.connections : nil, store: store,
            destinations: figures.ledgers.map { destination($0, state, isAll: isAll) },
            suppressions: figures.suppressions, otherSuppressions: figures.otherSuppressions,
            refusedAt: isAll ? counts.refusedAt : nil, uptime: started.duration(to: Clock.monotonic),
            redactions: isAll ? Self.redactions(counts.redactions) : [],
            notifiers: isAll ? Self.notifiers(state) : [])
    }

    /// Returns the notifiers, sorted by name. Adds advice to those whose section has an error.
    private static func notifiers(_ state: State) -> [NotifierStatus] {
        state.notifiers.values.sorted { $0.name < $1.name }.map { notifier in
            guard notifier.reason == NotifierStatus.misconfigured else { return notifier }
            var notifier = notifier
            notifier.advice =
                state.notifierAdvice[notifier.name]
                ?? "Fix the notifier's section in the configuration; issued --check lists the errors."
            return notifier
        }
    }

    /// Returns the rules that have redacted values, each with the number of these values.
    private static func redactions(_ counts: RedactionCounts) -> [RedactionCount] {
        RedactionRule.allCases.filter { counts[$0] > 0 }.map { RedactionCount(rule: $0.rawValue, count: counts[$0]) }
    }

    /// Returns the status while the store can't be opened.
    func statusWithoutStore(viewer: Viewer) -> DaemonStatus {
        status(StoreFigures().visible(to: .nothing), viewer: viewer)
    }

    /// A sentence for each database that was moved aside, and for each WAL that was moved aside without its database.
    /// The files stay next to the database until an operator removes them.
    private var setAsideFaults: [String] {
        let folder = FileSystem.parentFolder(of: path)
        let beginning = "\(FileSystem.name(of: path)).damaged-"
        let names = Set(((try? FileSystem.names(in: folder)) ?? []).filter { $0.hasPrefix(beginning) })
        return names.sorted().compactMap { name in
            if name.hasSuffix("-shm") || name.hasSuffix("-journal") { return nil }
            guard name.hasSuffix("-wal") else {
                return "the database \(folder)/\(name) could not be used and was set aside: see issuectl repair"
            }
            return names.contains(String(name.dropLast("-wal".count)))
                ? nil : "\(StoreStatus.walFaultPrefix)was set aside; move it away: \(folder)/\(name)"
        }
    }

    /// Returns the error in the configuration that pauses a destination, with its file and line; nil if the destination
    /// is not paused or is paused for another reason.
    private static func advice(on forwarder: Forwarder, _ state: State) -> String? {
        guard forwarder.view.state == .paused,
            [PauseReason.noCredential.rawValue, Forwarder.misconfigured].contains(forwarder.view.reason)
        else { return nil }
        return state.destinationAdvice[forwarder.name]
    }

    private static func credentialFaults(_ state: State) -> [String] {
        state.forwarders.filter { $0.view.reason == PauseReason.noCredential.rawValue }.map { forwarder in
            let cause = advice(on: forwarder, state) ?? PauseReason.noCredential.advice
            return "destination \(forwarder.name) is paused: \(cause)"
        }
    }

    /// Returns the status of one destination.
    ///
    /// Only a viewer who may read everything gets the traffic, the advice, the last answer, and the times of the last
    /// dead letter and the last expiry. The answer names the address of the destination.
    private func destination(
        _ figures: StoreReader.DestinationFigures, _ state: State, isAll: Bool
    ) -> DestinationStatus {
        var status = DestinationStatus(
            name: figures.name, kind: figures.kind, ledger: figures.ledger,
            pendingCorrections: figures.corrections > 0 ? Int(clamping: figures.corrections) : nil,
            oldestPending: figures.oldestPending)
        guard let forwarder = state.forwarders.first(where: { $0.name == figures.name }) else {
            status.reason = DestinationStatus.removedReason
            return status
        }
        status.state = forwarder.view.state
        status.reason = forwarder.view.reason
        status.nextAttempt = forwarder.view.nextAttempt.map { next in
            Clock.wall.advanced(by: Clock.monotonic.duration(to: next))
        }
        status.failingSince = state.failingSince[figures.name]
        status.lastSuccess = forwarder.state.lastSuccess
        guard isAll else { return status }
        status.advice = Self.advice(on: forwarder, state) ?? forwarder.view.advice
        status.lastAnswer = forwarder.view.lastAnswer ?? forwarder.state.lastAnswer
        status.lastDeadLetter = figures.ledger.deadLettered > 0 ? forwarder.state.lastDeadLetter : nil
        status.lastExpired = figures.ledger.expired > 0 ? figures.lastExpired : nil
        status.requests = Int(clamping: forwarder.state.requests)
        status.resent = Int(clamping: forwarder.state.resent)
        status.possibleDuplicates = Int(clamping: forwarder.state.maybeDuplicate)
        let sent = DailyBudget(limit: 0, day: forwarder.state.day, bytes: forwarder.state.dayBytes)
        status.bytesToday = Int(clamping: sent.today(at: Clock.wall).bytes)
        return status
    }
}
