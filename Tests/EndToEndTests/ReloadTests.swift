import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Reloading the configuration", .daemonLog)
struct ReloadTests {
    @Test("A destination that a reload adds gets only later records; one that a reload removes gets no more")
    func destinations() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            let before = try client.report("Before")
            #expect(try client.status().destinations.isEmpty)

            try daemon.configure(.forwarding(to: listener))
            try daemon.reload()
            let during = try client.report("During")
            #expect(listener.waitForAccepted(1))
            try await eventually("no record is pending") { try client.destination().ledger.pending == 0 }
            #expect(listener.compare(with: during).isMet)

            try daemon.configure("")
            try daemon.reload()
            _ = try client.report("After")
            #expect(try client.destination().reason == "no longer configured")
            try daemon.restart()
            #expect(listener.compare(with: during).isMet)
            #expect(try RawClient(path: daemon.socket).show(before[0]).fates.isEmpty)
        }
    }

    @Test("A removed destination is logged once, at the reload or start that removes it", arguments: [false, true])
    func removedDestination(restarts: Bool) async throws {
        // Nothing listens on port 1.
        try await DaemonFixture.with("[OTLP old]\nURL=http://127.0.0.1:1\nProxy=") { daemon in
            _ = try RawClient(path: daemon.socket).report("Pending")
            try daemon.configure("[OTLP new]\nURL=http://127.0.0.1:1\nProxy=")
            if restarts { try daemon.restart() } else { try daemon.reload() }
            try await daemon.logs("destination=old pending=1 id=destination.removed")
            try daemon.restart()
            try daemon.reload()
            #expect(daemon.log.ranges(of: "id=destination.removed").count == 1)
        }
    }

    @Test("A new log level takes effect, and open connections stay open")
    func level() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Before")
            try daemon.configure("[Log]\nLevel=error")
            try daemon.reload()
            #expect(!daemon.log.contains("Configuration reloaded"))
            #expect(try client.report("After").count == 1)
        }
    }

    @Test("New readers get access", .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
    func readers() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Root's")
            #expect(try OtherUser.client(4242, of: daemon).allRecords().isEmpty)
            // `Readers=` names the user's own group by its id, because the group has no name.
            try daemon.configure("[Access]\nReaders=4242")
            try daemon.reload()
            #expect(try OtherUser.client(4242, of: daemon).allRecords().count == 1)
        }
    }

    @Test("A change that needs a restart is logged, and is a fault until it is reverted")
    func nextStart() async throws {
        try await DaemonFixture.with { daemon in
            func tellings() -> Int { daemon.log.ranges(of: "take effect after a restart").count }
            try daemon.configure("[Socket]\nMaxConnectionsPerUser=77")
            try daemon.reload()
            #expect(tellings() == 1)
            let status = try RawClient(path: daemon.socket).status()
            #expect(status.store.faultsByKind.map(\.kind) == [.restart])
            try daemon.configure("[Store]\nMaxAge=7d")
            try daemon.reload()
            #expect(tellings() == 1)
            #expect(try RawClient(path: daemon.socket).status().store.faults == [])
        }
    }

    @Test("A change of the socket that needs a restart remains a fault after the database was opened again")
    func changedSocketAndReopenedStore() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Before")
            try daemon.configure("[Socket]\nMode=0600")
            try daemon.reload()
            for ending in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: daemon.database + ending) }
            try await eventually("the report is stored") {
                (try? RawClient(path: daemon.socket).report("After"))?.count == 1
            }
            #expect(try RawClient(path: daemon.socket).status().store.faultsByKind.map(\.kind).contains(.restart))
        }
    }

    @Test("An invalid file changes nothing, and the error is logged with its line")
    func badFile() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let client = try RawClient(path: daemon.socket)
            try daemon.configure("[Nonsense]\nKey=1")
            try daemon.reload()
            try await daemon.logs("using the last valid configuration")
            try await daemon.logs("issued.conf:")
            let id = try #require(try client.report("Forwarded all the same").first)
            #expect(try client.awaitFates(of: id).map(\.outcome) == [.delivered])
        }
    }
}
