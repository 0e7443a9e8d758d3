import Foundation
import IssueProtocol
import Testing
import UnixIO

/// The program that was built with these tests.
private let program: String? = {
    let folders = [
        ProcessInfo.processInfo.environment["ISSUED_TEST_BINARIES"],
        CommandLine.arguments.first.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path },
        Bundle.main.bundlePath,
    ]
    return folders.compactMap { $0.map { $0 + "/fake-logz" } }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
}()

@Suite("The fake-logz program", .enabled(if: program != nil, "fake-logz is not built"))
struct CommandTests {
    /// A running program and its ports.
    private struct Running {
        let child: ChildProcess
        let port: UInt16
        let controlPort: UInt16

        init(_ arguments: [String], in folder: URL) throws {
            child = try ChildProcess(try #require(program), arguments, in: folder)
            let line = try JSONValue(json: child.firstLine())
            port = UInt16(try #require(line["http"]?.asInteger))
            controlPort = UInt16(try #require(line["control"]?.asInteger))
        }
    }

    private static func run(_ arguments: String..., body: (Running) throws -> Void) throws {
        try withScratchFolder { folder in
            try body(Running(["--token", "good"] + arguments, in: folder))
        }
    }

    @Test("fake-logz prints its ports, serves requests, writes a ledger and follows a plan")
    func serves() throws {
        try withScratchFolder { folder in
            let plan = "[{\"match\":{\"nth\":2},\"fault\":\"413_late\"}]"
            let running = try Running(
                ["--token=good", "--ledger", "ledger.jsonl", "--plan", plan, "--strict"], in: folder)
            let client = try RawClient(port: running.port)
            try client.post("{}")
            #expect(try client.answer().status == 200)
            try client.post("{}")
            #expect(try client.answer().status == 413)

            try running.child.input.fileHandleForWriting.close()
            #expect(try running.child.end().code == 0)
            let ledger = try String(contentsOf: folder.appendingPathComponent("ledger.jsonl"), encoding: .utf8)
            #expect(ledger.split(separator: "\n").count == 5)
        }
    }

    @Test("fake-logz ends when its standard input closes, unless it was started with --keep-running")
    func standardInput() throws {
        try Self.run { running in
            try running.child.input.fileHandleForWriting.close()
            #expect(try running.child.end().code == 0)
        }
        try Self.run("--keep-running") { running in
            try running.child.input.fileHandleForWriting.close()
            #expect(throws: ChildProcess.TimeLimitExceeded.self) { try running.child.end(within: .milliseconds(200)) }
            #expect(try RawClient(port: running.controlPort).remainder(within: .zero).end == .nothing)
            running.child.process.terminate()
            #expect(try running.child.end().code == 0)
        }
    }

    @Test("fake-logz responds to POST /quit on the control port before it ends")
    func quit() throws {
        try Self.run { running in
            let client = try RawClient(port: running.controlPort)
            try client.send("POST /quit HTTP/1.1\r\n\r\n")
            #expect(try client.answer().status == 200)
            #expect(try running.child.end().code == 0)
        }
    }

    @Test("fake-logz keeps no descriptor and no thread of a connection that has ended")
    func leaks() throws {
        func open(_ running: Running, _ what: String) throws -> Int {
            let folder = "/proc/\(running.child.process.processIdentifier)/\(what)"
            return try FileManager.default.contentsOfDirectory(atPath: folder).count
        }
        try Self.run { running in
            let descriptors = try open(running, "fd")
            let threads = try open(running, "task")
            for _ in 0..<50 {
                let client = try RawClient(port: running.port)
                try client.post("{}", headers: ["Connection: close"])
                _ = try client.remainder()
            }

            // The last connections may not have ended yet.
            let deadline = Date(timeIntervalSinceNow: 10)
            while try open(running, "fd") > descriptors || open(running, "task") > threads, Date() < deadline {}
            #expect(try open(running, "fd") == descriptors)
            #expect(try open(running, "task") == threads)
        }
    }

    @Test(
        "fake-logz prints its help, and fails if an option is unknown or invalid or the ledger cannot be opened",
        arguments: [
            ("--help", Int32(0)), ("--unheard", 64), ("--port=x", 64), ("--port", 64), ("--plan={}", 64),
            ("--limit-applies-to=x", 64), ("--ledger=/nowhere/ledger", 69),
        ])
    func usage(argument: String, code: Int32) throws {
        try withScratchFolder { folder in
            let (ended, output) = try ChildProcess(try #require(program), [argument], in: folder).end()
            #expect(ended == code)
            #expect(output.hasPrefix("usage: fake-logz") == (code == 0))
        }
    }
}
