import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import UnixIO

/// A program of `Tests/Failing` with its expected behaviour.
private struct FailingProgram: CustomTestStringConvertible, Sendable {
    var name: String
    /// The text that the output must contain.
    var reports: String
    var traps: (debug: Bool, release: Bool)

    var testDescription: String { name }

    init(_ name: String, reports: String, debug: Bool, release: Bool) {
        self.name = name
        self.reports = reports
        traps = (debug, release)
    }

    func traps(_ configuration: FailingPackage.Configuration) -> Bool {
        switch configuration {
        case .debug: traps.debug
        case .release: traps.release
        }
    }
}

private let assertions = [
    FailingProgram("assert", reports: "mishaps/main.swift:6: error: ", debug: true, release: false),
    FailingProgram("assert-closure", reports: "mishaps/main.swift:8: error: ", debug: true, release: false),
    FailingProgram("assert-no-reason", reports: "Assertion failed: no reason", debug: true, release: false),
    FailingProgram(
        "assertionFailure", reports: "Assertion failed: text of assertionFailure", debug: true, release: false),
    FailingProgram(
        "precondition", reports: "critical: Precondition failed: text", debug: true, release: true),
    FailingProgram(
        "preconditionFailure", reports: "Precondition failed: text of preconditionFailure", debug: true, release: true),
    FailingProgram("fatalError", reports: "Fatal error: text of fatalError", debug: true, release: true),
    FailingProgram("trapUnhandled", reports: "error: text of unhandled", debug: true, release: false),
]

@Suite(
    "Programs that fail or trap",
    .enabled(
        if: FailingPackage.folder != nil, "scripts/test builds Tests/Failing and sets ISSUED_TEST_FAILING"))
struct MishapTests {
    @Test(
        "A failed assertion is reported, and then traps if Swift's own assertion traps in the same build",
        arguments: FailingPackage.Configuration.allCases, assertions)
    fileprivate func assertion(configuration: FailingPackage.Configuration, program: FailingProgram) async throws {
        let result = try await FailingPackage.start("mishaps", [program.name], configuration)
        #expect(result.text.contains(program.reports), "\(result.text)")
        #expect(result.hasTrapped == program.traps(configuration), "\(result.end) \(result.text)")
        #expect(result.text.contains("alive") != program.traps(configuration))
    }

    @Test(
        "An assertion that holds or is discarded neither reports nor traps",
        arguments: FailingPackage.Configuration.allCases)
    func nothing(configuration: FailingPackage.Configuration) async throws {
        for name in ["assert-holds", "discarded"] {
            let result = try await FailingPackage.start("mishaps", [name], configuration)
            #expect(result.text == "alive\n")
            #expect(result.end == .exit(0))
        }
    }

    @Test("The daemon receives the report before the program traps", arguments: FailingPackage.Configuration.allCases)
    func flushed(configuration: FailingPackage.Configuration) async throws {
        try await CollectorFixture.with { fixture in
            let result = try await FailingPackage.start(
                "mishaps", ["fatalError"], configuration, environment: ["ISSUED_SOCKET": fixture.path])
            #expect(result.hasTrapped)
            let record = try #require(fixture.collector?.stored.first?.record)
            #expect(record.message == "text of fatalError")
            #expect(record.severity == .critical)
            #expect(record.source?.fileID == "mishaps/main.swift")
            #expect(record.metadata?["name"]?.asString == "13_main.swift")
        }
    }

    @Test("The fatalError reporter ends the process", arguments: FailingPackage.Configuration.allCases)
    func fatalErrorReporter(configuration: FailingPackage.Configuration) async throws {
        let result = try await FailingPackage.start("mishaps", ["fatalErrorReporter"], configuration)
        #expect(result.hasTrapped)
        #expect(result.text.contains("text of fatal"))
    }

    @Test("The breakpoint reporter does not stop a program that is not being traced")
    func breakpoint() async throws {
        let free = try await FailingPackage.start("mishaps", ["breakpoint"], .debug)
        #expect(free.text == "mishaps/main.swift:30: error: text of breakpoint\nalive\n")
    }

    @Test(
        "The breakpoint reporter stops a program that is being traced",
        .enabled(if: TestBinaries.tool("/usr/bin/strace") != nil, "the test needs strace(1), which is not installed"))
    func tracedBreakpoint() async throws {
        let tracer = try #require(TestBinaries.tool("/usr/bin/strace"))
        let traced = try await FailingPackage.run(
            tracer, ["-o", "/dev/null", FailingPackage.path(of: "mishaps", .debug), "breakpoint"],
            environment: ["ISSUED_SOCKET": ""])
        #expect(!traced.text.contains("alive"), "\(traced.end) \(traced.text)")
    }

    @Test(
        "Without a test library, no argument makes a program a test",
        arguments: FailingPackage.Configuration.allCases)
    func argument(configuration: FailingPackage.Configuration) async throws {
        let result = try await FailingPackage.start(
            "mishaps", ["isTesting", "Foo.xctest", "--testing-library", "swift-testing"], configuration)
        #expect(result.text == "false no context\nalive\n")
    }

    @Test(
        "A program that links a test library but runs no tests reports to the daemon",
        arguments: ["links-testing", "links-xctest"], FailingPackage.Configuration.allCases)
    func production(program: String, configuration: FailingPackage.Configuration) async throws {
        try await CollectorFixture.with { fixture in
            let result = try await FailingPackage.start(
                program, ["Foo.xctest"], configuration, environment: ["ISSUED_SOCKET": fixture.path])
            #expect(result.text.contains("error: text from production\n"))
            #expect(result.text.hasSuffix("false true\n"))
            #expect(fixture.collector?.stored.map(\.record.message) == ["text from production"])
            // A program is a test only if it has a test library and was started like this.
            let asTest = try await FailingPackage.start(
                program, ["--testing-library", "swift-testing"], configuration,
                environment: ["ISSUED_SOCKET": fixture.path])
            #expect(asTest.text.hasSuffix("true true\n"))
            #expect(fixture.collector?.stored.count == 1)
        }
    }

    @Test("An unchanged package that depends on swift-issue-reporting reports through Issues")
    func otherPackage() async throws {
        let result = try await FailingPackage.start("moved-over", [], .debug)
        #expect(result.text.contains("Turnstile/Turnstile.swift:7: error: Passing the turnstile: Locked()"))
        #expect(result.end == .exit(0))
    }

    @Test("Outside tests, a known issue is printed with the word expected, and its absence is reported")
    func known() async throws {
        let result = try await FailingPackage.start("mishaps", ["known"], .release)
        #expect(
            result.text.contains(
                "expected: text of issue\nmishaps/main.swift:34: error: Known issue was not recorded: text of missing\n"
            ),
            "\(result.text)")
    }
}

extension FailingPackage.Result {
    /// Whether the process ended with a signal that Swift's traps raise.
    fileprivate var hasTrapped: Bool {
        end == .signal(4) || end == .signal(5)
    }
}
