import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@Suite("Exit of the daemon", .daemonLog)
struct ExitTests {
    @Test("SIGTERM ends the daemon with exit code 0 after all stored records got their receipts")
    func termination() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            for number in 1...200 {
                try client.begin(.report, ReportParameters(records: [IssueRecord(message: "Number \(number)")]))
            }
            _ = try client.reply()
            #expect(try daemon.terminate() == .exit(0))
            var receipts = 1
            while (try? client.reply()) != nil { receipts += 1 }
            try daemon.start()
            // Each record with a receipt is stored, and each stored record has a receipt.
            try await eventually("the status has the records") {
                try RawClient(path: daemon.socket).status().received == Int64(receipts)
            }
        }
    }

    @Test("A stopped daemon leaves no WAL behind, even if its database was read between reports")
    func log() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            for number in 1...5 {
                _ = try client.report("Something new, \(String(repeating: "a", count: number))")
                _ = try client.status()
            }
            #expect(try daemon.terminate() == .exit(0))
            #expect(!FileManager.default.fileExists(atPath: "\(daemon.database)-wal"))
        }
    }

    @Test("SIGTERM ends the daemon even if clients follow new records or await a fate, and closes their connections")
    func endless() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try listener.plan(FaultStep(.status(503), times: .forever))
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let follower = try RawClient(path: daemon.socket)
            try follower.begin(.records, RecordsParameters(follow: true), more: true)
            let client = try RawClient(path: daemon.socket)
            let id = try client.report("Something")[0]
            let waiting = try RawClient(path: daemon.socket)
            try waiting.begin(.await, AwaitParameters(id: id, timeout: .seconds(600)))
            // The daemon reads from all connections in turn, so it has read the call above before it replies.
            _ = try client.status()
            #expect(try daemon.terminate(within: .seconds(15)) == .exit(0))
            while (try? waiting.reply(within: .seconds(5))) != nil {}
            #expect(try waiting.isClosed(within: .seconds(5)))
            while let reply = try? follower.reply(within: .seconds(5)) {
                if !reply.continues { break }
            }
            #expect(try follower.isClosed(within: .seconds(5)))
        }
    }

    @Test("An invalid command line ends the daemon with exit code 64")
    func usage() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            try daemon.launch(arguments: ["--confg", "x"])
            #expect(try daemon.end() == .exit(64))
            try await daemon.logs("--config")
        }
    }

    @Test("The daemon exits with 69 if another daemon serves its socket, and replaces the socket of a killed daemon")
    func socketTaken() async throws {
        try await DaemonFixture.with { daemon in
            let second = try ScratchFolder()
            let file = try second.write(
                "[Socket]\nPath=\(daemon.socket)\n[Store]\nPath=\(second["x.db"])\n", to: "issued.conf")
            let other = try ChildProcess(
                try TestBinaries.path(of: "issued"), ["--config", file], in: second, name: "issued")
            #expect(try other.end() == .exit(69))
            #expect(other.errors.contains(daemon.socket))
            #expect(try RawClient(path: daemon.socket).report("Still the first").count == 1)
            // A killed daemon leaves its socket behind.
            try daemon.kill()
            try daemon.start()
        }
    }

    @Test("A state directory that can't be created ends the daemon with exit code 73")
    func noState() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            let blocked = try daemon.folder.write("no folder", to: "file") + "/state/issues.db"
            try daemon.folder.write("[Socket]\nPath=\(daemon.socket)\n[Store]\nPath=\(blocked)\n", to: "issued.conf")
            try daemon.launch()
            #expect(try daemon.end() == .exit(73))
            try await daemon.logs("\(daemon.folder.path)/file")
        }
    }

    @Test("A check of a configuration with errors exits with 78, and names the file and line of each error")
    func configuration() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            let file = try daemon.folder.write("[Socket]\nMod=0666\n[Store]\nMaxSize=plenty\n", to: "issued.conf")
            try daemon.launch(arguments: ["--check", file, "--user", "\(getuid())"])
            #expect(try daemon.end() == .exit(78))
            try await daemon.logs("\(file):2:")
            try await daemon.logs("\(file):4:")
            try await daemon.logs("Mode")
        }
    }

    @Test("Version, help and a successful check exit with 0")
    func answers() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            let check = ["--check", daemon.configurationFile, "--user", "\(getuid())"]
            for arguments in [["--version"], ["--help"], check] {
                #expect(daemon.log == "")
                try daemon.launch(arguments: arguments)
                #expect(try daemon.end() == .exit(0))
            }
            #expect(daemon.log.hasPrefix("Files checked as user ") && daemon.log.count { $0 == "\n" } == 1)
        }
    }
}
