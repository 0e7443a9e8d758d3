package import IssueWire

/// A verdict about the health of the daemon, in one word. The cases are ordered from best to worst.
package enum HealthVerdict: String, CaseIterable, Comparable, Sendable {
    /// Reports are stored and forwarded in time.
    case healthy
    /// The caller is not allowed to see enough for a verdict, and what they see is healthy.
    case unknown
    /// Something needs attention, but reports are stored.
    case degraded
    /// Reports are refused now, records or corrections have waited for hours to be forwarded, or the database or the
    /// daemon is not available.
    case failing

    /// The exit code of `issuectl health`: 0 for healthy, 1 for unknown and degraded, 2 for failing.
    package var code: Int {
        switch self {
        case .healthy: 0
        case .unknown, .degraded: 1
        case .failing: 2
        }
    }

    package static func < (left: Self, right: Self) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}

extension HealthVerdict: JSONStringEnum {}

/// The durations that decide whether the daemon is degraded or failing.
package struct HealthThresholds: Equatable, Sendable {
    /// The age of the oldest pending record or correction of a destination at which the daemon is degraded.
    package var degradedAge: Duration = .seconds(15 * 60)
    /// The age of the oldest pending record or correction of a destination at which the daemon is failing.
    package var failingAge: Duration = .seconds(6 * 3600)
    /// The age of the oldest pending event of a notifier at which the daemon is degraded.
    package var notificationAge: Duration = .seconds(5 * 60)
    /// How long the daemon is degraded after it has refused a report for lack of space or time.
    package var refusalMemory: Duration = .seconds(15 * 60)
    /// How long the daemon is degraded after a dead letter, if the destination has accepted nothing since.
    package var rejectionMemory: Duration = .seconds(24 * 3600)
    /// How long the daemon is degraded after pending records have expired.
    package var expiryMemory: Duration = .seconds(24 * 3600)

    package init() {}
}

/// One reason for a verdict.
package struct HealthFinding: Equatable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// The daemon cannot be reached or does not reply.
        case unreachable
        /// The database cannot be opened.
        case storeClosed = "store-closed"
        /// Reports are refused now.
        case refusing
        /// A report was refused recently for lack of space or time.
        case refused
        /// The store or the configuration has a fault.
        case fault
        /// The ledger of a destination does not balance.
        case ledger
        /// A destination is paused, or its oldest record or correction has been pending for too long.
        case destination
        /// A destination has recently got a dead letter, and has accepted nothing since.
        case deadLetters = "dead-letters"
        /// Records expired recently: they were removed before a destination had them.
        case expired
        /// A notifier is paused, its oldest event has been pending for too long, or it has given up events and
        /// delivered none since.
        case notifier
        /// The caller is not allowed to see the records of other users, faults or refused reports.
        case rights
    }

    package var kind: Kind
    package var verdict: HealthVerdict
    /// The name of the destination; nil if the finding is not about a single destination, or if it repeats a fault that
    /// the daemon has reported.
    package var destination: String?
    /// A clause. Its first word is not capitalised, unless it is a name, and there is no full stop at the end.
    package var message: String

    package init(_ kind: Kind, _ verdict: HealthVerdict, destination: String? = nil, _ message: String) {
        self.kind = kind
        self.verdict = verdict
        self.destination = destination
        self.message = message
    }
}

/// The health of the daemon: a verdict and its reasons.
package struct HealthReport: Equatable, Sendable {
    package private(set) var verdict: HealthVerdict
    /// The reasons for the verdict, the worst first.
    package private(set) var findings: [HealthFinding]

    package init(findings: [HealthFinding]) {
        self.findings = findings.sorted { $0.verdict > $1.verdict }
        verdict = self.findings.first?.verdict ?? .healthy
    }

    /// Evaluates the status that the daemon has returned.
    ///
    /// - Parameters:
    ///   - status: The status, as far as the caller may see it.
    ///   - now: The current time of the daemon's host.
    ///   - thresholds: The durations that decide the verdict.
    package init(_ status: DaemonStatus, now: IssueTimestamp, thresholds: HealthThresholds = HealthThresholds()) {
        var findings: [HealthFinding] = []
        let store = status.store
        if store.id.isEmpty {
            let reason = store.faults.first.map { ": \($0)" } ?? ""
            findings.append(HealthFinding(.storeClosed, .failing, "the database cannot be opened\(reason)"))
        }
        let paused = status.destinations.filter { $0.state == .paused }.map(\.name)
        for (fault, kind) in store.faultsByKind.dropFirst(store.id.isEmpty ? 1 : 0) {
            // The finding about the paused destination, which follows, replaces this fault.
            if paused.contains(where: { fault.hasPrefix("destination \($0) is paused") }) { continue }
            switch kind {
            case .refusing: findings.append(HealthFinding(.refusing, .failing, fault))
            case .ledger: findings.append(HealthFinding(.ledger, .degraded, fault))
            case .keepFree, .damagedBlocks, .commitsLost, .setAside, .configuration, .notifier, .restart, .credential,
                nil:
                findings.append(HealthFinding(.fault, .degraded, fault))
            }
        }
        if let refusedAt = status.refusedAt, refusedAt.age(at: now) < thresholds.refusalMemory {
            findings.append(
                HealthFinding(
                    .refused, .degraded,
                    "reports were refused for lack of space or time, the last \(Self.ago(refusedAt.age(at: now))); "
                        + "records refused since the start for any reason: \(Quantity.text(status.refused))"))
        }
        for destination in status.destinations {
            if let finding = Self.finding(destination, now: now, thresholds) { findings.append(finding) }
            if let finding = Self.deadLetters(destination, now: now, thresholds) { findings.append(finding) }
            if let finding = Self.expired(destination, now: now, thresholds) { findings.append(finding) }
            let isKnown = store.faults.contains {
                $0.hasPrefix("\(StoreStatus.ledgerFaultPrefix)\(destination.name) ")
            }
            if !destination.balances, !isKnown {
                findings.append(
                    HealthFinding(
                        .ledger, .degraded, destination: destination.name,
                        "\(StoreStatus.ledgerFaultPrefix)\(destination.name) does not balance"))
            }
        }
        for notifier in status.notifiers {
            if let finding = Self.finding(notifier, now: now, thresholds) { findings.append(finding) }
        }
        if !store.id.isEmpty, store.bytes == nil {
            findings.append(
                HealthFinding(
                    .rights, .unknown,
                    "you see only your own records; only root, the daemon's user, readers and operators see faults"))
        }
        self.init(findings: findings)
    }

    /// Returns the finding about a destination that is paused or late; nil for any other destination, and for one that
    /// is no longer configured.
    private static func finding(
        _ destination: DestinationStatus, now: IssueTimestamp, _ thresholds: HealthThresholds
    ) -> HealthFinding? {
        let age = destination.oldestPending.map { $0.age(at: now) } ?? .zero
        let isLate = destination.oldestPending != nil && age >= min(thresholds.degradedAge, thresholds.failingAge)
        // The records of a removed destination wait until it is configured again or they expire, as intended.
        guard !destination.isRemoved, isLate || destination.state == .paused else { return nil }
        var message = "destination \(destination.name) is \(destination.state.rawValue)"
        if let reason = destination.reason { message += " (\(reason))" }
        if destination.oldestPending != nil {
            message += "; \(oldest(destination)) has waited \(span(age))"
        }
        return HealthFinding(
            .destination, isLate && age >= thresholds.failingAge ? .failing : .degraded,
            destination: destination.name, message)
    }

    /// Returns the finding about a destination that has recently got a dead letter and accepted nothing since; nil for
    /// any other destination, and for one that is no longer configured.
    ///
    /// If the destination has accepted other records since, there is no finding: the cause is then in the rejected
    /// records, and any user can send such records. Accepted records of the batch with the dead letter count as well,
    /// because the time of their success is not earlier than that of the dead letter.
    private static func deadLetters(
        _ destination: DestinationStatus, now: IssueTimestamp, _ thresholds: HealthThresholds
    ) -> HealthFinding? {
        guard !destination.isRemoved, let last = destination.lastDeadLetter else { return nil }
        let hasAccepted = destination.lastSuccess.map { $0 >= last } ?? false
        let age = last.age(at: now)
        guard !hasAccepted, age < thresholds.rejectionMemory else { return nil }
        return HealthFinding(
            .deadLetters, .degraded, destination: destination.name,
            "destination \(destination.name) has dead letters, the last \(ago(age)), and has accepted nothing since: "
                + "see issuectl dead-letters")
    }

    /// Returns the finding about a destination for which records have recently expired; nil for any other destination,
    /// and for one that is no longer configured, whose records expire as intended.
    ///
    /// Unlike after a dead letter, a later success does not end the finding, because the records are lost for the
    /// destination, and more expire if it stays behind.
    private static func expired(
        _ destination: DestinationStatus, now: IssueTimestamp, _ thresholds: HealthThresholds
    ) -> HealthFinding? {
        guard !destination.isRemoved, let last = destination.lastExpired else { return nil }
        let age = last.age(at: now)
        // A time far in the future was stored while the clock was wrong.
        guard age < thresholds.expiryMemory, last < now.advanced(by: thresholds.expiryMemory) else { return nil }
        return HealthFinding(
            .expired, .degraded, destination: destination.name,
            "records expired before destination \(destination.name) had them, the last \(ago(age)), "
                + "\(Quantity.text(destination.count(of: .expired))) in total: find out why it accepts records too "
                + "slowly or not at all, or raise MaxSize= or MaxAge=")
    }

    /// Returns a phrase for the oldest pending record or correction.
    private static func oldest(_ destination: DestinationStatus) -> String {
        let (records, corrections) = (destination.count(of: .pending), destination.pendingCorrections ?? 0)
        switch (records, corrections) {
        case (0, 1): return "its pending correction"
        case (0, 2...): return "the oldest of \(Quantity.text(corrections)) pending corrections"
        case (1, 0): return "its pending record"
        case (_, 0): return "the oldest of \(Quantity.text(records)) pending records"
        default:
            return "the oldest of \(Quantity.text(records)) pending \(records == 1 ? "record" : "records") and "
                + Quantity.text(corrections, "correction")
        }
    }

    /// Returns the finding about a notifier that is paused or late, or has given up events and delivered none since;
    /// nil for any other notifier.
    private static func finding(
        _ notifier: NotifierStatus, now: IssueTimestamp, _ thresholds: HealthThresholds
    ) -> HealthFinding? {
        let age = notifier.oldestPending.map { $0.age(at: now) } ?? .zero
        var message = "notifier \(notifier.name)"
        if notifier.state == .paused {
            message += " is paused\(notifier.reason.map { " (\($0))" } ?? "")"
            if notifier.reason == NotifierStatus.misconfigured {
                // The notifier's last answer is older than the error, so it is left out.
                message += ": fix its section in the configuration; issued --check lists the errors"
                return HealthFinding(.notifier, .degraded, message)
            }
        } else if age >= thresholds.notificationAge {
            message +=
                notifier.pending == 1
                ? " has a pending event, which has waited \(span(age))"
                : " has \(Quantity.text(notifier.pending)) pending events; the oldest has waited \(span(age))"
        } else if let last = notifier.lastGivenUp, notifier.deliversNothing {
            // No time limit applies, because weeks may pass between two events, and later ones would be lost, too.
            message += " has given up events, the last \(ago(last.age(at: now))), and delivered nothing since"
        } else {
            return nil
        }
        if let answer = notifier.lastAnswer { message += "; its last answer: \(answer)" }
        return HealthFinding(.notifier, .degraded, message)
    }

    /// Returns an age such as `3 min ago`.
    private static func ago(_ age: Duration) -> String { age < .seconds(1) ? "just now" : "\(span(age)) ago" }

    /// Returns a time span in whole seconds, minutes, hours or days, such as `3 min`.
    package static func span(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        return switch seconds {
        case ..<60: "\(max(0, seconds)) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<86_400: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}

/// The kind of a fault of the store or the configuration. The raw value is its identifier on the wire.
package enum StoreFaultKind: String, CaseIterable, Sendable {
    /// Reports are refused now.
    case refusing = "store.refusing"
    /// Other files fill the disk, so no records are removed for `KeepFree=`.
    case keepFree = "store.keep-free"
    /// The ledger of a destination does not balance.
    case ledger = "store.ledger"
    /// Records in damaged blocks of the database cannot be read.
    case damagedBlocks = "store.damaged-blocks"
    /// Records that had receipts are lost, because the database or its WAL was removed or damaged.
    case commitsLost = "store.commits-lost"
    /// A database that could not be used was moved aside.
    case setAside = "store.set-aside"
    /// The configuration has an error.
    case configuration = "config.error"
    /// The section of a notifier has an error. All destinations in the configuration files are in use nevertheless.
    case notifier = "config.notifier"
    /// Changes to the configuration take effect after a restart.
    case restart = "config.needs-restart"
    /// A destination lacks its credential.
    case credential = "destination.credential"
}

extension StoreStatus {
    /// Adds a fault.
    package mutating func add(_ fault: String, _ kind: StoreFaultKind) {
        faults.append(fault)
        faultIDs.append(kind.rawValue)
    }

    /// The faults with their kinds. The kind is nil if this version does not know it, or if the daemon is too old to
    /// send identifiers.
    package var faultsByKind: [(text: String, kind: StoreFaultKind?)] {
        faults.enumerated().map { index, fault in
            (fault, index < faultIDs.count ? StoreFaultKind(rawValue: faultIDs[index]) : nil)
        }
    }

    /// The beginning of the text of the fault that is present while reports are refused.
    package static let refusalFaultPrefix = "reports have been refused since "
    /// A part of the text of a fault that is due to a read-only file system.
    package static let readOnlyText = "is on a read-only file system"
    /// The beginning of the text of the fault for a WAL that was moved aside without its database.
    package static let walFaultPrefix = "the WAL of a missing database "
    /// The `reason` of a destination or notifier that waits because it can't use the store.
    package static let failureReason = "store_failed"
    /// The beginning of the text of the fault for a ledger that does not balance. The destination's name follows.
    package static let ledgerFaultPrefix = "the ledger of "
}

extension DestinationStatus {
    /// The `reason` of a destination that is no longer configured.
    package static let removedReason = "no longer configured"

    /// Whether the destination is no longer configured. Its records wait until it is configured again or they expire.
    package var isRemoved: Bool { state == .idle && reason == Self.removedReason }
}

extension NotifierStatus {
    /// The `reason` of a notifier whose section has an error.
    package static let misconfigured = "misconfigured"

    /// Whether the notifier has given up events and its receiver has not accepted a message, or a test message, since.
    package var deliversNothing: Bool {
        guard let lastGivenUp else { return false }
        return lastSuccess.map { $0 < lastGivenUp } ?? true
    }
}

extension IssueTimestamp {
    /// Returns the time from this timestamp to `now`; zero for a timestamp in the future.
    fileprivate func age(at now: IssueTimestamp) -> Duration { max(.zero, duration(to: now)) }
}

extension HealthFinding: JSONObjectCodable {
    package static var initial: Self { Self(.fault, .degraded, "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("kind", &kind)
        try members.required("verdict", &verdict)
        try members.optional("destination", &destination)
        try members.required("message", &message)
    }
}

extension HealthFinding.Kind: JSONStringEnum {}

extension HealthReport: JSONObjectCodable {
    package static var initial: Self { Self(findings: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("verdict", &verdict)
        try members.required("findings", &findings)
    }
}

/// Formats numbers for users.
package enum Quantity {
    /// Returns a number such as `1,234,567`.
    package static func text(_ number: some FixedWidthInteger) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// Returns a count such as `1 record` or `2 records`.
    package static func text(_ number: some FixedWidthInteger, _ one: String) -> String {
        "\(text(number)) \(number == 1 ? one : one + "s")"
    }

    /// Returns a size such as `512 B`, `1.4 KiB` or `20.0 GiB`, rounded to the nearest tenth.
    package static func bytes(_ number: some FixedWidthInteger) -> String {
        var tenths = (Double(number) * 10).rounded()
        var unit = 0
        var size = Double(number)
        while tenths.magnitude >= 10_240, unit < units.count - 1 {
            size /= 1024
            tenths = (size * 10).rounded()
            unit += 1
        }
        return unit == 0 ? "\(number) B" : "\(tenths / 10) \(units[unit])"
    }

    private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
}
