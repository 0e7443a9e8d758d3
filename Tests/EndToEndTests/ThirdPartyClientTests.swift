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
        let end = try process.end(within: .seconds(60))
        return (end, process.output, process.errors)
    }

    @Test(
        "The Python package varlink introspects, reports, pages, streams and gets proper errors",
        .enabled(if: TestBinaries.python != nil, "scripts/dependencies test installs the package varlink"))
    func varlinkForPython() async throws {
        let python = try #require(TestBinaries.python)
        try await DaemonFixture.with { daemon in
            let script = "\(TestBinaries.repository)Tests/EndToEndTests/varlink_client.py"
            let file = "\(TestBinaries.repository)Documentation/org.issued.Collector.varlink"
            let ran = try run(python, [script, daemon.socket, file], daemon)
            #expect(ran.end == .exit(0), "\(ran.output)\n\(ran.errors)")
            #expect(ran.output.hasSuffix("all is well\n"))
            // The daemon's state matches the program's output.
            #expect(try RawClient(path: daemon.socket).status().received == 12)
        }
    }

    @Test("The Python example, without any library, reports an issue and prints its id")
    func pythonExample() async throws {
        guard let python = TestBinaries.tool("/usr/bin/python3", "/usr/local/bin/python3") ?? TestBinaries.python else {
            throw Missing("python3")
        }
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
        }
    }

    private struct Missing: Error {
        init(_ tool: String) { self.tool = tool }
        let tool: String
    }
}

extension TestBinaries {
    fileprivate static var compiler: String? { tool("/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang") }
}
