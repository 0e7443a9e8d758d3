import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import TestSockets
import Testing
import UnixIO

@Suite("An operator's mistakes", .daemonLog)
struct OperatorMistakeTests {

    private func faults(of daemon: DaemonFixture) throws -> [String] {
        try RawClient(path: daemon.socket).status().store.faults
    }

    // MARK: Tokens

    @Test(
        "Without a usable token, records wait; they are sent as soon as the token is usable",
        arguments: ["missing", "empty", "a folder", "open to all", "two lines"])
    func token(mistake: String) async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener), starts: false) { daemon in
            switch mistake {
            case "empty": try daemon.writeToken("")
            case "two lines": try daemon.writeToken("a\nb")
            case "open to all": try FileSystem.setMode(0o644, of: daemon.tokenFile)
            default: try daemon.folder.remove("token")
            }
            if mistake == "a folder" { try FileSystem.makeFolders(daemon.tokenFile) }
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            // Nothing has been reported yet.
            try await eventually("the destination is paused") { try client.destination().state == .paused }
            let id = try #require(try client.report("Collected all the same").first)
            var destination = try client.destination()
            #expect(destination.reason == "no_credential" && destination.ledger.pending == 1)
            let location = "\(daemon.configurationFile):"
            #expect(destination.advice?.hasPrefix(location) == true, "\(destination.advice ?? "")")
            let fault = try #require(try client.status().store.faults.first)
            #expect(fault.contains("destination logzio") && fault.contains(location))
            try await daemon.logs(location)

            if mistake == "a folder" { try FileManager.default.removeItem(atPath: daemon.tokenFile) }
            if mistake == "open to all" { try FileSystem.setMode(0o600, of: daemon.tokenFile) }
            try daemon.writeToken(DaemonConfiguration.token)
            #expect(try client.awaitFates(of: id).map(\.outcome) == [.delivered])
            try await eventually("there is no fault") { try client.status().store.faults.isEmpty }
            destination = try client.destination()
            #expect(destination.state != .paused && destination.ledger.pending == 0)
        }
    }

    @Test("If a token is missing at a reload, its destination is paused, and the reload succeeds")
    func tokenLostAtReload() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            try daemon.folder.remove("token")
            try daemon.configure(.forwarding(to: listener, "[Store]\nMaxAge=7d"))
            try daemon.reload()
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Collected")
            try await eventually("the destination is paused") { try client.destination().reason == "no_credential" }
            try await daemon.logs("Configuration reloaded")
        }
    }

    // MARK: Sections

    @Test("A destination with an error is paused until the error is fixed; the other destinations continue")
    func misconfigured() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        func text(_ second: String) -> DaemonConfiguration {
            .forwarding(to: listener, "[LogzIO second]\nCredential=TOKENFILE\n\(second)")
        }
        try await DaemonFixture.with(text("Region=mars")) { daemon in
            let client = try RawClient(path: daemon.socket)
            let id = try #require(try client.report("For both").first)
            try await eventually("the first destination has the record") {
                try client.status().destinations.first { $0.name == "logzio" }?.ledger.delivered == 1
            }
            let second = try #require(try client.status().destinations.first { $0.name == "second" })
            #expect(second.state == .paused && second.reason == "misconfigured")
            #expect(second.advice?.hasPrefix(daemon.configurationFile) == true)
            #expect(second.ledger.pending == 1)
            #expect(try faults(of: daemon).contains { $0.contains("Region=mars") })

            // A flush returns this reason at once. `NotFound` is for names that the configuration does not contain.
            let flush = FlushParameters(destination: "second", timeout: .seconds(600))
            let flushed = try client.call(.flush, flush, returning: FlushReply.self).destinations
            #expect(flushed.map(\.reason) == ["misconfigured"] && flushed.map(\.ledger.pending) == [1])
            let refusal = try client.refusal(of: .flush, FlushParameters(destination: "third"))
            #expect(refusal == .notFound(id: "third"))

            // The second destination stays paused after a restart and a reload.
            try daemon.restart()
            try daemon.reload()
            let again = try RawClient(path: daemon.socket)
            let still = try again.status().destinations.first { $0.name == "second" }
            #expect(still?.reason == "misconfigured" && still?.ledger.pending == 1)

            try daemon.configure(text("URL=http://127.0.0.1:\(listener.port)"))
            try daemon.reload()
            try await eventually("the second destination has the record, too") {
                try again.status().destinations.allSatisfy { $0.ledger.delivered == 1 && $0.ledger.pending == 0 }
            }
            #expect(try again.show(id).fates.map(\.outcome) == [.delivered, .delivered])
            #expect(try faults(of: daemon).isEmpty)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("With an error outside the destinations, the daemon uses the last valid configuration and names the location")
    func lastValid() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            try daemon.terminate()
            #expect(!daemon.folder.text(of: "state/issued.conf.last-valid").contains(DaemonConfiguration.token))
            for line in ["[Nonsense]", "MaxSize=plenty", "[Store", "x", "[LogzIO a/b]", "[Socket]\nMaxDepth=1"] {
                try daemon.configure(DaemonConfiguration(line))
                try daemon.start()
                let client = try RawClient(path: daemon.socket)
                let id = try #require(try client.report("Forwarded as before").first)
                #expect(try client.awaitFates(of: id).map(\.outcome) == [.delivered], "\(line)")
                let faults = try faults(of: daemon)
                #expect(faults.allSatisfy { $0.contains("last valid configuration") && $0.contains("issued.conf:") })
                #expect(!faults.isEmpty, "\(line)")
                try daemon.terminate()
            }
            #expect(daemon.log.contains("level=error") || daemon.log.contains("Configuration error"))
        }
    }

    @Test("Without a last valid configuration, the lines without errors are used")
    func validLines() async throws {
        try await DaemonFixture.with("[Socket]\nMaxDepth=1\n[Store]\nMaxSize=plenty") { daemon in
            let client = try RawClient(path: daemon.socket)
            #expect(try client.report("Collected all the same").count == 1)
            let faults = try faults(of: daemon)
            #expect(faults.count == 2 && faults[0].contains("MaxDepth=1") && faults[1].contains("MaxSize=plenty"))
            #expect(FileManager.default.fileExists(atPath: daemon.database))
            try daemon.configure("")
            try daemon.reload()
            #expect(try self.faults(of: daemon).isEmpty)
        }
    }

    @Test(
        "A file with an error grants no rights beyond those in its [Access] section",
        .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
    func access() async throws {
        try await DaemonFixture.with("[Access]\nReaders=4242 4243\n") { daemon in
            _ = try RawClient(path: daemon.socket).report("Root's")
            #expect(try OtherUser.client(4242, of: daemon).allRecords().count == 1)
            #expect(try OtherUser.client(4243, of: daemon).allRecords().count == 1)
            // The file no longer contains 4243, and has an error in another section.
            try daemon.configure("[Access]\nReaders=4242\n[Log]\nLevle=info")
            try daemon.reload()
            #expect(try OtherUser.client(4242, of: daemon).allRecords().count == 1)
            #expect(try OtherUser.client(4243, of: daemon).allRecords().isEmpty)
            try daemon.restart()
            #expect(try OtherUser.client(4242, of: daemon).allRecords().count == 1)
            #expect(try OtherUser.client(4243, of: daemon).allRecords().isEmpty)
            try daemon.configure("[Access]\nReaders=4242 no-such-group-here")
            try daemon.restart()
            #expect(try OtherUser.client(4242, of: daemon).allRecords().isEmpty)
            #expect(try RawClient(path: daemon.socket).allRecords().count == 1)
        }
    }

    @Test(
        "With a drop-in that the daemon's user can't read, the daemon starts and reports a fault",
        .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
    func unreadableDropIn() async throws {
        try await DaemonFixture.with("[Store]\nMaxAge=7d", starts: false) { daemon in
            try FileSystem.setOwner(4242, group: 4242, of: daemon.folder.path)
            try FileSystem.setMode(0o644, of: daemon.configurationFile)
            try FileSystem.makeFolders("\(daemon.configurationFile).d")
            try daemon.folder.write("[Log]\nLevel=debug\n", to: "issued.conf.d/10-secret.conf", mode: 0o600)
            try daemon.launch(through: try OtherUser.launcher(4242))
            // The daemon's user can't use the fixture's notification socket.
            try await eventually("the daemon accepts connections") { (try? RawClient(path: daemon.socket)) != nil }
            let client = try RawClient(path: daemon.socket)
            #expect(try client.report("Collected").count == 1)
            let fault = try #require(try client.status().store.faults.first)
            #expect(fault.contains("10-secret.conf") && fault.contains("Permission denied"))
            try await daemon.logs("10-secret.conf")
        }
    }

    // MARK: The state directory

    @Test(
        "While the state directory is unusable, a report to an inherited socket is answered with Busy within 2 s",
        .enabled(if: TestBinaries.socketActivator != nil, "there is no systemd-socket-activate"),
        arguments: ["a file", "a folder instead of the database"])
    func noStateDirectory(mistake: String) async throws {
        try await expectBusy(mistake)
    }

    @Test(
        "While the state directory belongs to another user, a report to an inherited socket is answered with Busy",
        .enabled(if: TestBinaries.socketActivator != nil, "there is no systemd-socket-activate"),
        .enabled(if: getuid() == 0, "only root can give a directory to another user"))
    func foreignStateDirectory() async throws {
        try await expectBusy("of a stranger")
    }

    private func expectBusy(_ mistake: String) async throws {
        let activator = try #require(TestBinaries.socketActivator)
        try await DaemonFixture.with(starts: false) { daemon in
            let state = daemon.folder["state"]
            switch mistake {
            case "a file": try daemon.folder.write("", to: "state")
            case "of a stranger":
                try FileSystem.makeFolders(state)
                try FileSystem.setOwner(4242, group: 4242, of: state)
            default:
                try FileSystem.makeFolders(daemon.database)
                try FileSystem.setMode(0o755, of: state)
            }
            let socket = daemon.folder["activated.sock"]
            try daemon.launch(
                through: [activator, "--listen", socket, "--setenv", "NOTIFY_SOCKET=\(daemon.notifications.path)"])
            try await eventually("the socket exists") { (try? FileSystem.status(of: socket)) != nil }
            var waiting: RawClient?
            try await eventually("the socket accepts connections") {
                waiting = try? RawClient(path: socket)
                return waiting != nil
            }
            let client = try #require(waiting)
            let report = ReportParameters(records: [IssueRecord(message: "At a bad time")])
            try client.begin(.report, report)
            // Starting the program may take a while on a busy machine.
            #expect(CollectorError(try client.reply()) == .busy(retryAfter: .seconds(1)))
            // The daemon is running now.
            try client.begin(.report, report)
            #expect(CollectorError(try client.reply(within: .seconds(2))) == .busy(retryAfter: .seconds(1)))
            let other = try RawClient(path: socket)
            try other.begin(.status, JSONValue.object([]))
            let reply = try other.reply(within: .seconds(2))
            let fault = try #require(try DaemonStatus(json: reply.parameters).store.faults.first)
            #expect(fault.contains(daemon.folder.path))
            #expect(daemon.process?.isRunning == true)

            switch mistake {
            case "a file": try daemon.folder.remove("state")
            case "of a stranger": try FileSystem.setOwner(0, group: 0, of: state)
            default: try FileManager.default.removeItem(atPath: daemon.database)
            }
            try await eventually("reports are stored") { (try? RawClient(path: socket).report("Later").count) == 1 }
            #expect(try daemon.terminate() == .exit(0))
        }
    }

    @Test(
        "An invalid command line ends the daemon and closes connections that wait at an inherited socket",
        .enabled(if: TestBinaries.socketActivator != nil, "there is no systemd-socket-activate"))
    func wrongCommandLine() async throws {
        let activator = try #require(TestBinaries.socketActivator)
        try await DaemonFixture.with(starts: false) { daemon in
            let socket = daemon.folder["activated.sock"]
            try daemon.launch(through: [activator, "--listen", socket], arguments: ["--confg", "x"])
            var waiting: RawClient?
            try await eventually("the socket accepts connections") {
                waiting = try? RawClient(path: socket)
                return waiting != nil
            }
            #expect(try #require(waiting).isClosed(within: .seconds(10)))
            #expect(try daemon.end() == .exit(64))
        }
    }

    @Test(
        "All users can enter the folders that the daemon creates for its socket, but not those for its database",
        .enabled(if: getuid() == 0, "only root creates folders for all users"))
    func socketFolder() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            let file = daemon.folder["public.conf"]
            let socket = daemon.folder["run/public/issued.sock"]
            let database = daemon.folder["private/db/issues.db"]
            try "[Socket]\nPath=\(socket)\n[Store]\nPath=\(database)\n".write(
                toFile: file, atomically: true, encoding: .utf8)
            try daemon.launch(arguments: ["--config", file])
            try await eventually("the socket and the database exist") {
                FileManager.default.fileExists(atPath: socket) && FileManager.default.fileExists(atPath: database)
            }
            for folder in ["run", "run/public"] {
                #expect(try FileSystem.status(of: daemon.folder[folder]).mode & 0o777 == 0o755)
            }
            for folder in ["private", "private/db"] {
                #expect(try FileSystem.status(of: daemon.folder[folder]).mode & 0o777 == 0o700)
            }
            _ = try RawClient(path: socket).report("x", app: "shop")
            try daemon.terminate()
        }
    }

    @Test(
        "A daemon that runs as root creates no file in another user's folder or through a link there",
        .enabled(if: getuid() == 0, "needs root"))
    func foreignFolder() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            let state = daemon.folder["state"]
            let target = daemon.folder["target"]
            try FileSystem.makeFolders(state)
            try FileManager.default.createSymbolicLink(atPath: daemon.database, withDestinationPath: target)
            try FileSystem.setOwner(4242, group: 4242, of: state)
            try daemon.launch()
            #expect(try daemon.end() == .exit(73))
            try await daemon.logs("belongs to user 4242")
            #expect(try FileSystem.names(in: state) == ["issues.db"])
            #expect(!FileManager.default.fileExists(atPath: target))
        }
    }

    // MARK: Credentials and the check

    @Test(
        "Before the daemon reads any file, it protects its memory from its own user and from core dumps",
        .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
    func notDumpable() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            // The daemon waits for the configuration, before it has read any credential.
            let pipe = daemon.folder["pipe"]
            try Process.run(URL(filePath: "/usr/bin/mkfifo"), arguments: ["-m", "0644", pipe]).waitUntilExit()
            try FileSystem.setOwner(4242, group: 4242, of: daemon.folder.path)
            try daemon.launch(through: try OtherUser.launcher(4242), arguments: ["--config", pipe])
            let process = "/proc/\(daemon.pid)"
            try await eventually("the daemon runs, and is protected from its own user") {
                let command = try String(contentsOfFile: "\(process)/cmdline", encoding: .utf8)
                let owner = try FileSystem.status(of: "\(process)/environ").uid
                return command.contains("issued\0--config") && !command.contains("--reuid") && owner == 0
            }
            let limits = try String(contentsOfFile: "\(process)/limits", encoding: .utf8)
            let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
            #expect(core?.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
        }
    }

    @Test(
        "If root runs issued --check with --user, files are checked with the rights of that user",
        .enabled(if: getuid() == 0 && UserDatabase.user(named: "nobody") != nil, "needs root and the user nobody"))
    func check() async throws {
        let nobody = try #require(UserDatabase.user(named: "nobody"))
        try await DaemonFixture.with(starts: false) { daemon in
            let file = try daemon.folder.write(
                "[LogzIO]\nRegion=eu\nCredential=\(daemon.tokenFile)\n", to: "issued.conf", mode: 0o644)
            func check(as user: String) throws -> ChildProcess.End? {
                try daemon.launch(arguments: ["--check", file, "--user", user])
                return try daemon.end()
            }
            // Only root can read the token.
            #expect(try check(as: "nobody") == .exit(78))
            #expect(daemon.log.contains("Files checked as user nobody.") && daemon.log.contains("Permission denied"))
            #expect(try check(as: "root") == .exit(0))
            try FileSystem.setOwner(nobody.userID, group: nobody.groupID, of: daemon.tokenFile)
            #expect(try check(as: "nobody") == .exit(0))
            #expect(try check(as: "root") == .exit(78))

            try FileSystem.makeFolders("\(file).d")
            let dropIn = try daemon.folder.write("[Log]\nLevel=info\n", to: "issued.conf.d/a.conf", mode: 0o600)
            #expect(try check(as: "nobody") == .exit(78))
            try FileSystem.setMode(0o644, of: dropIn)
            #expect(try check(as: "nobody") == .exit(0))
            try daemon.folder.write("[Store]\nPath=\(daemon.database)\n", to: "issued.conf.d/a.conf", mode: 0o644)
            #expect(try check(as: "nobody") == .exit(78))
            try await daemon.logs("is not writable")
        }
    }
}
