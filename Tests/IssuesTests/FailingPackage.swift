import IssueTestSupport
import UnixIO

/// The package of tests and programs that are expected to fail, as `scripts/test` has built it.
enum FailingPackage {
    /// How it was built.
    enum Configuration: String, CaseIterable, Sendable {
        case debug
        case release

    }

    /// A way to start its tests.
    enum Library: Sendable {
        case swiftTesting
        case xcTest
    }

    /// How a process of it ended.
    struct Result: Sendable {
        var end: ChildProcess.End
        /// All that it wrote.
        var text: String
    }

    /// Where it is built; nil if nobody has built it for these tests.
    static let folder = Environment["ISSUED_TEST_FAILING"].flatMap { $0.isEmpty ? nil : $0 }

    /// Runs one test, as SwiftPM would.
    static func run(_ test: String, by library: Library, _ configuration: Configuration) throws -> Result {
        let arguments =
            switch library {
            case .swiftTesting: ["--testing-library", "swift-testing", "--filter", "Failing/\(test)\\(\\)"]
            case .xcTest: ["FailingXCTest.Failing/\(test)"]
            }
        return try start("failingPackageTests.xctest", arguments, configuration)
    }

    /// Runs a program.
    static func start(
        _ program: String, _ arguments: [String], _ configuration: Configuration, environment: [String: String] = [:]
    ) throws -> Result {
        // No daemon of this host hears of it.
        let environment = ["ISSUED_SOCKET": ""].merging(environment) { $1 }
        return try run(path(of: program, configuration), arguments, environment: environment)
    }

    /// Where a program is.
    static func path(of program: String, _ configuration: Configuration) -> String {
        "\(folder ?? "")/\(configuration)/\(program)"
    }

    /// Runs any program to its end.
    static func run(_ program: String, _ arguments: [String], environment: [String: String]) throws -> Result {
        let scratch = try ScratchFolder()
        let child = try ChildProcess(program, arguments, in: scratch, name: "child", environment: environment)
        let end = try child.end(within: .seconds(60))
        return Result(end: end, text: child.errors + child.output)
    }
}
