import IssueTestSupport
import UnixIO

/// The package of tests and programs that are expected to fail. `scripts/test` builds it.
enum FailingPackage {
    /// The build configuration.
    enum Configuration: String, CaseIterable, Sendable {
        case debug
        case release

    }

    /// The library that runs a test.
    enum Library: Sendable {
        case swiftTesting
        case xcTest
    }

    /// The result of a process.
    struct Result: Sendable {
        var end: ChildProcess.End
        /// The text on standard error, followed by the text on standard output.
        var text: String
    }

    /// The build folder; nil if the package was not built.
    static let folder = ProcessEnvironment["ISSUED_TEST_FAILING"].flatMap { $0.isEmpty ? nil : $0 }

    /// Runs one test in the same way as SwiftPM.
    static func run(_ test: String, by library: Library, _ configuration: Configuration) async throws -> Result {
        let arguments =
            switch library {
            case .swiftTesting: ["--testing-library", "swift-testing", "--filter", "Failing/\(test)\\(\\)"]
            case .xcTest: ["FailingXCTest.Failing/\(test)"]
            }
        return try await start("failingPackageTests.xctest", arguments, configuration)
    }

    /// Runs a program of the package.
    static func start(
        _ program: String, _ arguments: [String], _ configuration: Configuration, environment: [String: String] = [:]
    ) async throws -> Result {
        // A program must not report to the host's daemon.
        let environment = ["ISSUED_SOCKET": ""].merging(environment) { $1 }
        return try await run(path(of: program, configuration), arguments, environment: environment)
    }

    /// Returns the path of a program.
    static func path(of program: String, _ configuration: Configuration) -> String {
        "\(folder ?? "")/\(configuration)/\(program)"
    }

    /// Runs any program until it ends.
    static func run(
        _ program: String, _ arguments: [String], environment: [String: String]
    ) async throws -> Result {
        try await onThread {
            acquireSlot()
            defer { releaseSlot() }
            let scratch = try ScratchFolder()
            let child = try ChildProcess(program, arguments, in: scratch, name: "child", environment: environment)
            let end = try child.end()
            return Result(end: end, text: child.errors + child.output)
        }
    }

    // MARK: Slots

    /// The number of programs that may start in addition to the running ones. If all programs ran at once, some would
    /// exceed their timeout.
    private static let slots = Monitor(4)

    private static func acquireSlot() {
        _ = slots.wait { slots -> Bool? in
            guard slots > 0 else { return nil }
            slots -= 1
            return true
        }
    }

    private static func releaseSlot() {
        slots.withLock { $0 += 1 }
        slots.signal()
    }
}
