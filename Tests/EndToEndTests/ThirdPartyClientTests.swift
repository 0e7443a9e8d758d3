import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Third-party clients", .daemonLog)
struct ThirdPartyClientTests {
    /// Runs a program that talks to the daemon, and returns its output.
    private func run(
        _ program: String, _ arguments: [String], _ daemon: DaemonFixture, name: String = "stranger",
        path: String? = nil
    ) throws -> (end: ChildProcess.End, output: String, errors: String) {
        var environment = ["ISSUED_SOCKET": daemon.socket]
        environment["PATH"] = path
        let process = try ChildProcess(program, arguments, in: daemon.folder, name: name, environment: environment)
        let end = try process.end()
        return (end, process.output, process.errors)
    }

    @Test(
        "The Python package varlink introspects, reports, pages, streams and gets the documented errors",
        .enabled(if: TestBinaries.python != nil, "scripts/dependencies test installs the package varlink"))
    func varlinkForPython() async throws {
        let python = try #require(TestBinaries.python)
        try await DaemonFixture.with { daemon in
            let script = "\(TestBinaries.repository)Tests/EndToEndTests/varlink_client.py"
            let file = "\(TestBinaries.repository)Documentation/org.issued.Collector.varlink"
            let ran = try run(python, [script, daemon.socket, file], daemon)
            #expect(ran.end == .exit(0), "\(ran.output)\n\(ran.errors)")
            #expect(ran.output.hasSuffix("all is well\n"))
            // The program has reported twelve records.
            try await eventually("the status has the records") {
                try RawClient(path: daemon.socket).status().received == 12
            }
        }
    }

    @Test("The Python example, without any library, reports an issue and prints its id")
    func pythonExample() async throws {
        let python = try TestBinaries.python3
        try await DaemonFixture.with { daemon in
            let example = "\(TestBinaries.repository)Examples/python/report.py"
            let ran = try run(python, [example, "Said from Python", "warning"], daemon)
            #expect(ran.end == .exit(0), "\(ran.errors)")
            let id = ran.output.split(separator: "\n").joined()
            let record = try #require(try RawClient(path: daemon.socket).show(id).record)
            #expect(record.record.message == "Said from Python")
            #expect(record.record.severity == .warning)
            #expect(record.sender.command?.hasPrefix("python") == true)
        }
    }

    @Test("Python's logging reports through the example handler, which keeps the newest records until the daemon runs")
    func pythonLogging() async throws {
        let python = try TestBinaries.python3
        try await DaemonFixture.with(starts: false) { daemon in
            let script = daemon.folder["log.py"]
            try """
            import logging, os, sys
            sys.path.insert(0, "\(TestBinaries.repository)Examples/python")
            from issued_logging import IssueHandler
            handler = IssueHandler("shop", version="2.4.0", capacity=3)
            logging.getLogger().addHandler(handler)
            for number in range(4):
                logging.error("Order %d of %s failed", number, "ann" if number else "bob \\udc80")
            open("\(daemon.folder["logged"])", "w").close()
            if not handler.flush(60):
                sys.exit(1)
            if os.fork() == 0:
                try:
                    int("x")
                except ValueError:
                    logging.exception("Cannot count")
                sys.exit(0 if handler.flush(60) else 1)
            sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
            """.write(toFile: script, atomically: true, encoding: .utf8)
            let process = try ChildProcess(
                python, [script], in: daemon.folder, name: "logging",
                environment: ["ISSUED_SOCKET": daemon.socket, "PATH": "/usr/bin:/bin"])
            try await eventually("the records are logged") {
                FileManager.default.fileExists(atPath: daemon.folder["logged"])
            }
            try daemon.launch()
            #expect(try process.end() == .exit(0), "\(process.output)")
            let records = try RawClient(path: daemon.socket).allRecords().map(\.record)
            // The handler keeps three records while there is no daemon, so it has dropped the oldest one.
            #expect(
                records.map(\.message).sorted() == [
                    "Cannot count", "Order 1 of ann failed", "Order 2 of ann failed", "Order 3 of ann failed",
                ])
            #expect(records.allSatisfy { $0.app?.name == "shop" && $0.app?.version == "2.4.0" })
            #expect(records.first { $0.message == "Cannot count" }?.domain == "ValueError")
            try await eventually("the status has the records") {
                try RawClient(path: daemon.socket).status().store.groups == 2
            }
        }
    }

    @Test(
        "The C example compiles with only the C library, and reports an issue",
        .enabled(if: TestBinaries.compiler != nil, "there is no C compiler"))
    func cExample() async throws {
        let compiler = try #require(TestBinaries.compiler)
        try await DaemonFixture.with { daemon in
            let program = daemon.folder["report"]
            let source = "\(TestBinaries.repository)Examples/c/report.c"
            let compiled = try run(
                compiler,
                ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", program, source], daemon, name: "cc")
            #expect(compiled.end == .exit(0), "\(compiled.errors)")
            let message = "A \"quoted\" path \\ in\tC"
            let ran = try run(program, [message], daemon)
            #expect(ran.end == .exit(0), "\(ran.output) \(ran.errors)")
            #expect(try RawClient(path: daemon.socket).allRecords().map(\.record.message) == [message])
        }
    }

    @Test("The shell example reports with issuectl, and prints an id for each record")
    func shellExample() async throws {
        try await DaemonFixture.with { daemon in
            let binaries = String(try TestBinaries.path(of: "issuectl").dropLast("/issuectl".count))
            let ran = try run(
                "/bin/sh", ["\(TestBinaries.repository)Examples/shell/report.sh"], daemon,
                path: "\(binaries):/usr/bin:/bin")
            #expect(ran.end == .exit(0), "\(ran.errors)")
            let records = try RawClient(path: daemon.socket).allRecords()
            #expect(records.count == 3)
            #expect(Set(ran.output.split(separator: "\n").map { String($0) }) == Set(records.map(\.id)))
            #expect(records.contains { $0.record.severity == .critical })
            // Two of the records name no application.
            #expect(Set(records.map(\.record.app?.name)) == ["nightly-backup", "report.sh"])
        }
    }
}

extension TestBinaries {
    fileprivate static var compiler: String? { tool("/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang") }
}
