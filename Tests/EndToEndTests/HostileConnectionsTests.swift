import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@Suite(
    "Users who take all available connections and memory", .daemonLog, .serialized,
    .enabled(if: HostileSenders.obstacle == nil, "\(HostileSenders.obstacle ?? "")"))
struct HostileConnectionsTests {
    private static let quiet: UInt32 = 4242
    private static let daemonUser: UInt32 = 4990
    private static let hostile: UInt32 = 40_000

    @Test("Six users with 1,100 connections each leave root, the daemon's own user and a quiet user unaffected")
    func connections() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            try startAsUser(Self.daemonUser, daemon)
            let quiet = try OtherUser.client(Self.quiet, of: daemon)
            let root = try RawClient(path: daemon.socket)
            _ = try quiet.report("Before")
            _ = try root.status()

            let hostile = try await HostileSenders(.idle, Self.hostile, users: 6, connections: 1100, of: daemon)
            // Existing connections are still served, and so are new ones of other users.
            #expect(try quiet.report("Meanwhile").count == 1)
            try await eventually("the connections are accepted") {
                let held = try #require(try root.status().connections)
                return held > 2500 && held < 4096
            }
            try await eventually("the status has the records") {
                try RawClient(path: daemon.socket).status().received == 2
            }
            try await eventually("the status has the records") {
                try OtherUser.client(Self.daemonUser, of: daemon).status().received == 2
            }
            for number in 1...20 as ClosedRange<UInt32> {
                #expect(try OtherUser.client(Self.quiet + number, of: daemon).report("New").count == 1)
            }
            try await daemon.logs("Too many connections", count: 1)
            let lines = daemon.log.split(separator: "\n").filter { $0.contains("Too many connections") }
            #expect(try #require(lines.first).contains("largest_uid=4000"))
            _ = consume hostile
        }
    }

    @Test("All user ids of a container share the connection limit of one user")
    func subordinates() async throws {
        try await DaemonFixture.with("[Socket]\nMaxConnections=64\nMaxConnectionsPerUser=20") { daemon in
            let root = try RawClient(path: daemon.socket)
            _ = try root.status()
            // The ids are in the range that systemd uses for containers, with 65,536 ids each.
            let hostile = try await HostileSenders(.idle, 524_288 + 1000, users: 30, connections: 4, of: daemon)
            #expect(try root.status().connections == 21)
            _ = consume hostile
        }
    }

    @Test(
        "Connections that are always busy do not keep other users out", arguments: [HostileSenders.Kind.follow, .half])
    func busy(kind: HostileSenders.Kind) async throws {
        try await DaemonFixture.with("[Socket]\nMaxConnections=64\nMaxConnectionsPerUser=64") { daemon in
            let hostile = try await HostileSenders(
                kind, Self.hostile, users: 4, connections: 64, bytes: 1000, of: daemon)
            // These are more connections than are free, so some replace connections of the hostile users.
            var clients: [RawClient] = []
            for number in 0..<12 as Range<UInt32> {
                let client = try OtherUser.client(Self.quiet + number, of: daemon)
                #expect(try client.report("New").count == 1)
                clients.append(client)
            }
            try await daemon.logs("Closing connections of the user with the most, to admit others")
            // None of the new connections replaced another new one.
            for client in clients { #expect(try client.report("Again").count == 1) }
            _ = consume hostile
        }
    }

    @Test("A process that connects and disconnects as fast as it can does not delay the connections of others")
    func churn() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Before")
            let hostile = try await HostileSenders(.churn, Self.hostile, users: 1, connections: 1, of: daemon)
            let start = ContinuousClock.now
            for _ in 1...20 { #expect(try RawClient(path: daemon.socket).report("Meanwhile").count == 1) }
            #expect(start.duration(to: .now) < .seconds(10))
            _ = consume hostile
        }
    }

    @Test("Partial messages of 60 users use at most 128 MiB, and other users' messages are received")
    func halves() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Before")
            let before = try daemon.kilobytes("VmRSS")
            let hostile = try await HostileSenders(
                .half, Self.hostile, users: 60, connections: 2, bytes: 1_000_000, of: daemon)
            let text = String(repeating: "q", count: 100_000)
            let quiet = try OtherUser.client(Self.quiet, of: daemon)
            for _ in 1...3 {
                let records = [IssueRecord](repeating: IssueRecord(message: text), count: 2)
                #expect(try quiet.report(records).count == 2)
            }
            // Further connections with more data do not give these users additional memory.
            let again = try await HostileSenders(
                .half, Self.hostile, users: 60, connections: 2, bytes: 1_000_000, of: daemon)
            #expect(try quiet.report("Afterwards").count == 1)
            let cost = try daemon.kilobytes("VmHWM") - before
            #expect(cost < 128 << 10, "\(cost) KiB")
            try await daemon.logs("Connections use too much memory")
            _ = (consume hostile, consume again)
        }
    }

    @Test("Unread replies of 40 users use at most 16 MiB more memory than MaxMemory=, and others are answered")
    func unread() async throws {
        try await DaemonFixture.with("[Socket]\nMaxMemory=32M") { daemon in
            let root = try RawClient(path: daemon.socket)
            let text = String(repeating: "z", count: 2000)
            for uid in 0..<40 as Range<UInt32> {
                let client = try OtherUser.client(Self.hostile + uid, of: daemon)
                _ = try client.report([IssueRecord](repeating: IssueRecord(message: text), count: 400))
            }
            let before = try daemon.kilobytes("VmHWM")
            let hostile = try await HostileSenders(.unread, Self.hostile, users: 40, connections: 8, of: daemon)
            #expect(try OtherUser.client(Self.quiet, of: daemon).report("Quiet").count == 1)
            try await eventually("the status has the records") { try root.status().received == 16_001 }
            let cost = try daemon.kilobytes("VmHWM") - before
            // Besides MaxMemory= there are the pages that the query threads are encoding, and memory that the allocator
            // keeps.
            #expect(cost < (32 + 16) << 10, "\(cost) KiB")
            _ = consume hostile
        }
    }

    @Test("A message above 64 KiB that is not a report is rejected, even before it is complete")
    func largeQuestions() async throws {
        try await DaemonFixture.with { daemon in
            let text = String(repeating: "w", count: 70_000)
            let call = #"{"method":"org.issued.Collector.List","parameters":{"filter":{"text":"\#(text)"#
            // Partial, or complete with the members in either order.
            let whole = #"{"parameters":{"filter":{"text":"\#(text)"}},"method":"org.issued.Collector.List"}"#
            for message in [call, call + "\"}}}\0", whole + "\0"] {
                let client = try RawClient(path: daemon.socket)
                try client.send(message)
                #expect(CollectorError(try client.reply()) == .tooLarge(limit: 65_536))
                #expect(try client.isClosed())
            }
            let reporter = try RawClient(path: daemon.socket)
            let record = #"{"records":[{"message":"\#(text)"}]}"#
            try reporter.send(#"{"parameters":\#(record),"method":"org.issued.Collector.Report"}"# + "\0")
            #expect(try reporter.answer(of: ReportReply.self).receipts.count == 1)
            try reporter.send(#"{ "method":"org.issued.Collector.Report","parameters":\#(record)}"# + "\0")
            #expect(try reporter.answer(of: ReportReply.self).receipts.count == 1)
        }
    }

    @Test("A reload withdraws an operator's rights, even for open connections and running calls")
    func revocation() async throws {
        // Debian's user `bin`, whose group has the same name and id.
        let former: UInt32 = 2
        let operators: DaemonConfiguration = "[Access]\nOperators=bin"
        try await DaemonFixture.with(operators) { daemon in
            let root = try RawClient(path: daemon.socket)
            let secret = try #require(try root.report("Secret").first)
            let client = try OtherUser.client(former, of: daemon)
            let follower = try OtherUser.client(former, of: daemon)
            // With `since`, the stream starts with existing records, so the first reply shows that it has started.
            var filter = IssueFilter()
            filter.since = IssueTimestamp(millisecondsSince1970: 0)
            try follower.begin(.records, RecordsParameters(filter: filter, follow: true), more: true)
            #expect(try follower.reply().error == nil)
            #expect(try client.allRecords().map(\.id) == [secret])
            _ = try root.report("Seen")
            #expect(try follower.reply().error == nil)

            try daemon.configure("")
            try daemon.reload()
            #expect(try client.allRecords().isEmpty)
            #expect(try client.refusal(of: .purge, PurgeParameters(filter: IssueFilter())) == .denied)
            #expect(try client.refusal(of: .flush, FlushParameters()) == .denied)
            try client.send(#"{"method":"org.issued.Collector.Flush","parameters":{"destination":1}}"# + "\0")
            #expect(CollectorError(try client.reply()) == .denied)
            #expect(try client.refusal(of: .show, ShowParameters(id: secret)) == .notFound(id: secret))
            // Running calls now return only the user's own records.
            _ = try root.report("Unseen")
            let own = try client.report("Own")
            let reply = try RecordsReply(json: try follower.reply().parameters)
            #expect(reply.records.map(\.id) == own)

            try daemon.configure(operators)
            try daemon.reload()
            #expect(try client.allRecords().count == 4)
            #expect(try client.refusal(of: .flush, FlushParameters()) == nil)
        }
    }

    @Test("A request from before a reload is answered with the rights that remain after it")
    func revocationMeanwhile() async throws {
        let former: UInt32 = 2
        let logz = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        try logz.plan(FaultStep(.status(503), times: .forever))
        let operators = DaemonConfiguration.forwarding(to: logz, "[Access]\nOperators=bin")
        try await DaemonFixture.with(operators) { daemon in
            let root = try RawClient(path: daemon.socket)
            let text = String(repeating: "s", count: 100_000)
            // These are more records than the buffers of a socket hold, so `paging` is still running at the reload.
            var secret = ""
            for _ in 0..<5 {
                let receipts = try root.report([IssueRecord](repeating: IssueRecord(message: text), count: 8))
                secret = try #require(receipts.last).storedID
            }
            let waiting = try OtherUser.client(former, of: daemon)
            try waiting.begin(.await, AwaitParameters(id: secret, timeout: .seconds(120)))
            let paging = try OtherUser.client(former, of: daemon)
            try paging.begin(.records, RecordsParameters(limit: 1), more: true)
            _ = try paging.reply()
            try daemon.configure(.forwarding(to: logz))
            try daemon.reload()
            try logz.plan()
            #expect(try root.awaitFates(of: secret, timeout: .seconds(60)).map(\.outcome) == [.delivered])
            #expect(CollectorError(try waiting.reply()) == .notFound(id: secret))
            var pages = 1
            while true {
                let reply = try paging.reply()
                pages += try RecordsReply(json: reply.parameters).records.count
                if !reply.continues { break }
            }
            #expect(pages < 40)
        }
    }

    @Test("A descriptor sent with a report is closed, and the report is stored")
    func sentDescriptors() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Before")
            let socket = try client.duplicate()
            let parameters = ReportParameters(records: [IssueRecord(message: "With a descriptor")])
            let call = VarlinkCall(method: CollectorMethod.report.fullName, parameters: parameters.json).message
            var readers: [PassedFile] = []
            for _ in 0..<100 {
                let pipe = try DescriptorPair.pipe()
                #expect(socket.attemptSend(call.span, passing: pipe.second) == .bytes(call.count))
                #expect(try client.answer(of: ReportReply.self).receipts.count == 1)
                readers.append(PassedFile(try pipe.first.duplicate()))
            }
            // The daemon has closed the other end.
            var buffer = [UInt8](repeating: 0, count: 1)
            for reader in readers {
                #expect(try Readiness.wait(reader.descriptor, for: .read, timeout: .seconds(20)))
                #expect(try reader.descriptor.read(into: &buffer) == 0)
            }
        }
    }

    /// Starts the daemon as this user, who then owns its files.
    private func startAsUser(_ uid: UInt32, _ daemon: DaemonFixture) throws {
        let attributes: [FileAttributeKey: Any] = [.ownerAccountID: Int(uid), .groupOwnerAccountID: Int(uid)]
        try FileManager.default.setAttributes(attributes, ofItemAtPath: daemon.folder.path)
        for name in try FileManager.default.contentsOfDirectory(atPath: daemon.folder.path) {
            try FileManager.default.setAttributes(attributes, ofItemAtPath: daemon.folder[name])
        }
        try daemon.launch(through: try OtherUser.launcher(uid))
        try daemon.waitUntilReady()
    }

    @Test(
        "If the pid of a connection's process is reused, the records show nothing of the new process",
        .enabled(if: pidObstacle == nil, "\(pidObstacle ?? "")"),
        arguments: [("late", 40_001), ("late", 0), ("early", 40_001), ("early", 0)])
    func reusedPid(accepted: String, uid: Int) async throws {
        // Another process can get the pid first, and keep it.
        for _ in 0..<20 where try await reusesPid(accepted: accepted, uid: uid) { return }
        Issue.record("No pid could be reused.")
    }

    /// The reason why this process can't choose the pid of a new process, as in some containers; nil if it can.
    private static let pidObstacle: String? = {
        do {
            let file = try FileDescriptor.open("/proc/sys/kernel/ns_last_pid", .writeOnly)
            try file.writeAll(try FileSystem.read("/proc/sys/kernel/ns_last_pid", limit: 64))
            return nil
        } catch {
            return "a pid can't be chosen: \(error)"
        }
    }()

    /// Reports over a connection after the pid of the process that opened it has been reused, and checks the stored
    /// records. Returns `false` without a check if another process got the pid.
    private func reusesPid(accepted: String, uid: Int) async throws -> Bool {
        try await DaemonFixture.with { daemon in
            let folder = try ScratchFolder(named: "reuse")
            let process = try ChildProcess(
                script: "pid_reuse", [daemon.socket, "\(daemon.pid)", accepted, "\(uid)", folder.path], in: folder)
            #expect(try process.end() == .exit(0), "\(process.errors)")
            let output = process.output.split(separator: " ", maxSplits: 1)
            if output.first == "taken\n" { return false }
            let maker = try #require(output.first.flatMap { Int32($0) })
            let client = try RawClient(path: daemon.socket)
            let reply: RecordsReply = try client.call(.records, RecordsParameters())
            let records = reply.records
            #expect(records.count == (accepted == "late" ? 1 : 2))
            for record in records {
                #expect(record.sender.pid == maker && record.sender.uid == UInt32(uid))
                #expect(record.sender.command != "impostor")
                #expect(record.sender.executable?.contains("impostor") != true)
                // If the process was still running when its connection was accepted, its command is known. Otherwise
                // the command is nil.
                #expect(record.sender.command?.hasPrefix("python") == (accepted == "early" ? true : nil))
            }
            return true
        }
    }
}

/// A running `hostile_senders.py`. Its connections are closed when this value is destroyed.
final class HostileSenders {
    enum Kind: String {
        case churn
        case idle
        case half
        case follow
        case unread
    }

    private let folder: ScratchFolder
    private let process: ChildProcess

    static var obstacle: String? { OtherUser.obstacle }

    init(
        _ kind: Kind, _ first: UInt32, users: Int, connections: Int, bytes: Int = 0, of daemon: DaemonFixture
    ) async throws {
        let folder = try ScratchFolder(named: "hostile")
        self.folder = folder
        process = try ChildProcess(
            script: "hostile_senders",
            [daemon.socket, kind.rawValue, "\(first)", "\(users)", "\(connections)", "\(bytes)"], in: folder)
        let process = process
        try await eventually("all are connected") {
            try #require(process.isRunning, "\(process.errors)")
            return process.output.contains("ready")
        }
    }
}
