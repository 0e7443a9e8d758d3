import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@Suite("Faults of the daemon's environment", .daemonLog)
struct EnvironmentFaultTests {
    @Test("A removed socket file is logged once and created again, and existing connections stay open")
    func socketFileRemoved() async throws {
        try await DaemonFixture.with { daemon in
            let before = try RawClient(path: daemon.socket)
            _ = try before.report("Before")
            try FileManager.default.removeItem(atPath: daemon.socket)
            try await eventually("the socket is reachable again") {
                (try? RawClient(path: daemon.socket).report("After"))?.count == 1
            }
            #expect(try before.report("Still connected").count == 1)
            try await daemon.logs("Socket file was removed", count: 1)
            let mode = try FileSystem.status(of: daemon.socket).mode
            #expect(mode == 0o666)
            try await eventually("the status has the records") { try before.status().received == 3 }
        }
    }

    @Test("A socket whose folder was moved is created again with its folder")
    func socketFolderMoved() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            let path = daemon.folder["run/issued.sock"]
            try daemon.folder.write("[Socket]\nPath=\(path)\n[Store]\nPath=\(daemon.database)\n", to: "issued.conf")
            try daemon.start()
            for name in ["gone", "gone-too"] {
                try FileManager.default.moveItem(atPath: daemon.folder["run"], toPath: daemon.folder[name])
                try await eventually("the socket is reachable again") {
                    (try? RawClient(path: path).report("After"))?.count == 1
                }
            }
        }
    }

    @Test("Without free descriptors, new connections wait and existing ones are served, and this is logged once")
    func descriptorsExhausted() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            try daemon.launch(through: ["/bin/sh", "-c", "ulimit -n 48; exec \"$@\"", "sh"])
            try daemon.waitUntilReady()
            let first = try RawClient(path: daemon.socket)
            _ = try first.report("First")
            // After this query, the descriptors that queries need are open.
            _ = try first.status()
            var clients: [RawClient] = []
            for _ in 1...64 {
                let client = try RawClient(path: daemon.socket)
                try client.begin(.status, JSONValue.object([]))
                clients.append(client)
            }
            try await daemon.logs("Could not accept a connection")
            // The loop takes long enough for another attempt to accept a connection.
            let ticks = try daemon.processorTicks
            for number in 1...15 {
                _ = try first.report("Meanwhile \(number)")
                #expect(throws: RawClient.NoReply.quiet) { try clients[60].reply(within: .milliseconds(100)) }
            }
            #expect(try daemon.processorTicks - ticks < 60)

            // When one of the clients disconnects, a waiting one is accepted.
            clients.reverse()
            var refused = 0
            while let client = clients.popLast() {
                do {
                    _ = try client.answer(of: DaemonStatus.self)
                } catch CollectorError.busy {
                    // The daemon could not read which process had connected, because another thread used the last
                    // descriptor.
                    refused += 1
                }
            }
            #expect(refused < 8)
            #expect(try RawClient(path: daemon.socket).report("Afterwards").count == 1)
            try await daemon.logs("Could not accept a connection", count: 1)
            try await daemon.logs("Accepting connections again")
        }
    }

    @Test("Opening the database is retried, and reports are answered with Busy meanwhile")
    func unopenable() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            let pages = daemon.folder["pages"]
            try daemon.configure(
                DaemonConfiguration("[Notify oncall]\nCommand=/bin/sh -c \"cat >> \(pages)\"\nDelay=0"))
            let folder = try daemon.takeStateFolder()
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            try await eventually("a message about the fault has arrived") {
                daemon.folder.text(of: "pages").contains("the database can't be opened")
            }
            #expect(try client.status().notifiers.map(\.name) == ["oncall"])
            #expect(try daemon.issuectl(["notify"]).output.contains("store_failed"))
            let parameters = ReportParameters(records: [IssueRecord(message: "Early")])
            #expect(try client.refusal(of: .report, parameters) == .busy(retryAfter: .seconds(1)))
            #expect(try client.refusal(of: .list, ListParameters()) == .busy(retryAfter: .seconds(1)))
            let faults = try client.status().store.faults
            #expect(faults.count == 1)
            #expect(faults.first?.contains("reports have been refused since") == true)
            // Several pipelined calls are answered one by one.
            let call = VarlinkCall(method: CollectorMethod.report.fullName, parameters: parameters.json).message
            try client.send([call, call, call].flatMap(\.self))
            for _ in 0..<3 {
                #expect(CollectorError(try client.reply()) == .busy(retryAfter: .seconds(1)))
            }
            try await daemon.logs("Could not open the database", count: 1)
            try await daemon.logs("retrying file=\(daemon.database)")

            try FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try await eventually("the database is open") {
                (try? RawClient(path: daemon.socket).report("Late"))?.count == 1
            }
            try await daemon.logs("Database opened")
            try await daemon.logs("id=daemon.ready", count: 1)
            try await eventually("the notifier uses the database") {
                try RawClient(path: daemon.socket).status().notifiers.first?.state == .idle
            }
            #expect(try daemon.terminate() == .exit(0))
        }
    }

    @Test("While the database can't be opened, a reload updates the configuration faults in the status")
    func reloadWhileUnopenable() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            _ = try daemon.takeStateFolder()
            try daemon.start()
            try daemon.configure("[Nonsense]\nKey=1")
            try daemon.reload()
            try await eventually("the error is shown") {
                try RawClient(path: daemon.socket).status().store.faultsByKind.map(\.kind).contains(.configuration)
            }
            try daemon.configure("")
            try daemon.reload()
            try await eventually("the error is no longer shown") {
                try !RawClient(path: daemon.socket).status().store.faultsByKind.map(\.kind).contains(.configuration)
            }
        }
    }

    @Test(
        "While the database can't be opened, a reload applies Readers=",
        .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
    func readersWhileUnopenable() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            _ = try daemon.takeStateFolder()
            try daemon.start()
            // The path is shown only to users who may read all records.
            #expect(try OtherUser.client(4242, of: daemon).status().store.path != daemon.database)
            try daemon.configure("[Access]\nReaders=4242")
            try daemon.reload()
            #expect(try OtherUser.client(4242, of: daemon).status().store.path == daemon.database)
        }
    }

    @Test("While the database can't be opened, a new mode of the socket needs a restart, and another database does not")
    func pathsWhileUnopenable() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            _ = try daemon.takeStateFolder()
            try daemon.start()
            try daemon.configure("[Socket]\nMode=0600")
            try daemon.reload()
            try await daemon.logs(LogEvent.configNeedsRestart.id, count: 1)
            let faults = try RawClient(path: daemon.socket).status().store.faultsByKind
            #expect(faults.map(\.kind).contains(.restart))
            try daemon.configure("")
            try daemon.reload()
            #expect(try !RawClient(path: daemon.socket).status().store.faultsByKind.map(\.kind).contains(.restart))
            let other = daemon.folder["other/issues.db"]
            try daemon.folder.write(
                daemon.folder.text(of: "issued.conf").replacing(daemon.database, with: other), to: "issued.conf")
            try daemon.reload()
            try await eventually("a report is stored") {
                (try? RawClient(path: daemon.socket).report("Later"))?.count == 1
            }
            let status = try RawClient(path: daemon.socket).status()
            #expect(status.store.path == other && status.store.faults == [])
        }
    }

    @Test("A daemon that can't open its database exits with 0 on SIGTERM")
    func unopenableAndStopped() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            _ = try daemon.takeStateFolder()
            try daemon.start()
            try await daemon.logs("Could not open the database; retrying")
            try daemon.reload()
            #expect(try daemon.terminate(within: .seconds(10)) == .exit(0))
        }
    }
}

extension DaemonFixture {
    /// Makes the folder of the database a link to one in which not even root can create a file. Returns the path of the
    /// link.
    ///
    /// A database that can't be opened is moved aside only if a new one next to it could be opened, which is impossible
    /// here.
    fileprivate func takeStateFolder() throws -> String {
        let path = FileSystem.parentFolder(of: database)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/proc/self")
        return path
    }
}
