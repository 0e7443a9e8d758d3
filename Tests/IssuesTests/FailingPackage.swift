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
        let scratch = try ScratchFolder()
        var environment = environment
        // No daemon of this host hears of it.
        environment["ISSUED_SOCKET"] = environment["ISSUED_SOCKET"] ?? ""
        let child = try ChildProcess(
            "\(folder ?? "")/\(configuration)/\(program)", arguments, in: scratch, name: "child",
            environment: environment)
        let end = try child.end(within: .seconds(60))
        return Result(end: end, text: child.output + child.errors)
    }
}
