import IssueProtocol
import Issues
import UnixIO

/// A check of `issuectl doctor`.
package struct DoctorCheck: Sendable {
    /// The identifier, which stays the same in later versions.
    package var id: String
    /// The condition that the check verifies, in one line.
    package var summary: String
    /// Returns the findings: an empty list if nothing is wrong, and nil if the check is not possible.
    package var findings: @Sendable (DoctorFacts) -> [DoctorFinding]?

    package static let all: [DoctorCheck] = [
        .init(id: "socket", summary: "The daemon replies at its socket", findings: socket),
        .init(
            id: "permissions",
            summary: "Every user can report; only root, you and the owner of the socket can replace it"
        ) {
            permissions($0)
        },
        .init(id: "groups", summary: "You may see all records", findings: groups),
        .init(id: "version", summary: "issuectl and the daemon have the same version", findings: version),
        .init(id: "unit", summary: "The units have the settings that the daemon needs", findings: unit),
        .init(id: "configuration", summary: "The configuration has no errors", findings: configuration),
        .init(id: "clock", summary: "The clock is right and has not jumped", findings: clock),
        .init(id: "disk", summary: "The disk has space for the database", findings: disk),
        .init(id: "database", summary: "The database can be written and is complete", findings: database),
        .init(id: "sqlite", summary: "The version of SQLite has no known fault that matters", findings: sqlite),
        .init(id: "ledger", summary: "Every record has exactly one fate", findings: ledger),
        .init(
            id: "destinations",
            summary: "Every destination is reached and not overloaded (but see also tls and token)",
            findings: destinations),
        .init(id: "tls", summary: "TLS connections to the destinations work", findings: tls),
        .init(id: "token", summary: "Every destination accepts its credential", findings: token),
        .init(
            id: "delivery", summary: "No record waits for too long, and no destination rejects everything",
            findings: delivery),
        .init(id: "notifiers", summary: "Every notifier delivers its messages", findings: notifiers),
    ]
}

/// A finding of a check.
package struct DoctorFinding: Equatable, Sendable {
    package enum Severity: String, CaseIterable, Comparable, Sendable {
        /// Something to know. It does not change the exit code.
        case note
        case warning
        case problem

        package static func < (left: Self, right: Self) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    package var severity: Severity
    /// The fault, as a clause.
    package var message: String
    /// The command or the change that fixes the fault.
    package var fix: String

    package init(_ severity: Severity, _ message: String, fix: String) {
        self.severity = severity
        self.message = message
        self.fix = fix
    }
}

// MARK: The host

extension DoctorCheck {
    private static func socket(_ facts: DoctorFacts) -> [DoctorFinding]? {
        guard case .failure(let failure) = facts.status else { return [] }
        let (message, fix): (String, String)
        switch failure {
        case .unreachable(let path, .noSuchFile):
            message = "there is no socket at \(path)"
            fix =
                facts.socketUnit.isInstalled
                ? "systemctl enable --now issued.socket issued.service" : "install issued, or start it: issued"
        case .unreachable(let path, .accessDenied) where facts.socket?.path != path:
            let folder = FileSystem.parentFolder(of: path)
            message = "you may not enter \(folder), the folder of the socket"
            fix = enteringFix(folder)
        case .unreachable(let path, .accessDenied):
            message = "you may not connect to \(path)"
            fix = connectingFix(facts, path)
        case .unreachable(let path, .connectionRefused):
            message = "no daemon listens at \(path)"
            fix = isService(facts) ? "systemctl restart issued.socket issued.service" : "start the daemon"
        case .unreachable(let path, let error):
            message = "cannot connect to \(path): \(error)"
            fix = isService(facts) ? "systemctl status issued.socket issued.service" : readLog(facts, "")
        case .untrusted(let path, let reason):
            message = "\(path) is not trusted: \(reason)"
            fix =
                reason == ServerTrust.writableFolder
                ? "chmod go-w \(FileSystem.parentFolder(of: path))" : "find out who serves it: ss -xlp src \(path)"
        case .disabled:
            message = "ISSUED_SOCKET is empty, which disables reporting"
            fix = "unset ISSUED_SOCKET"
        case .unusablePath(let reason):
            message = "the path of the socket cannot be used: \(reason)"
            fix = "unset ISSUED_SOCKET, or use --socket with another path"
        case .malformed(let reason):
            message = "the daemon sent an invalid reply: \(reason)"
            fix = "install the same version of issuectl and issued, then: \(restart(facts))"
        case .closed, .timedOut:
            message = failure == .closed ? "the daemon closes the connection" : "the daemon does not reply in time"
            fix = "\(readLog(facts, "--lines 50")); then restart issued"
        case .refused(let error):
            message =
                "the daemon refuses to return its status: \(CommandFailure(.refused(error)).message ?? "\(error)")"
            fix = readLog(facts, "--lines 50")
        }
        return [DoctorFinding(.problem, message, fix: fix)]
    }

    /// Returns the command that shows the daemon's log, or where to find the log if the daemon is not a service.
    private static func readLog(_ facts: DoctorFacts, _ options: String) -> String {
        isService(facts)
            ? "journalctl --unit issued \(options)" : "read the daemon's log, which it writes to standard error"
    }

    /// Returns the command that restarts the daemon, or a request to do so if the daemon is not a service.
    private static func restart(_ facts: DoctorFacts, _ units: String = "issued") -> String {
        isService(facts) ? "systemctl restart \(units)" : "restart the daemon"
    }

    private static func permissions(_ facts: DoctorFacts) -> [DoctorFinding]? {
        guard let socket = facts.socket else { return nil }
        let path = socket.path
        var findings: [DoctorFinding] = []
        let isOwn = facts.isOwnSocket
        if !isOwn, socket.mode & 0o222 != 0o222 {
            findings.append(
                DoctorFinding(
                    .warning, "\(path) has mode \(octal(socket.mode)), so not every user can report",
                    fix: connectingFix(facts, path)))
        }
        let folder = FileSystem.parentFolder(of: path)
        // To connect, users need search permission for the folder, but no read permission. A folder with the database
        // must be closed to other users, so only its owner can use a socket in it.
        let hasDatabase = facts.daemon?.store.path.map { FileSystem.parentFolder(of: $0) == folder } ?? false
        if !isOwn, !hasDatabase, socket.folderMode & 0o001 == 0 {
            findings.append(
                DoctorFinding(
                    .warning,
                    "the folder of \(path) has mode \(octal(socket.folderMode)), so not every user can report",
                    fix: enteringFix(folder)))
        }
        // In a folder with the sticky bit, users can replace only their own files.
        if socket.folderMode & 0o022 != 0, socket.folderMode & 0o1000 == 0 {
            findings.append(
                DoctorFinding(
                    .problem, "other users can write to the folder of \(path), and could replace the socket",
                    fix: "chmod go-w \(folder)"))
        }
        if ![0, socket.owner, facts.userID].contains(socket.folderOwner) {
            findings.append(
                DoctorFinding(
                    .problem, "user \(socket.folderOwner) owns the folder of \(path), and could replace the socket",
                    fix: "chown \(socket.owner) \(folder)"))
        }
        return findings
    }

    /// Returns the fix for a socket that users cannot connect to.
    private static func connectingFix(_ facts: DoctorFacts, _ path: String) -> String {
        isService(facts)
            ? "systemctl edit issued.socket: SocketMode=0666, then: systemctl restart issued.socket"
            : "chmod 0666 \(path)"
    }

    /// Returns the fix for a socket folder that users cannot enter. A folder with the database must keep mode 0700.
    private static func enteringFix(_ folder: String) -> String {
        "chmod 0755 \(folder). If the database is in it, set Path= of [Socket] in issued.conf to a path in another "
            + "folder instead"
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    private static func groups(_ facts: DoctorFacts) -> [DoctorFinding]? {
        guard let daemon = facts.daemon, !daemon.store.id.isEmpty else { return nil }
        guard daemon.store.bytes == nil else { return [] }
        return [
            DoctorFinding(
                .note, "you see only your own records, so some checks are not possible",
                fix: "sudo issuectl doctor; or name one of your groups in Readers= (issued.conf). After being added to "
                    + "a group, log in again")
        ]
    }

    private static func version(_ facts: DoctorFacts) -> [DoctorFinding]? {
        guard let daemon = facts.daemon else { return nil }
        guard daemon.version != facts.clientVersion else { return [] }
        return [
            DoctorFinding(
                .warning, "issuectl is \(facts.clientVersion), but the running daemon is \(daemon.version)",
                fix: "\(restart(facts)); if that does not help, install the same version of both")
        ]
    }

    private static let expectedSettings: [(key: String, accepts: @Sendable (String) -> Bool, setting: String)] = [
        ("Type", { $0 == "notify" || $0 == "notify-reload" }, "Type=notify"),
        ("Restart", { $0 == "always" }, "Restart=always"),
        ("WatchdogSec", { $0 != "0" && !$0.isEmpty }, "WatchdogSec=30s"),
        ("StateDirectory", { $0.split(separator: " ").contains("issued") }, "StateDirectory=issued"),
        // The value may be SOFT:HARD. The daemon uses the hard limit.
        (
            "LimitNOFILE",
            { value in
                let hard = value.split(separator: ":").last ?? ""
                return hard == "infinity" || (Int(hard) ?? 0) >= 16_384
            }, "LimitNOFILE=16384"
        ),
        ("LimitCORE", { $0 == "0" }, "LimitCORE=0"),
        ("NoNewPrivileges", { ["yes", "true", "on", "1"].contains($0) }, "NoNewPrivileges=yes"),
    ]

    private static func unit(_ facts: DoctorFacts) -> [DoctorFinding]? {
        guard facts.service.isInstalled else { return nil }
        var missing = expectedSettings.filter { setting in
            facts.service[setting.key].map { !setting.accepts($0) } ?? true
        }.map(\.setting)
        // With another value, the daemon can't read the metadata of senders from /proc.
        if facts.service["ProtectProc"].map({ $0 != "default" }) ?? false { missing.append("ProtectProc=default") }
        var findings: [DoctorFinding] = []
        if !missing.isEmpty {
            findings.append(
                DoctorFinding(
                    .warning, "issued.service lacks \(missing.joined(separator: ", "))",
                    fix: "systemctl edit issued.service: add the settings below [Service], then: systemctl restart "
                        + "issued"))
        }
        if facts.socketUnit.isInstalled, let mode = facts.socketUnit["SocketMode"], mode != "0666", mode != "666" {
            findings.append(
                DoctorFinding(
                    .warning, "issued.socket has SocketMode=\(mode), so not every user can report",
                    fix: "systemctl edit issued.socket: SocketMode=0666, then: systemctl restart issued.socket"))
        }
        return findings
    }

    private static func clock(_ facts: DoctorFacts) -> [DoctorFinding]? {
        var findings: [DoctorFinding] = []
        if facts.isClockSynchronized == false {
            findings.append(
                DoctorFinding(
                    .warning, "the clock is not synchronized", fix: "timedatectl set-ntp true; timedatectl status"))
        }
        guard let daemon = facts.daemon else { return findings }
        let limit = facts.now.advanced(by: .seconds(5))
        let times =
            [("started", daemon.startedAt as IssueTimestamp?), ("stored its oldest record", daemon.store.oldest)]
            + daemon.destinations.map { ("last sent to \($0.name)", $0.lastSuccess) }
        for (event, time) in times {
            guard let time, time > limit else { continue }
            findings.append(
                DoctorFinding(
                    .warning, "according to the clock, the daemon \(event) in the future (\(time))",
                    fix: "timedatectl status; the clock was set back, or is wrong now"))
        }
        return findings
    }

    private static func disk(_ facts: DoctorFacts) -> [DoctorFinding]? {
        guard let store = facts.daemon?.store, let free = store.freeBytes else { return nil }
        if hasReadOnlyDisk(store) {
            let folder = store.path.map { FileSystem.parentFolder(of: $0) } ?? "FOLDER"
            return [
                DoctorFinding(
                    .problem, "the database's file system is read-only",
                    fix:
                        "journalctl --dmesg shows disk errors; findmnt --target \(folder) shows the mount point, then: "
                        + "mount -o remount,rw MOUNT_POINT")
            ]
        }
        // On a small file system, the limits are fractions of its size. KeepFree= usually leaves more than that free.
        let whole = facts.fileSystemBytes.map { Int(clamping: $0) } ?? .max
        let limits: [(severity: DoctorFinding.Severity, bytes: Int)] = [
            (.problem, min(64 << 20, whole / 16)), (.warning, min(1 << 30, whole / 8)),
        ]
        guard let limit = limits.first(where: { free < $0.bytes }) else { return [] }
        // A smaller database helps only if the database is large enough.
        let alternative =
            store.bytes ?? 0 > limit.bytes - free
            ? "lower MaxSize= in issued.conf"
            : "move the database to a larger disk (Path= of [Store] in issued.conf)"
        return [
            DoctorFinding(
                limit.severity, "only \(Quantity.bytes(free)) is free on the database's disk",
                fix: "free space there, or \(alternative)")
        ]
    }

    /// Returns `true` if a fault says that the file system of the database is read-only.
    private static func hasReadOnlyDisk(_ store: StoreStatus) -> Bool {
        store.faults.contains { $0.contains(StoreStatus.readOnlyText) }
    }
}

// MARK: The daemon

extension DoctorCheck {
    /// The text that follows the command `issued --check` in a fix.
    private static let ownConfiguration = "with the daemon's --config FILE if it has one"

    /// Returns the fix for errors in the configuration.
    private static func checkAndReload(_ facts: DoctorFacts) -> String {
        "issued --check, \(ownConfiguration); then: "
            + (isService(facts) ? "systemctl reload issued" : "send SIGHUP to the daemon")
    }

    /// Returns `true` if the daemon probably runs as `issued.service`: the unit is installed, and the socket is not the
    /// user's own.
    private static func isService(_ facts: DoctorFacts) -> Bool { facts.service.isInstalled && !facts.isOwnSocket }

    private static func configuration(_ facts: DoctorFacts) -> [DoctorFinding]? {
        visibleFaults(facts)?.compactMap { fault in
            switch fault.kind {
            case .configuration, .notifier: DoctorFinding(.problem, fault.text, fix: checkAndReload(facts))
            case .restart:
                DoctorFinding(
                    .warning, fault.text,
                    fix: restart(facts, "issued.socket issued.service"))
            case .refusing, .keepFree, .ledger, .damagedBlocks, .commitsLost, .setAside, .credential, nil: nil
            }
        }
    }

    private static func database(_ facts: DoctorFacts) -> [DoctorFinding]? {
        guard let faults = visibleFaults(facts), let store = facts.daemon?.store else { return nil }
        if store.id.isEmpty {
            return [
                DoctorFinding(
                    .problem, "the database cannot be opened: \(faults.first?.text ?? "unknown reason")",
                    fix: hasReadOnlyDisk(store)
                        ? "see the check disk" : "\(readLog(facts, "--lines 20")): look for the file and the cause")
            ]
        }
        return faults.compactMap { fault in
            switch fault.kind {
            case .configuration, .notifier, .restart, .credential, .ledger: nil
            case .refusing:
                DoctorFinding(
                    .problem, fault.text,
                    fix: hasReadOnlyDisk(store)
                        ? "see the check disk"
                        : "free disk space, or fix the file's permissions; for another cause: "
                            + readLog(facts, "--priority warning"))
            case .keepFree:
                DoctorFinding(
                    .warning, fault.text,
                    fix: "free space on the database's disk, or lower KeepFree= in issued.conf")
            case .commitsLost:
                DoctorFinding(
                    .problem, fault.text,
                    fix: "find out what removed or damaged the file, and check the disk; then restart issued")
            case .setAside where fault.text.hasPrefix(StoreStatus.walFaultPrefix):
                DoctorFinding(
                    .warning, fault.text,
                    fix: "find out what removed the database, then move the file away; a WAL can't be repaired without "
                        + "its database")
            case .setAside:
                DoctorFinding(
                    .warning, fault.text, fix: "issuectl repair; remove the file only after its records are recovered")
            case .damagedBlocks:
                DoctorFinding(
                    .problem, fault.text,
                    fix: "journalctl --dmesg shows disk errors. All other records are intact; older "
                        + "backups may have the damaged ones (Operations.md, A block is damaged)")
            case nil:
                DoctorFinding(
                    .problem, fault.text, fix: "\(readLog(facts, "--priority warning")): look for the cause")
            }
        }
    }

    private static func ledger(_ facts: DoctorFacts) -> [DoctorFinding]? {
        guard let daemon = facts.daemon, visibleFaults(facts) != nil else { return nil }
        let faults = daemon.store.faultsByKind.filter { $0.kind == .ledger }.map(\.text)
        let fix = "report it as a bug in issued, with the output of: issuectl sql 'SELECT * FROM ledger_check'"
        let unnamed = daemon.destinations.filter { destination in
            !destination.balances && !faults.contains { $0.contains(" \(destination.name) ") }
        }
        return (faults + unnamed.map { "\(StoreStatus.ledgerFaultPrefix)\($0.name) does not balance" }).map {
            DoctorFinding(.problem, $0, fix: fix)
        }
    }

    private static func sqlite(_ facts: DoctorFacts) -> [DoctorFinding]? {
        guard let text = facts.daemon?.store.sqliteVersion, let version = SQLiteRelease(text) else { return nil }
        return SQLiteRelease.knownFaults.filter { $0.affects(version) }.map {
            DoctorFinding($0.severity, "SQLite \(text): \($0.description)", fix: $0.fix)
        }
    }

    /// Returns the faults of the store; nil if there is no status or the user may not see them.
    private static func visibleFaults(_ facts: DoctorFacts) -> [(text: String, kind: StoreFaultKind?)]? {
        guard let store = facts.daemon?.store, store.id.isEmpty || store.bytes != nil else { return nil }
        return store.faultsByKind
    }
}

// MARK: Destinations

extension DoctorCheck {
    /// The reasons for which the check `token` reports a paused or waiting destination.
    private static let tokenReasons: Set = ["unauthorised", "forbidden", "no_credential", "proxy_refuses"]

    private static func configured(_ facts: DoctorFacts) -> [DestinationStatus]? {
        facts.daemon?.destinations.filter { !$0.isRemoved }
    }

    /// Returns a finding for each destination that waits or is paused for a matching reason; nil without a status.
    private static func findings(
        _ facts: DoctorFacts, where isMatching: (_ reason: String) -> Bool,
        fix: (DestinationStatus) -> String
    ) -> [DoctorFinding]? {
        configured(facts)?.compactMap { destination in
            guard let reason = destination.reason, isMatching(reason) else { return nil }
            let isPaused = destination.state == .paused
            guard isPaused || destination.state == .waiting else { return nil }
            let answer = destination.lastAnswer.map { "; its last answer: \($0)" } ?? ""
            return DoctorFinding(
                isPaused ? .problem : .warning,
                "\(destination.name) is \(destination.state.rawValue): \(reason)\(answer)",
                fix: destination.advice ?? fix(destination))
        }
    }

    private static func destinations(_ facts: DoctorFacts) -> [DoctorFinding]? {
        // It is normal that a destination waits for the send rate, or resumes after a start.
        let known = tokenReasons.union(["tls", "send_rate", "resuming"])
        return findings(facts, where: { !known.contains($0) }) { destination in
            switch destination.reason {
            case "refused", "timeout", "unreachable", "reset", "no_answer":
                "check the network, the firewall and Proxy=: issued --check --online, \(ownConfiguration)"
            case StoreStatus.failureReason: "see the checks disk and database"
            case "misconfigured": checkAndReload(facts)
            default: explained(destination)
            }
        }
    }

    /// Returns the advice of `issuectl explain` on the reason for a destination's state.
    private static func explained(_ destination: DestinationStatus) -> String {
        let reason = ExplainedReason.all.first { $0.name == destination.reason }
        return reason.map { MessageCatalog.plain($0.action) } ?? "see issuectl status"
    }

    private static func tls(_ facts: DoctorFacts) -> [DoctorFinding]? {
        findings(facts, where: { $0 == "tls" }, fix: explained)
    }

    private static func token(_ facts: DoctorFacts) -> [DoctorFinding]? {
        findings(facts, where: { tokenReasons.contains($0) }) { destination in
            switch destination.reason {
            case "proxy_refuses", "forbidden": explained(destination)
            default:
                isService(facts)
                    ? "write the right token into /etc/credstore, then: systemctl restart issued"
                    : "write the right token into the file that Credential= names"
            }
        }
    }

    private static func delivery(_ facts: DoctorFacts) -> [DoctorFinding]? {
        guard let daemon = facts.daemon, visibleFaults(facts) != nil else { return nil }
        if daemon.lacksDestinations {
            return [
                DoctorFinding(
                    .problem, "\(DaemonStatus.lackOfDestinations): no record is forwarded",
                    fix: checkAndReload(facts))
            ]
        }
        let report = HealthReport(daemon, now: facts.now)
        return report.findings.compactMap { finding in
            let fix: String
            switch finding.kind {
            case .refused: fix = readLog(facts, "--priority warning")
            case .deadLetters:
                fix =
                    "issuectl dead-letters shows the reasons; once the cause is fixed: issuectl dead-letters requeue "
                    + "--all"
            case .expired:
                fix = "find out why the destination is behind: issuectl status; or raise MaxSize= or MaxAge="
            case .destination:
                let destination = daemon.destinations.first { $0.name == finding.destination }
                fix = destination.map { $0.advice ?? explained($0) } ?? "see issuectl status"
            default: return nil
            }
            return DoctorFinding(finding.verdict == .failing ? .problem : .warning, finding.message, fix: fix)
        }
    }
}

// MARK: Notifiers

extension DoctorCheck {
    private static func notifiers(_ facts: DoctorFacts) -> [DoctorFinding]? {
        guard let daemon = facts.daemon, visibleFaults(facts) != nil else { return nil }
        let misconfigured = daemon.notifiers.filter { $0.reason == NotifierStatus.misconfigured }.map(\.name)
        let waiting = daemon.notifiers.filter { $0.reason == StoreStatus.failureReason }.map { notifier in
            DoctorFinding(
                .warning, "notifier \(notifier.name) can't use the database, and reports only that",
                fix: "see the checks disk and database")
        }
        return waiting
            + HealthReport(daemon, now: facts.now).findings.filter { $0.kind == .notifier }.map { finding in
                let isMisconfigured = misconfigured.contains { finding.message.hasPrefix("notifier \($0) is paused") }
                return DoctorFinding(
                    .problem, finding.message,
                    fix: isMisconfigured
                        ? checkAndReload(facts)
                        : "issued --check --online, \(ownConfiguration); then: issuectl notify test NAME; see "
                            + "Notifications.md, Delivery")
            }
    }
}

/// A release of SQLite.
struct SQLiteRelease: Comparable {
    var parts: [Int]

    /// Parses a version such as `3.40.1`. Returns nil if it is invalid.
    init?(_ text: String) {
        let parts = text.split(separator: ".").map { Int($0) }
        guard parts.count == 3, !parts.contains(nil) else { return nil }
        self.parts = parts.compactMap(\.self)
    }

    static func < (left: Self, right: Self) -> Bool { left.parts.lexicographicallyPrecedes(right.parts) }

    /// A fault of some releases.
    struct Fault {
        /// The first release with the fault.
        var first: String
        /// The release of the main branch that fixed it.
        var fixed: String
        /// Older branches with a fix: the first release of the branch, and its first release without the fault.
        var branches: [(branch: String, fixed: String)] = []
        var severity: DoctorFinding.Severity
        var description: String
        var fix: String

        func affects(_ version: SQLiteRelease) -> Bool {
            guard let first = SQLiteRelease(first), let fixed = SQLiteRelease(fixed) else { return false }
            let isFixed = branches.contains { branch in
                guard let start = SQLiteRelease(branch.branch), let fixed = SQLiteRelease(branch.fixed) else {
                    return false
                }
                return version.parts[1] == start.parts[1] && version >= fixed
            }
            return version >= first && version < fixed && !isFixed
        }
    }

    /// The known faults that concern `issued`. Sources: sqlite.org/wal.html#walresetbug and
    /// sqlite.org/cves.html.
    static let knownFaults = [
        Fault(
            first: "3.7.0", fixed: "3.51.3", branches: [("3.44.0", "3.44.6"), ("3.50.0", "3.50.7")], severity: .note,
            description:
                "the WAL-reset bug can damage a database that several connections write to at the same time. "
                + "issued writes with one connection only",
            fix: "let no other program write to the database (issuectl sql only reads); upgrade libsqlite3 if you can"),
        Fault(
            first: "3.0.0", fixed: "3.39.2", severity: .note,
            description: "CVE-2022-35737 (very large strings). issued limits all strings, and distributions have "
                + "corrected older releases",
            fix: "upgrade libsqlite3-0"),
    ]
}
