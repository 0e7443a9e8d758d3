import IssueProtocol
import Issues
import Testing
import UnixIO

@testable import IssueCommands

@Suite("issuectl doctor")
struct DoctorTests {
    /// A unit with all settings that are checked.
    private static let service = """
        [Service]
        Type=notify
        Restart=always
        WatchdogSec=30s
        StateDirectory=issued
        LimitNOFILE=16384
        LimitCORE=0
        NoNewPrivileges=yes
        """

    /// Returns the facts of a healthy host, changed by the closures.
    private func facts(
        _ status: (inout DaemonStatus) -> Void = { _ in }, _ change: (inout DoctorFacts) -> Void = { _ in }
    ) throws -> DoctorFacts {
        var daemon = try DaemonStatus(json: Fixtures.status(Fixtures.flushed(pending: 0, delivered: 8)))
        daemon.refused = 0
        daemon.store.sqliteVersion = "3.53.0"
        status(&daemon)
        var facts = DoctorFacts(
            status: .success(daemon),
            socket: SocketFile(path: "/run/issued/issued.sock", owner: 0, mode: 0o666, folderMode: 0o755), now: noon,
            userID: 0, clientVersion: "0.1.0", isClockSynchronized: true)
        facts.service.add(Self.service)
        facts.socketUnit.add("SocketMode=0666")
        change(&facts)
        return facts
    }

    /// Returns the findings of each check that has some.
    private func findings(_ facts: DoctorFacts) -> [String: [DoctorFinding]] {
        let report = DoctorReport(DoctorCheck.all, facts: facts)
        return Dictionary(uniqueKeysWithValues: report.results.map { ($0.check.id, $0.findings ?? []) })
            .filter { !$0.value.isEmpty }
    }

    @Test("Nothing is found on a healthy host, and no check is skipped")
    func healthy() throws {
        let facts = try facts()
        #expect(findings(facts).isEmpty)
        let report = DoctorReport(DoctorCheck.all, facts: facts)
        #expect(report.hasNoWarningOrProblem)
        let lines = report.lines(painter: Painter(isColored: false))
        #expect(lines.dropLast().allSatisfy { $0.hasSuffix("  ok") })
        #expect(lines.last == "No problem in 16 checks.")
    }

    @Test(
        "Every reason why the daemon's status is not available is explained",
        arguments: [
            (CollectorConnectionError.unreachable(path: "/s", .noSuchFile), "there is no socket at /s"),
            (.unreachable(path: "/run/issued/issued.sock", .accessDenied), "you may not connect to /run/issued/"),
            (.unreachable(path: "/s/socket", .accessDenied), "you may not enter /s, the folder of the socket"),
            (.unreachable(path: "/s", .connectionRefused), "no daemon listens at /s"),
            (.untrusted(path: "/s", reason: "it is served by user 7"), "/s is not trusted"),
            (.disabled, "ISSUED_SOCKET is empty"), (.timedOut, "the daemon does not reply"),
            (.malformed("no JSON"), "the daemon sent an invalid reply: no JSON"),
        ])
    func unreachable(error: CollectorConnectionError, message: String) throws {
        let found = findings(
            try facts { _ in
            } _: {
                $0.status = .failure(error)
            })
        #expect(found.keys.sorted() == ["socket"])
        #expect(found["socket"]?.first?.severity == .problem)
        #expect(found["socket"]?.first?.message.hasPrefix(message) == true)
    }

    @Test("Without a daemon, the checks that ask it are skipped")
    func skipped() throws {
        let facts = try facts { _ in
        } _: {
            $0.status = .failure(.timedOut)
        }
        let report = DoctorReport(DoctorCheck.all, facts: facts)
        let skipped = report.results.filter { $0.findings == nil }.map(\.check.id)
        #expect(
            skipped == [
                "groups", "version", "configuration", "disk", "database", "sqlite", "ledger", "destinations", "tls",
                "token", "delivery", "notifiers",
            ])
        let lines = report.lines(painter: Painter(isColored: false)).filter { $0.contains("  skipped") }
        #expect(lines.count == skipped.count)
        #expect(lines.allSatisfy { $0.hasSuffix("  skipped: the daemon's status is not available") })
        #expect(report.lines(painter: Painter(isColored: false)).last == "1 problem in 4 checks; 12 skipped.")
    }

    @Test("A socket that other users can't use, or could replace, is a finding")
    func permissions() throws {
        func messages(mode: UInt32, folderMode: UInt32, owner: UInt32 = 0, folderOwner: UInt32 = 0, userID: UInt32 = 0)
            throws -> [String]
        {
            let facts = try facts { _ in
            } _: { facts in
                facts.socket = SocketFile(
                    path: "/r/s", owner: owner, mode: mode, folderMode: folderMode, folderOwner: folderOwner)
                facts.userID = userID
            }
            return (findings(facts)["permissions"] ?? []).map(\.message)
        }
        #expect(try messages(mode: 0o660, folderMode: 0o755) == ["/r/s has mode 0660, so not every user can report"])
        #expect(
            try messages(mode: 0o666, folderMode: 0o750).first?.hasPrefix("the folder of /r/s has mode 0750") == true)
        #expect(try messages(mode: 0o666, folderMode: 0o711) == [])
        #expect(try messages(mode: 0o666, folderMode: 0o777).first?.contains("could replace the socket") == true)
        // In a folder with the sticky bit, users can't replace the files of others.
        #expect(try messages(mode: 0o666, folderMode: 0o1777) == [])
        // A user's own daemon serves only this user.
        #expect(try messages(mode: 0o600, folderMode: 0o700, owner: 1000, folderOwner: 1000, userID: 1000) == [])
        #expect(try messages(mode: 0o666, folderMode: 0o755, owner: 1000, folderOwner: 1000) == [])
        // The sticky bit does not restrict the owner of the folder.
        #expect(
            try messages(mode: 0o666, folderMode: 0o1755, folderOwner: 1000)
                == ["user 1000 owns the folder of /r/s, and could replace the socket"])
    }

    @Test("A socket folder that is closed to others is a finding, unless the database is in the same folder")
    func sharedFolder() throws {
        func found(database: String?) throws -> [DoctorFinding] {
            let facts = try facts { status in
                status.store.path = database
            } _: { facts in
                facts.socket = SocketFile(
                    path: "/home/alice/try/s", owner: 1000, mode: 0o666, folderMode: 0o700, folderOwner: 1000)
            }
            return findings(facts)["permissions"] ?? []
        }
        #expect(try found(database: "/home/alice/try/issues.db").isEmpty)
        for database in ["/var/lib/issued/issues.db", nil] {
            let finding = try #require(try found(database: database).first)
            #expect(finding.message.hasPrefix("the folder of /home/alice/try/s has mode 0700"))
            #expect(
                finding.fix.hasPrefix("chmod 0755 /home/alice/try. If the database is in it, set Path="))
        }
    }

    @Test("A user who may not see everything gets a note, and checks of what they don't see are skipped")
    func groups() throws {
        let facts = try facts { $0.store.bytes = nil }
        #expect(findings(facts)["groups"]?.map(\.severity) == [.note])
        let report = DoctorReport(DoctorCheck.all, facts: facts)
        #expect(report.hasNoWarningOrProblem)
        #expect(report.results.contains { $0.check.id == "database" && $0.findings == nil })
    }

    @Test("Another version of the daemon, and missing settings of the units, are warnings")
    func installation() throws {
        let facts = try facts {
            $0.version = "0.0.9"
        } _: { facts in
            facts.service = UnitFile()
            facts.service.add("[Service]\nType=notify\nRestart=on-failure\n# WatchdogSec=1\nProtectProc=invisible")
            facts.socketUnit.add("SocketMode=0600")
        }
        let found = findings(facts)
        #expect(found["version"]?.first?.message == "issuectl is 0.1.0, but the running daemon is 0.0.9")
        let unit = try #require(found["unit"])
        #expect(unit.count == 2 && unit.allSatisfy { $0.severity == .warning })
        let missing = unit[0].message
        for setting in ["Restart=always", "WatchdogSec=30s", "LimitCORE=0", "ProtectProc=default"] {
            #expect(missing.contains(setting))
        }
        #expect(!missing.contains("Type=notify"))
    }

    @Test("A unit's settings count only in their own section; of a soft and a hard limit, the hard one counts")
    func sections() throws {
        let text = try ShippedText.of("systemd/issued.service")
        let facts = try facts { _ in
        } _: { facts in
            facts.service = UnitFile()
            facts.service.add("\(text)\n[Service]\nLimitNOFILE=1024:524288\n[Unit]\nRestart=no\n[Install]\nType=x\n")
        }
        #expect(findings(facts).isEmpty)
    }

    @Test("Faults are classified by their identifiers")
    func faultKinds() throws {
        func checks(_ change: (inout StoreStatus) -> Void) throws -> [String: [DoctorFinding]] {
            findings(
                try facts {
                    change(&$0.store)
                } _: { _ in
                })
        }
        let damaged = try checks { $0.add("some text", .damagedBlocks) }
        #expect(damaged.keys.sorted() == ["database"])
        #expect(damaged["database"]?.first?.fix.contains("backup;") == false)
        let configuration = try checks { $0.add("some text", .configuration) }
        #expect(configuration.keys.sorted() == ["configuration"])
        let newer = try checks {
            $0.faults = ["configuration error of a new kind"]
            $0.faultIDs = ["config.new"]
        }
        #expect(newer.keys.sorted() == ["database"])
    }

    @Test("The shipped units have every setting that is checked")
    func shippedUnit() throws {
        let text = try ShippedText.of("systemd/issued.service")
        let socket = try ShippedText.of("systemd/issued.socket")
        let facts = try facts { _ in
        } _: { facts in
            facts.service = UnitFile()
            facts.service.add(text)
            facts.socketUnit = UnitFile()
            facts.socketUnit.add(socket)
        }
        #expect(findings(facts).isEmpty)
    }

    @Test("A clock that is not synchronized or was set back is a warning")
    func clock() throws {
        let facts = try facts { status in
            status.startedAt = noon.advanced(by: .seconds(3600))
            status.destinations[0].lastSuccess = noon.advanced(by: .seconds(2))
        } _: {
            $0.isClockSynchronized = false
        }
        let found = findings(facts)["clock"] ?? []
        #expect(found.map(\.severity) == [.warning, .warning])
        #expect(found.last?.message.contains("the daemon started in the future") == true)
    }

    @Test(
        "Little space on the disk is a warning, and next to none a problem",
        arguments: [(2 << 30, []), (1 << 29, [DoctorFinding.Severity.warning]), (1 << 20, [.problem])])
    func disk(free: Int, severities: [DoctorFinding.Severity]) throws {
        #expect((findings(try facts { $0.store.freeBytes = free })["disk"] ?? []).map(\.severity) == severities)
    }

    @Test(
        "On a small file system, the limits of free space are fractions of its size",
        arguments: [
            (48, 24, nil), (48, 6, nil), (48, 5, .warning), (48, 2, .problem), (512, 64, nil), (1024, 128, nil),
            (1024, 127, .warning),
            (1024, 63, .problem), (16_384, 1024, nil), (16_384, 1023, .warning), (16_384, 63, .problem),
        ] as [(Int64, Int, DoctorFinding.Severity?)])
    func smallDisk(megabytes: Int64, free: Int, severity: DoctorFinding.Severity?) throws {
        let facts = try facts {
            $0.store.freeBytes = free << 20
        } _: {
            $0.fileSystemBytes = megabytes << 20
        }
        #expect(findings(facts)["disk"]?.first?.severity == severity)
    }

    @Test(
        "A lower MaxSize= is advised only if the database is so large that this would free the missing space",
        arguments: [(600, true), (512, false), (1, false)])
    func diskAdvice(megabytes: Int, isLarge: Bool) throws {
        let facts = try facts { ($0.store.freeBytes, $0.store.bytes) = (512 << 20, megabytes << 20) }
        let fix = try #require(findings(facts)["disk"]?.first?.fix)
        #expect(fix.contains("lower MaxSize=") == isLarge)
        #expect(fix.contains("move the database to a larger disk") == !isLarge)
    }

    @Test("journalctl is advised only for a daemon that is a service of the system")
    func log() throws {
        func fixes(_ change: (inout DoctorFacts) -> Void) throws -> [String?] {
            func fix(_ check: String, _ status: (inout DaemonStatus) -> Void) throws -> String? {
                findings(try facts(status, change))[check]?.first?.fix
            }
            return [
                try fix("delivery") { ($0.refused, $0.refusedAt) = (1, noon) },
                try fix("database") { $0.store.id = "" },
            ]
        }
        #expect(
            try fixes { _ in } == [
                "journalctl --unit issued --priority warning",
                "journalctl --unit issued --lines 20: look for the file and the cause",
            ])
        let own = "read the daemon's log, which it writes to standard error"
        #expect(try fixes { $0.service = UnitFile() } == [own, "\(own): look for the file and the cause"])
        #expect(
            try fixes { facts in
                facts.userID = 1000
                facts.socket?.owner = 1000
            } == [own, "\(own): look for the file and the cause"])
    }

    @Test("Each fault of the store is found by exactly one check, with a fix")
    func faults() throws {
        let faults: [(check: String, kind: StoreFaultKind, fault: String)] = [
            ("database", .refusing, "\(StoreStatus.refusalFaultPrefix)2026-11-21T11:00:00.000Z: the disk is full"),
            ("database", .keepFree, "other files fill the disk, so no records are removed for KeepFree="),
            ("database", .damagedBlocks, "3 records in damaged blocks of the database can't be read"),
            (
                "database", .setAside,
                "the database /x/issues.db.damaged-1 could not be used and was set aside: see issuectl repair"
            ),
            ("ledger", .ledger, "\(StoreStatus.ledgerFaultPrefix)logzio does not balance: of 2 records"),
            (
                "configuration", .configuration,
                "configuration error (using the last valid configuration): /x.conf:3: Unknown section"
            ),
            ("configuration", .configuration, "3 more configuration errors: see issued --check"),
            ("configuration", .notifier, "configuration error (the affected notifiers are paused): /x.conf:3: URL="),
            (
                "configuration", .restart,
                "changes to [Socket] or the database path are not in effect yet: restart the daemon"
            ),
        ]
        for (check, kind, fault) in faults {
            let found = findings(try facts { $0.store.add(fault, kind) })
            #expect(found.keys.sorted() == [check], "\(fault)")
            #expect(found[check]?.map(\.message) == [fault])
            #expect(found[check]?.first?.fix.isEmpty == false)
            if kind == .configuration {
                #expect(found[check]?.first?.fix.contains("with the daemon's --config FILE if it has one") == true)
            }
        }
    }

    @Test("The check of the disk reports a read-only file system, and the check of the database refers to that check")
    func readOnlyFileSystem() throws {
        for isOpen in [true, false] {
            let found = findings(
                try facts { status in
                    if !isOpen { status.store.id = "" }
                    status.store.path = "/srv/db/issues.db"
                    status.store.add(
                        "\(StoreStatus.refusalFaultPrefix)2026-11-21T11:00:00.000Z: /srv/db "
                            + StoreStatus.readOnlyText, .refusing)
                })
            #expect(found["disk"]?.map(\.severity) == [.problem])
            #expect(found["disk"]?.first?.fix.contains("findmnt --target /srv/db") == true)
            #expect(found["database"]?.map(\.fix) == ["see the check disk"])
        }
    }

    @Test("Fixes with issued --check mention --config FILE; how to reload depends on whether the daemon is a service")
    func fixesOfConfiguration() throws {
        func fixes(isService: Bool) throws -> [String] {
            let facts = try facts { status in
                status.store.add("configuration error: /x.conf:3: URL=", .configuration)
                status.store.add("changes to [Socket] are not in effect yet", .restart)
                status.destinations[0].state = .waiting
                status.destinations[0].reason = "refused"
                status.destinations[0].advice = nil
                status.notifiers = [NotifierStatus(name: "oncall", format: "json", state: .paused, reason: "not_found")]
            } _: { facts in
                if !isService { facts.service = UnitFile() }
            }
            let found = findings(facts)
            return try ["configuration", "destinations", "notifiers"].flatMap { try #require(found[$0]).map(\.fix) }
        }
        for isService in [true, false] {
            let fixes = try fixes(isService: isService)
            let checks = fixes.filter { $0.contains("issued --check") }
            #expect(checks.count == 3)
            #expect(checks.allSatisfy { $0.contains("with the daemon's --config FILE if it has one") })
            #expect(fixes.contains { $0.contains("systemctl") } == isService)
            #expect(
                fixes.contains { $0.hasSuffix(isService ? "systemctl reload issued" : "send SIGHUP to the daemon") })
        }
    }

    @Test("The advice names systemctl only if the daemon is a service", arguments: [true, false])
    func fixesOfHost(isService: Bool) throws {
        let failures: [CollectorConnectionError] = [
            .unreachable(path: "/run/issued/issued.sock", .accessDenied), .unreachable(path: "/x", .connectionRefused),
            .unreachable(path: "/x", .inputOutput), .malformed("x"),
        ]
        let host = { (facts: inout DoctorFacts) in
            if !isService { (facts.service, facts.socketUnit) = (UnitFile(), UnitFile()) }
        }
        var fixes = try failures.compactMap { failure in
            findings(
                try facts { _ in
                } _: { facts in
                    host(&facts)
                    facts.status = .failure(failure)
                })["socket"]?.first?.fix
        }
        let found = findings(
            try facts { status in
                status.destinations[0].state = .paused
                status.destinations[0].reason = "unauthorised"
                status.destinations[0].advice = nil
            } _: { facts in
                host(&facts)
                facts.clientVersion = "9"
            })
        fixes += ["token", "version"].compactMap { found[$0]?.first?.fix }
        #expect(fixes.count == 6)
        #expect(fixes.allSatisfy { $0.contains("systemctl") == isService }, "\(fixes)")
        #expect(fixes[1].hasPrefix("systemctl restart") == isService && fixes.contains("start the daemon") != isService)
    }

    @Test("A repair is advised for a database that was set aside, and not for a WAL without its database")
    func setAside() throws {
        func fix(_ fault: String) throws -> String {
            try #require(findings(try facts { $0.store.add(fault, .setAside) })["database"]?.first?.fix)
        }
        #expect(try fix("the database /x/issues.db.damaged-1 could not be used").contains("issuectl repair"))
        let wal = try fix("\(StoreStatus.walFaultPrefix)was set aside; move it away: /x/issues.db.damaged-1-wal")
        #expect(!wal.contains("issuectl repair") && wal.contains("can't be repaired without its database"))
    }

    @Test("Only the faults of the SQLite version in use are named")
    func sqlite() throws {
        func messages(_ version: String) throws -> [String] {
            (findings(try facts { $0.store.sqliteVersion = version })["sqlite"] ?? []).map(\.message)
        }
        for version in ["3.51.3", "3.52.0", "3.50.7", "3.44.6", "4.0.0"] { #expect(try messages(version) == []) }
        for version in ["3.40.1", "3.44.5", "3.50.6", "3.51.2"] {
            #expect(try messages(version).count == 1)
            #expect(try messages(version).first?.contains("WAL-reset") == true)
        }
        #expect(try messages("3.39.1").count == 2)
        let debian = try facts { $0.store.sqliteVersion = "3.40.1" }
        #expect(DoctorReport(DoctorCheck.all, facts: debian).hasNoWarningOrProblem)
    }

    @Test(
        "The reason why a destination waits or is paused is found by one check, apart from the check of delivery",
        arguments: [
            ("unreachable", DestinationState.waiting, "destinations", DoctorFinding.Severity.warning),
            ("not_found", .paused, "destinations", .problem), ("tls", .waiting, "tls", .warning),
            ("unauthorised", .paused, "token", .problem), ("no_credential", .paused, "token", .problem),
        ])
    func destinations(
        reason: String, state: DestinationState, check: String, severity: DoctorFinding.Severity
    ) throws {
        let found = findings(
            try facts { status in
                status.destinations[0].state = state
                status.destinations[0].reason = reason
                status.destinations[0].lastAnswer = "401"
            }
        ).filter { $0.key != "delivery" }
        #expect(found.keys.sorted() == [check])
        #expect(found[check]?.first?.severity == severity)
        #expect(found[check]?.first?.message == "logzio is \(state.rawValue): \(reason); its last answer: 401")
    }

    @Test(
        "Without advice in the status, the fix for a destination is the advice of issuectl explain",
        arguments: [
            ("tls", "tls"), ("forbidden", "token"), ("not_found", "destinations"), ("overloaded", "destinations"),
        ]
    )
    func explainedReason(reason: String, check: String) throws {
        let found = findings(
            try facts { status in
                status.destinations[0].state = .waiting
                status.destinations[0].reason = reason
                status.destinations[0].advice = nil
            })
        let fix = try #require(found[check]?.first?.fix)
        let words = issuectl(["explain", reason]).output.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
        #expect(words.hasSuffix("What to do: \(fix)"))
    }

    @Test("If a proxy needs a password, the fix names environment variables, since Proxy= accepts no password")
    func proxyPassword() throws {
        let found = findings(
            try facts { status in
                status.destinations[0].state = .paused
                status.destinations[0].reason = "proxy_refuses"
                status.destinations[0].advice = nil
            })
        #expect(found["token"]?.first?.fix.contains("https_proxy= or http_proxy= in the unit's environment") == true)
    }

    @Test("A destination that waits for the send rate is not a finding, but a record that waits for too long is")
    func delivery() throws {
        let waiting = try facts { status in
            status.destinations[0].state = .waiting
            status.destinations[0].reason = "send_rate"
        }
        #expect(findings(waiting).isEmpty)
        let late = try facts { status in
            status.destinations[0].ledger.received += 1
            status.destinations[0].ledger.pending += 1
            status.destinations[0].oldestPending = noon.advanced(by: .seconds(-7 * 3600))
        }
        #expect(findings(late)["delivery"]?.map(\.severity) == [.problem])
        var advised = late
        advised.status = advised.status.map { status in
            var status = status
            status.destinations[0].advice = "Raise SendRate="
            return status
        }
        #expect(findings(advised)["delivery"]?.map(\.fix) == ["Raise SendRate="])
    }

    @Test("If the configuration has an error and there is no destination, the check of delivery reports a problem")
    func unusedDestination() throws {
        let facts = try facts { status in
            status.destinations = []
            status.store.add("configuration error (using the last valid configuration): a section", .configuration)
        }
        let found = findings(facts)
        #expect(found.keys.sorted() == ["configuration", "delivery"])
        #expect(found["delivery"]?.map(\.severity) == [.problem])
        #expect(findings(try self.facts { $0.destinations = [] }).isEmpty)
    }

    @Test("A destination that has accepted nothing since its last dead letter is a warning")
    func deadLetters() throws {
        func found(lastSuccess: IssueTimestamp?) throws -> [String: [DoctorFinding]] {
            findings(
                try facts { status in
                    status.destinations[0].lastDeadLetter = noon.advanced(by: .seconds(-60))
                    status.destinations[0].lastSuccess = lastSuccess
                })
        }
        #expect(try found(lastSuccess: noon).isEmpty)
        let rejecting = try found(lastSuccess: nil)
        #expect(rejecting.keys.sorted() == ["delivery"])
        #expect(rejecting["delivery"]?.map(\.severity) == [.warning])
        #expect(rejecting["delivery"]?.first?.fix.contains("issuectl dead-letters requeue --all") == true)
    }

    @Test("A notifier that has delivered nothing since it gave up events is a finding with its last answer")
    func notifiers() throws {
        let facts = try facts { status in
            var notifier = NotifierStatus(name: "oncall", format: "json", state: .idle)
            (notifier.received, notifier.delivered, notifier.givenUp) = (3, 1, 2)
            notifier.lastSuccess = noon.advanced(by: .seconds(-3600))
            notifier.lastGivenUp = noon.advanced(by: .seconds(-180))
            notifier.lastAnswer = "404"
            status.notifiers = [notifier]
        }
        let found = findings(facts)
        #expect(found.keys.sorted() == ["notifiers"])
        #expect(
            found["notifiers"]?.map(\.message)
                == [
                    "notifier oncall has given up events, the last 3 min ago, and delivered nothing since; its last "
                        + "answer: 404"
                ])
    }

    @Test("A notifier that can't use the database is a warning")
    func notifierWithoutStore() throws {
        let found = findings(
            try facts {
                $0.notifiers = [
                    NotifierStatus(name: "oncall", format: "json", state: .waiting, reason: "store_failed")
                ]
            })
        #expect(found.keys.sorted() == ["notifiers"])
        #expect(found["notifiers"]?.map(\.severity) == [.warning])
    }

    @Test("If the section of a notifier has an error, the fix includes a reload of the configuration")
    func misconfiguredNotifier() throws {
        let found = findings(
            try facts { status in
                status.notifiers = [
                    NotifierStatus(name: "oncall", format: "", state: .paused, reason: "misconfigured")
                ]
            })
        #expect(found["notifiers"]?.first?.fix.contains("systemctl reload issued") == true)
    }

    @Test("Records that expired before a destination accepted them are a warning")
    func expired() throws {
        let found = findings(
            try facts { $0.destinations[0].lastExpired = noon.advanced(by: .seconds(-60)) })
        #expect(found.keys.sorted() == ["delivery"])
        #expect(found["delivery"]?.map(\.severity) == [.warning])
        #expect(found["delivery"]?.first?.fix.contains("raise MaxSize=") == true)
    }

    @Test("A problem is shown with its fix, a line with the totals follows, and the exit code is 1")
    func output() {
        let outcome = issuectl(
            ["doctor", "token", "disk", "ledger"], .reply(Fixtures.status(Fixtures.archive, Fixtures.logzio)))
        #expect(outcome.code == .refused)
        #expect(
            outcome.output == """
                disk    ok
                ledger  problem: the ledger of archive does not balance
                        fix: report it as a bug in issued, with the output of: issuectl sql 'SELECT * FROM ledger_check'
                token   ok
                1 problem in 3 checks.

                """)
        let fine = issuectl(["doctor", "disk"], .reply(Fixtures.status()))
        #expect(fine.code == .success && fine.output == "disk  ok\nNo problem in 1 check.\n")
    }

    @Test("With --json, each check has an id, a state and its findings")
    func json() throws {
        let reply = Fixtures.status(Fixtures.archive)
        let value = try JSONValue(json: issuectl(["doctor", "ledger", "disk", "--json"], .reply(reply)).output)
        let checks = try #require(value["checks"]?.asArray)
        #expect(checks.map { $0["id"]?.asString } == ["disk", "ledger"])
        #expect(checks.map { $0["state"]?.asString } == ["ok", "problem"])
        #expect(checks[1]["findings"]?.asArray?.first?["fix"]?.asString?.isEmpty == false)
        let absent = issuectl(["doctor", "disk", "--ndjson", "--socket", "/absent/socket"]).output
        #expect(
            absent == #"{"id":"disk","state":"skipped","findings":[],"reason":"the daemon's status is not available"}"#
                + "\n")
    }

    @Test("The checks are listed, and an unknown one is an error")
    func list() {
        let lines = issuectl(["doctor", "--list"]).output.split(separator: "\n")
        #expect(lines.count == DoctorCheck.all.count)
        #expect(lines.first == "socket         The daemon replies at its socket")
        let unknown = issuectl(["doctor", "dsik"])
        #expect(unknown.code == .usage && unknown.errors.contains("unknown check 'dsik' (did you mean disk?)"))
        #expect(Set(DoctorCheck.all.map(\.id)).count == DoctorCheck.all.count)
    }

    @Test("Operations.md describes every check")
    func page() throws {
        let page = try ShippedText.of("Documentation/Operations.md")
        for check in DoctorCheck.all { #expect(page.contains("| `\(check.id)` | \(check.summary)"), "\(check.id)") }
    }
}
