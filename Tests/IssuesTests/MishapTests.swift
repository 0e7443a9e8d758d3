import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import UnixIO

/// What a program of `Tests/Failing` must do.
private struct Mishap: CustomTestStringConvertible, Sendable {
    var name: String
    /// What it must report before anything else.
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
    Mishap("assert", reports: "mishaps/main.swift:6: error: ", debug: true, release: false),
    Mishap("assert-closure", reports: "mishaps/main.swift:8: error: ", debug: true, release: false),
    Mishap("assert-no-reason", reports: "Assertion failed: no reason", debug: true, release: false),
    Mishap("assertionFailure", reports: "Assertion failed: text of assertionFailure", debug: true, release: false),
    Mishap("precondition", reports: "critical: Caught error: Precondition failed: text", debug: true, release: true),
    Mishap(
        "preconditionFailure", reports: "Precondition failed: text of preconditionFailure", debug: true, release: true),
    Mishap("fatalError", reports: "Fatal error: text of fatalError", debug: true, release: true),
    Mishap("trapUnhandled", reports: "error: text of unhandled", debug: true, release: false),
]

@Suite(
    "Programs to which something happens",
    .enabled(
        if: FailingPackage.folder != nil, "scripts/test builds Tests/Failing, and says where in ISSUED_TEST_FAILING"))
struct MishapTests {
    @Test(
        "An assertion is reported with its exact place, then traps where Swift's does",
        arguments: FailingPackage.Configuration.allCases, assertions)
    fileprivate func assertion(configuration: FailingPackage.Configuration, mishap: Mishap) throws {
        let result = try FailingPackage.start("mishaps", [mishap.name], configuration)
        #expect(result.text.contains(mishap.reports), "\(result.text)")
        #expect(result.hasTrapped == mishap.traps(configuration), "\(result.end) \(result.text)")
        #expect(result.text.contains("alive") != mishap.traps(configuration))
    }

    @Test("What holds, or is discarded, neither reports nor traps", arguments: FailingPackage.Configuration.allCases)
    func nothing(configuration: FailingPackage.Configuration) throws {
        for name in ["assert-holds", "discarded"] {
            let result = try FailingPackage.start("mishaps", [name], configuration)
            #expect(result.text == "alive\n")
            #expect(result.end == .exit(0))
        }
    }

    @Test("The daemon has the report before the program traps", arguments: FailingPackage.Configuration.allCases)
    func flushed(configuration: FailingPackage.Configuration) async throws {
        try await Desk.with { desk in
            let result = try FailingPackage.start(
                "mishaps", ["fatalError"], configuration, environment: ["ISSUED_SOCKET": desk.path])
            #expect(result.hasTrapped)
            let record = try #require(desk.collector?.stored.first?.record)
            #expect(record.message == "text of fatalError")
            #expect(record.severity == .critical)
            #expect(record.source?.fileID == "mishaps/main.swift")
            #expect(record.metadata?["name"]?.asString == "13_main.swift")
        }
    }

    @Test("The reporter that ends the process does", arguments: FailingPackage.Configuration.allCases)
    func fatalErrorReporter(configuration: FailingPackage.Configuration) throws {
        let result = try FailingPackage.start("mishaps", ["fatalErrorReporter"], configuration)
        #expect(result.hasTrapped)
        #expect(result.text.contains("text of fatal"))
    }

    @Test("The reporter for debuggers stops a program that is traced, and no other")
    func breakpoint() throws {
        let free = try FailingPackage.start("mishaps", ["breakpoint"], .debug)
        #expect(free.text == "mishaps/main.swift:30: error: text of breakpoint\nalive\n")
        guard let tracer = TestBinaries.tool("/usr/bin/strace") else { return }
        let traced = try FailingPackage.run(
            tracer, ["-o", "/dev/null", FailingPackage.path(of: "mishaps", .debug), "breakpoint"],
            environment: ["ISSUED_SOCKET": ""])
        #expect(!traced.text.contains("alive"), "\(traced.end) \(traced.text)")
    }

    @Test("An argument makes no test of a program", arguments: FailingPackage.Configuration.allCases)
    func argument(configuration: FailingPackage.Configuration) throws {
        let result = try FailingPackage.start(
            "mishaps", ["isTesting", "Foo.xctest", "--testing-library", "swift-testing"], configuration)
        #expect(result.text == "false no context\nalive\n")
    }

    @Test(
        "A program that has a test library and runs no tests reports to the daemon",
        arguments: ["links-testing", "links-xctest"], FailingPackage.Configuration.allCases)
    func production(program: String, configuration: FailingPackage.Configuration) async throws {
        try await Desk.with { desk in
            let result = try FailingPackage.start(
                program, ["Foo.xctest"], configuration, environment: ["ISSUED_SOCKET": desk.path])
            #expect(result.text.contains("error: text from production\n"))
            #expect(result.text.hasSuffix("false true\n"))
            #expect(desk.collector?.stored.map(\.record.message) == ["text from production"])
            // The library alone does not say so, nor does the start alone.
            let asTest = try FailingPackage.start(
                program, ["--testing-library", "swift-testing"], configuration,
                environment: ["ISSUED_SOCKET": desk.path])
            #expect(asTest.text.hasSuffix("true true\n"))
            #expect(desk.collector?.stored.count == 1)
        }
    }

    @Test("Outside tests too, known issues are expected, and missing ones reported")
    func known() throws {
        let result = try FailingPackage.start("mishaps", ["known"], .release)
        #expect(
            result.text.contains(
                "expected: text of issue\nmishaps/main.swift:34: error: Known issue was not recorded: text of missing\n"
            ),
            "\(result.text)")
    }
}

extension FailingPackage.Result {
    /// Whether Swift ended it: by the signal that its traps raise.
    fileprivate var hasTrapped: Bool {
        end == .signal(4) || end == .signal(5)
    }
}
