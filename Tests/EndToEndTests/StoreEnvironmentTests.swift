import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@Suite("External changes to the store", .daemonLog)
struct StoreEnvironmentTests {
    /// How a second daemon opens the database of the first one.
    enum SecondDaemon: CaseIterable {
        case samePath
        case lockFileRemoved
        /// The second daemon opens the database by another name.
        case hardLink
    }

    @Test(
        "A second daemon on the same store waits for the first one to exit, and answers Busy meanwhile",
        arguments: SecondDaemon.allCases)
    func secondDaemon(way: SecondDaemon) async throws {
        try await DaemonFixture.with { first in
            #expect(try RawClient(path: first.socket).report("To the first").count == 1)
            try await DaemonFixture.with(starts: false) { second in
                var database = first.database
                switch way {
                case .samePath: break
                case .lockFileRemoved: try FileManager.default.removeItem(atPath: database + ".lock")
                case .hardLink:
                    database = second.database
                    try FileManager.default.createDirectory(
                        atPath: FileSystem.parentFolder(of: database), withIntermediateDirectories: true,
                        attributes: [.posixPermissions: 0o700])
                    try FileManager.default.linkItem(atPath: first.database, toPath: database)
                }
                try second.folder.write(
                    "[Socket]\nPath=\(second.socket)\n[Store]\nPath=\(database)\n[Log]\nTarget=stderr\n",
                    to: "issued.conf")
                try second.start()
                let refusal = try RawClient(path: second.socket).refusal(
                    of: .report, ReportParameters(records: [IssueRecord(message: "To the second")]))
                #expect(refusal == .busy(retryAfter: .seconds(1)))
                try await second.logs("another daemon has the database open")
                #expect(try RawClient(path: first.socket).report("To the first again").count == 1)
                #expect(try first.terminate() == .exit(0))
                try await eventually("the second daemon has the database") {
                    (try? RawClient(path: second.socket).report("To the second"))?.count == 1
                }
                let messages = try RawClient(path: second.socket).allRecords().map(\.record.message)
                #expect(messages.sorted() == ["To the first", "To the first again", "To the second"])
            }
        }
    }

    @Test("If the database is removed, the loss becomes a fault, and later reports with a receipt are stored")
    func removed() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Before")
            for ending in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: daemon.database + ending) }
            try await eventually("the report is stored") {
                (try? RawClient(path: daemon.socket).report("After"))?.count == 1
            }
            try await daemon.logs("Database was removed or replaced")
            let faults = try RawClient(path: daemon.socket).status().store.faults
            #expect(faults.count == 1 && faults[0].contains("are lost, although they had receipts"))
            try daemon.kill()
            try daemon.start()
            #expect(try RawClient(path: daemon.socket).allRecords().map(\.record.message) == ["After"])
        }
    }

    @Test(
        "If the WAL is removed or replaced, no report with a receipt is lost",
        arguments: [false, true])
    func walRemoved(isReplaced: Bool) async throws {
        try await DaemonFixture.with { daemon in
            #expect(try RawClient(path: daemon.socket).report("Before").count == 1)
            try FileManager.default.removeItem(atPath: daemon.database + "-wal")
            if isReplaced { try Data().write(to: URL(filePath: daemon.database + "-wal")) }
            try await eventually("the report is stored") {
                (try? RawClient(path: daemon.socket).report("After"))?.count == 1
            }
            try await daemon.logs("copied=\"all of it\"")
            try daemon.kill()
            try daemon.start()
            let messages = try RawClient(path: daemon.socket).allRecords().map(\.record.message)
            #expect(messages.sorted() == ["After", "Before"])
        }
    }

    @Test("If the WAL is removed, its records are copied into the database even without a report, and can be read")
    func walRemovedWhileIdle() async throws {
        try await DaemonFixture.with { daemon in
            #expect(try RawClient(path: daemon.socket).report("Before").count == 1)
            try FileManager.default.removeItem(atPath: daemon.database + "-wal")
            try await daemon.logs("copied=\"all of it\"")
            try await eventually("queries are answered") {
                (try? RawClient(path: daemon.socket).allRecords())?.map(\.record.message) == ["Before"]
            }
            try daemon.kill()
            try daemon.start()
            #expect(try RawClient(path: daemon.socket).allRecords().map(\.record.message) == ["Before"])
            #expect(try RawClient(path: daemon.socket).status().store.faults == [])
        }
    }

    @Test("Commits that were lost with the WAL of a killed run are a fault of the next run, but not of the one after")
    func commitsLost() async throws {
        try await DaemonFixture.with { daemon in
            #expect(try RawClient(path: daemon.socket).report("Lost").count == 1)
            try daemon.kill()
            try FileManager.default.removeItem(atPath: daemon.database + "-wal")
            try daemon.start()
            let faults = try RawClient(path: daemon.socket).status().store.faults
            #expect(faults.count == 1 && faults[0].contains("are lost, although they had receipts"))
            try await daemon.logs("id=store.commits-lost")
            #expect(try daemon.terminate() == .exit(0))
            try daemon.start()
            #expect(try RawClient(path: daemon.socket).status().store.faults == [])
        }
    }

    @Test(
        "A full disk is a fault, even right after a start; the fault ends without another report once there is space",
        .enabled(if: DaemonFixture.smallDiskObstacle == nil, "\(DaemonFixture.smallDiskObstacle ?? "")"))
    func spaceAgain() async throws {
        try await DaemonFixture.withSmallDisk("40m", "[Store]\nKeepFree=0") { daemon in
            let state = daemon.folder["state"]
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            #expect(try client.report("Before").count == 1)
            do {
                let other = try FileDescriptor.open(state + "/other", [.writeOnly, .create], mode: 0o600)
                let megabyte = [UInt8](repeating: 1, count: 1 << 20)
                while (try? other.writeAll(megabyte)) != nil {}
            }
            var refusal: CollectorError?
            for number in 0..<1000 where refusal == nil {
                let text = (0..<2000).map { "\($0 &* 7919 &+ number)" }.joined(separator: " ")
                refusal = try? client.refusal(
                    of: .report,
                    ReportParameters(records: [IssueRecord(message: "Load", metadata: ["t": .string(text)])]))
            }
            #expect(refusal == .noSpace)
            #expect(try client.status().store.faults.contains { $0.hasPrefix("reports have been refused since") })
            try daemon.kill()
            try daemon.start()
            let next = try RawClient(path: daemon.socket)
            #expect(try next.status().store.faults.contains { $0.hasPrefix("reports have been refused since") })
            try FileManager.default.removeItem(atPath: state + "/other")
            try await eventually("the fault has ended") { try next.status().store.faults.isEmpty }
            try await daemon.logs("Storing reports again")
        }
    }

    @Test("Records with the maximum depth can be read, and do not hide others")
    func deepest() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let depth = 30
            let metadata = "{\"a\":" + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
            let reply = try client.call(
                "org.issued.Collector.Report",
                "{\"records\":[{\"message\":\"Deep\",\"metadata\":\(metadata)},{\"message\":\"Flat\"}]}")
            let ids = try ReportReply(json: reply.parameters).receipts.compactMap { receipt in
                if case .stored(let id) = receipt { id } else { nil }
            }
            try #require(ids.count == 2)
            #expect(try client.show(ids[0]).record?.record.message == "Deep")
            #expect(try client.allRecords().count == 2)
        }
    }
}
