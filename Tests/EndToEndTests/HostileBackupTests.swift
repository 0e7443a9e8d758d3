import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

/// A server that is not the daemon. It answers each call with the same bytes, and can pass an open file with them.
private final class FalseServer: Sendable {
    let path: String

    init(in folder: ScratchFolder, reply: String, passing file: consuming FileDescriptor? = nil) throws {
        path = folder["false-\(UUID().uuidString.prefix(8)).sock"]
        let listener = try Socket.listenUnix(at: .unix(path), mode: 0o600)
        let bytes = Array("{\"parameters\":\(reply)}".utf8) + [0]
        let box = Box(listener, file)
        Foundation.Thread.detachNewThread { box.serve(bytes) }
    }

    private final class Box: Sendable {
        private let listener: FileDescriptor
        private let file: FileDescriptor?

        init(_ listener: consuming FileDescriptor, _ file: consuming FileDescriptor?) {
            self.listener = listener
            self.file = file
        }

        func serve(_ bytes: [UInt8]) {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while (try? Readiness.wait(listener, for: .read, timeout: .seconds(60))) == true {
                guard let connection = try? listener.accept() else { continue }
                _ = try? Readiness.wait(connection, for: .read, timeout: .seconds(10))
                guard let count = try? connection.read(into: &buffer), count > 0 else { continue }
                switch file {
                case .some(let file): _ = connection.attemptSend(bytes.span, passing: file)
                case .none: _ = connection.attemptSend(bytes.span)
                }
                // The client hangs up when it has read the reply.
                _ = try? Readiness.wait(connection, for: .read, timeout: .seconds(10))
            }
        }
    }
}

@Suite("Backups with hostile servers, clients and files", .daemonLog)
struct HostileBackupTests {
    /// Runs `issuectl backup` into a new folder, and returns how it ended, the files in the folder, and the output.
    private func backup(
        from socket: String, in folder: ScratchFolder
    ) throws -> (end: ChildProcess.End?, names: [String], output: String, errors: String) {
        let target = folder["copies-\(UUID().uuidString)"]
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        let name = "issuectl-\(UUID().uuidString)"
        let process = try ChildProcess(
            try TestBinaries.path(of: "issuectl"), ["backup", "--socket", socket, target], in: folder, name: name)
        let end = try process.end()
        let names = try FileManager.default.contentsOfDirectory(atPath: target)
        return (end, names, folder.text(of: "\(name).out"), folder.text(of: "\(name).err"))
    }

    @Test("A client neither copies nor removes a file that a hostile server names, and does not hang")
    func namedPath() throws {
        let folder = try ScratchFolder(named: "issued-hostile")
        try folder.write("the secret", to: "secret")
        #expect(try ChildProcess("/usr/bin/mkfifo", [folder["fifo"]], in: folder, name: "mkfifo").end() == .exit(0))
        for path in [folder["secret"], folder["fifo"], "/etc/shadow", "/dev/zero", folder.path, "-rf", ""] {
            let reply = #"{"path":"\#(path)","bytes_done":1,"bytes_total":-9223372036854775808}"#
            let server = try FalseServer(in: folder, reply: reply)
            let outcome = try backup(from: server.path, in: folder)
            #expect(outcome.end == ChildProcess.End.exit(1))
            #expect(outcome.names.isEmpty)
        }
        #expect(folder.text(of: "secret") == "the secret")
        #expect(try FileSystem.status(of: folder["fifo"]).kind == .pipe)
        #expect(try FileSystem.status(of: "/etc/shadow").kind == .regular)
    }

    @Test("A descriptor that is not a database is rejected, and nothing is written")
    func passedFile() throws {
        let folder = try ScratchFolder(named: "issued-hostile")
        try folder.write("no database", to: "text")
        try folder.write("", to: "empty")
        try folder.write("SQLite format 3\0", to: "huge")
        let huge = try FileDescriptor.open(folder["huge"], .writeOnly)
        try #require(ftruncate(huge.rawValue, 1 << 42) == 0)
        let pipe = try DescriptorPair.pipe()
        for name in ["text", "empty", "huge", "folder", "pipe", "zero", "writeOnly"] {
            let file =
                switch name {
                case "folder": try FileDescriptor.open(folder.path, .directory)
                case "pipe": try pipe.first.duplicate()
                case "zero": try FileDescriptor.open("/dev/zero")
                case "writeOnly": try FileDescriptor.open(folder["huge"], .writeOnly)
                default: try FileDescriptor.open(folder[name])
                }
            let server = try FalseServer(
                in: folder, reply: #"{"descriptor":0,"bytes_done":1,"bytes_total":9223372036854775807}"#, passing: file)
            let outcome = try backup(from: server.path, in: folder)
            #expect(outcome.end == ChildProcess.End.exit(1), "\(name)")
            #expect(outcome.names.isEmpty, "\(name)")
        }
    }

    @Test("A descriptor that the reply does not mention is not used")
    func unannouncedFile() throws {
        let folder = try ScratchFolder(named: "issued-hostile")
        try folder.write("SQLite format 3\0", to: "database")
        let server = try FalseServer(
            in: folder, reply: #"{"path":"/etc/passwd","bytes_done":1,"bytes_total":1}"#,
            passing: try FileDescriptor.open(folder["database"]))
        let outcome = try backup(from: server.path, in: folder)
        #expect(outcome.end == ChildProcess.End.exit(1))
        #expect(outcome.names.isEmpty)
        #expect(try FileSystem.status(of: "/etc/passwd").kind == .regular)
    }

    @Test("A backup passed as a descriptor is complete and private, and leaves no file in the daemon's folder")
    func handedOver() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("One", "Two")
            let outcome = try backup(from: daemon.socket, in: daemon.folder)
            #expect(outcome.end == ChildProcess.End.exit(0), "\(outcome.errors)")
            let name = try #require(outcome.names.first)
            #expect(outcome.names.count == 1 && name.hasPrefix("issues.db.backup-"))
            let path = try #require(outcome.output.split(separator: ": ").first).description
            let status = try FileSystem.status(of: path, followingLinks: false)
            #expect(status.kind == .regular && status.mode == 0o600)
            #expect(try DatabaseFile(path).rows("SELECT count(*) FROM records", columns: 1) == [["2"]])
            let names = try FileManager.default.contentsOfDirectory(atPath: daemon.folder["state"])
            #expect(!names.contains { $0.contains("backup") })
        }
    }

    @Test("A client that disconnects during a backup leaves no file, and the start removes files left by a crash")
    func leftovers() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            try FileManager.default.createDirectory(
                atPath: daemon.folder["state"], withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            for name in [
                "issues.db.backup-T.unfinished", "issues.db.backup-T.unfinished-journal", "issues.db.repairing",
            ] {
                try daemon.folder.write("left", to: "state/\(name)")
            }
            func leftovers() -> [String] {
                let names = (try? FileManager.default.contentsOfDirectory(atPath: daemon.folder["state"])) ?? []
                return names.filter { $0.contains("backup") || $0.contains("repairing") }
            }
            try daemon.start()
            try await eventually("leftovers are removed") { leftovers().isEmpty }
            do {
                let client = try RawClient(path: daemon.socket)
                try client.begin(.backup, BackupParameters(descriptor: true), more: true)
            }
            // Jobs run one after the other, so the backup has ended when the repair has.
            let client = try RawClient(path: daemon.socket)
            _ = try client.call(.repair, RepairParameters(isDryRun: true), returning: RepairReply.self)
            #expect(leftovers().isEmpty)
            #expect(try client.report("Still served").count == 1)
        }
    }

    @Test("Operator requests are logged with the requester when they start and finish")
    func audit() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let id = try client.report("Zaphod was here", app: "private")[0]
            let group = try client.show(id).group.id
            let until = IssueTimestamp.fromNow(.seconds(3600))
            for state in [
                SetStateParameters(group: group, state: .muted, until: until, untilCount: 5, note: "Trillian"),
                SetStateParameters(group: group, state: .muted, untilNewerVersion: true),
                SetStateParameters(group: group, state: .resolved, resolvedIn: "2.4.1"),
                SetStateParameters(group: group, state: .resolved, isResolvedInNext: true),
                SetStateParameters(group: group, state: .resolved),
            ] {
                _ = try client.call(.setState, state, returning: SetStateReply.self)
            }
            _ = try client.call(.backup, BackupParameters(), returning: BackupReply.self)
            _ = try client.call(.repair, RepairParameters(), returning: RepairReply.self)
            _ = try client.call(.requeue, RequeueParameters(), returning: RequeueReply.self)
            _ = try client.call(.flush, FlushParameters(), returning: FlushReply.self)
            var filter = IssueFilter()
            filter.apps = ["private"]
            filter.text = "Zaphod"
            _ = try client.call(.purge, PurgeParameters(filter: filter), returning: PurgeReply.self)
            let added = try client.call(
                .addSilence, AddSilenceMessage(silence: IssueSilence(apps: ["shop"], until: until, reason: "deploy")),
                returning: AddSilenceMessage.self)
            _ = try client.call(.endSilence, IDParameters(id: added.silence.id), returning: SilencesReply.self)
            let who = "uid=0 pid=\(ProcessInfo.processInfo.processIdentifier) command="
            for request in ["backup", "repair", "requeue", "flush", "purge", "add_silence", "end_silence"] {
                try await daemon.logs("notice: Operator request finished request=\(request) \(who)")
                try await daemon.logs("notice: Operator request started request=\(request) \(who)")
            }
            try await daemon.logs("notice: Issue state changed request=set_state \(who)")
            try await daemon.logs(" group=\(group) state=muted until=\(until) until_count=5 id=")
            try await daemon.logs(" group=\(group) state=muted until_newer_version=yes id=")
            try await daemon.logs(" group=\(group) state=resolved resolved_in=2.4.1 id=")
            try await daemon.logs(" group=\(group) state=resolved resolved_in_next=yes id=")
            try await daemon.logs(" group=\(group) state=resolved id=")
            try await daemon.logs(
                #"parameters="{\"apps\":[\"shop\"],\"until\":\"\#(until)\",\"reason\":\"deploy\"}" id="#)
            #expect(!daemon.log.contains("Trillian"))
            try await daemon.logs("private")
            #expect(!daemon.log.split(separator: "\n").contains { $0.contains("request=") && $0.contains("Zaphod") })
            // A dry run changes nothing, so it is not logged.
            let lines = daemon.log.split(separator: "\n").count { $0.contains("request=purge") }
            _ = try client.call(.purge, PurgeParameters(filter: filter, isDryRun: true), returning: PurgeReply.self)
            #expect(daemon.log.split(separator: "\n").count { $0.contains("request=purge") } == lines)
        }
    }

    @Test("A requeue or purge that names more than 256 records or applications is refused, and no job is started")
    func ordersAboveLimits() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let ids = (0..<257).map { "summary-\($0)" }
            let requeue = try client.refusal(of: .requeue, RequeueParameters(records: ids))
            #expect(requeue == .invalidFilter(field: "records", reason: "at most 256 entries are allowed, not 257"))
            var filter = IssueFilter()
            filter.apps = ids
            let purge = try client.refusal(of: .purge, PurgeParameters(filter: filter))
            #expect(purge == .invalidFilter(field: "apps", reason: "at most 256 entries are allowed, not 257"))
            #expect(!daemon.log.contains("request=requeue") && !daemon.log.contains("request=purge"))
        }
    }

    @Test(
        "Despite an unfinished copy that can't be removed, a backup succeeds or fails with its own error",
        arguments: [("1M", nil), ("1000T", .noSpace)] as [(String, CollectorError?)])
    func leftoverThatStays(keepFree: String, expected: CollectorError?) async throws {
        try await DaemonFixture.with(DaemonConfiguration("[Store]\nKeepFree=\(keepFree)")) { daemon in
            // A folder can't be removed like a file.
            let name = "issues.db.backup-2026-11-21T13:17:14.967Z.unfinished"
            try FileSystem.makeFolders(daemon.folder["state/\(name)"])
            let client = try RawClient(path: daemon.socket)
            #expect(try client.refusal(of: .backup, BackupParameters()) == expected)
            try await daemon.logs("Could not remove the files of an unfinished backup file=")
        }
    }

    /// Returns the first occurrence of each kind of purged text that a file still contains.
    private func secrets(in path: String) -> [String] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        let kinds = ["msg", "meta", "app", "version", "file", "function", "module", "domain", "fingerprint", "word"]
        return (kinds.map { "zq\($0)x" } + ["xqz"]).compactMap { piece in
            guard let range = data.range(of: Data(piece.utf8)) else { return nil }
            let end = min(data.count, range.lowerBound + 80)
            return "\(path): \(String(decoding: data[range.lowerBound..<end], as: UTF8.self))"
        }
    }

    @Test("After a purge, neither the database nor its WAL ever contains purged text again")
    func purgedBytes() async throws {
        // The limit is high, because records above it join an overflow group, whose title the filter would not find.
        try await DaemonFixture.with("[Limits]\nNewGroupsPerApplication=1000/15min") { daemon in
            let client = try RawClient(path: daemon.socket)
            func secret(_ kind: String, _ number: Int) -> String { "zq\(kind)x\(number)xqz" }
            /// Reports records with unique texts: either secrets, which are purged below, or other texts.
            func report(_ numbers: Range<Int>, isSecret: Bool) throws {
                let records = numbers.map { number in
                    func word(_ kind: String) -> String {
                        guard isSecret else { return "open\(kind)x\(number)" }
                        return secret(kind, number)
                    }
                    var record = IssueRecord(message: "Zaphod \(word("word")) said \(word("msg"))")
                    record.app = Application(
                        name: isSecret ? secret("app", number % 40) : "shop", version: word("version"))
                    record.fingerprint = number.isMultiple(of: 3) ? word("fingerprint") : nil
                    record.domain = word("domain")
                    record.metadata = .object([
                        JSONValue.Member("key", .string(word("meta"))),
                        JSONValue.Member(
                            "long", .string(String(repeating: word("meta") + " ", count: number % 50 == 0 ? 900 : 2))),
                    ])
                    record.source = SourceLocation(
                        fileID: word("file"), line: Int64(number), function: word("function"), module: word("module"))
                    return record
                }
                for part in stride(from: 0, to: records.count, by: 100) {
                    _ = try client.report(Array(records[part..<min(records.count, part + 100)]))
                }
            }
            // Records to be purged come first, so that they fill the first pages.
            try report(0..<1_000, isSecret: true)
            for round in 0..<4 {
                try report(10_000 + 1_000 * round..<11_000 + 1_000 * round, isSecret: false)
                try report(1_000 + 200 * round..<1_200 + 200 * round, isSecret: true)
            }
            #expect(!(secrets(in: daemon.database) + secrets(in: daemon.database + "-wal")).isEmpty)

            var filter = IssueFilter()
            filter.text = "Zaphod"
            filter.apps = (0..<40).map { secret("app", $0) }
            let reply = try client.call(.purge, PurgeParameters(filter: filter), returning: PurgeReply.self)
            #expect(reply.count == 1_800)
            #expect(reply.unreachable.isEmpty)
            func left() -> [String] {
                ["", "-wal", "-shm"].flatMap { secrets(in: daemon.database + $0) }
            }
            #expect(left() == [])
            #expect(try daemon.file.rows("PRAGMA integrity_check", columns: 1) == [["ok"]])
            #expect(try daemon.file.ledgerFaults == [])

            // The writer must not write purged text again from its cache.
            try report(20_000..<22_000, isSecret: false)
            #expect(left() == [])
            try await eventually("the status has the records") { try client.status().store.records == 6_000 }
            try daemon.restart()
            #expect(left() == [])
            #expect(try daemon.file.rows("PRAGMA integrity_check", columns: 1) == [["ok"]])
            #expect(try RawClient(path: daemon.socket).report("More").count == 1)
        }
    }

    @Test("Purged text is in none of the lines (sent or unsent), summaries and answers that forwarding keeps")
    func purgedWhileForwarding() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let limits = "GroupBurst=2\nGroupRefill=1/1h\nGlobalBurst=400\nSummaryInterval=1s"
        try await DaemonFixture.with(.forwarding(to: listener, limits)) { daemon in
            let client = try RawClient(path: daemon.socket)
            func report(_ numbers: Range<Int>, _ kind: String, isSecret: Bool = true) throws {
                let records = numbers.flatMap { number in
                    func word(_ kind: String, _ number: Int) -> String {
                        isSecret ? "zq\(kind)x\(number)xqz" : "open\(kind)x\(number)"
                    }
                    func word(_ kind: String) -> String { word(kind, number) }
                    var record = IssueRecord(message: "\(kind) \(word("msg")) was here")
                    record.app = Application(name: word("app", number % 20), version: word("version"))
                    record.fingerprint = word("fingerprint")
                    record.domain = word("domain")
                    record.metadata = .object([JSONValue.Member("key", .string(word("meta")))])
                    record.source = SourceLocation(fileID: word("file"), function: word("function"))
                    return [IssueRecord](repeating: record, count: 5)
                }
                _ = try client.report(records)
            }
            func ledger() throws -> Ledger { try client.destination().ledger }
            // Some records are delivered, some become dead letters, and some are summarised. Summaries of too many
            // issues are combined.
            let echo = "cannot store Poison zqmsgx1xqz was here"
            try listener.plan(
                FaultStep(.status(500, headers: [], body: echo), times: 2),
                FaultStep(.poison("Poison"), times: .forever))
            try report(0..<5, "Poison")
            try report(5..<80, "Plain")
            try report(100..<120, "Open", isSecret: false)
            try await eventually("no record is pending, and three other fates occur") {
                let ledger = try ledger()
                return ledger.pending == 0 && ledger.deadLettered > 0 && ledger.summarised > 0 && ledger.delivered > 0
            }
            // Some records are in a request that gets no answer, and others wait behind it.
            try listener.plan(FaultStep(.readSilent, times: .forever))
            try report(80..<90, "Silent")
            try await eventually("a request is under way") { try client.destination().state == .sending }
            try report(90..<100, "Behind")
            #expect(!(secrets(in: daemon.database) + secrets(in: daemon.database + "-wal")).isEmpty)

            var filter = IssueFilter()
            filter.apps = (0..<20).map { "zqappx\($0)xqz" }
            let reply = try client.call(.purge, PurgeParameters(filter: filter), returning: PurgeReply.self)
            #expect(reply.count == 500)
            #expect(reply.unreachable.allSatisfy { $0.hasSuffix("at the destination logzio") }, "\(reply.unreachable)")
            func left() -> [String] { ["", "-wal"].flatMap { secrets(in: daemon.database + $0) } }
            #expect(left() == [])
            #expect(try daemon.file.ledgerFaults == [])

            // The listener answers, and the records that were held back are summarised.
            try listener.plan()
            try daemon.restart()
            let again = try RawClient(path: daemon.socket)
            try await eventually("nothing is pending") { try again.destination().ledger.pending == 0 }
            let second = try again.call(.purge, PurgeParameters(filter: filter), returning: PurgeReply.self)
            #expect(second.count == 0)
            #expect(left() == [])
            #expect(try daemon.file.ledgerFaults == [])
            try await eventually("the status has the records") { try again.status().store.records == 100 }
        }
    }

    @Test(
        "A long repair ends when its client disconnects, and blocks neither other jobs nor the daemon's exit"
    )
    func endlessRepair() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("One", "Two")
            try daemon.terminate()
            let old = daemon.folder["state/issues.db.damaged-2026-11-21T13:17:14.967Z"]
            try FileManager.default.moveItem(atPath: daemon.database, toPath: old)
            let file = try DatabaseFile(old, writable: true)
            try file.execute("INSERT INTO ranges VALUES (77, 1, 9223372036854775807, 0, 0, 1, 1)")
            let root = try file.rows("SELECT rootpage FROM sqlite_schema WHERE name = 'blocks'", columns: 1)
            try file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            let handle = try FileHandle(forWritingTo: URL(filePath: old))
            // The file becomes so large that searching it for rows takes a while.
            try handle.truncate(atOffset: handle.seekToEnd() + (256 << 20))
            try handle.seek(toOffset: (try #require(root.first.flatMap { UInt64($0[0]) }) - 1) * 8192)
            try handle.write(contentsOf: Data(count: 8192))
            try handle.close()
            try daemon.start()
            do {
                let client = try RawClient(path: daemon.socket)
                try client.begin(.repair, RepairParameters(), more: true)
                #expect(try client.reply().continues)
            }
            let client = try RawClient(path: daemon.socket)
            #expect(try client.report("Meanwhile").count == 1)
            let count = try client.call(
                .purge, PurgeParameters(filter: IssueFilter(json: Array("{\"apps\":[\"shop\"]}".utf8)), isDryRun: true),
                returning: PurgeReply.self)
            #expect(count.count == 1)
            try client.begin(.repair, RepairParameters(), more: true)
            #expect(try client.reply().continues)
            #expect(try daemon.terminate() == .exit(0))
        }
    }
}
