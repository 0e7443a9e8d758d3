internal import UnixIO

/// Which library runs the tests of this process.
enum TestRun {
    /// Whether this process was started to run tests of Swift Testing.
    ///
    /// SwiftPM starts the same file twice, for one library after the other, and
    /// each loads both. Code that has left a test's task knows of no test, so the
    /// process is asked and not the task.
    static let isOfSwiftTesting: Bool = {
        var arguments = CommandLine.arguments.makeIterator()
        while let argument = arguments.next() {
            guard argument == "--testing-library" else { continue }
            return arguments.next()?.lowercased() == "swift-testing"
        }
        return false
    }()

    /// Whether what is recorded now belongs to Swift Testing, and not to XCTest.
    ///
    /// Other programs than SwiftPM's run tests in a process of their own making;
    /// there a test's task is the only sign.
    static var usesSwiftTesting: Bool {
        isOfSwiftTesting || TestingLibrary.currentTest != nil
    }

    /// Whether this process runs tests: a test library is loaded, and something says that it was started for that.
    ///
    /// The library alone says little. A program in production loads one as soon
    /// as it links any package with helpers for tests.
    static let isThere: Bool = {
        // The caller of a setuid program must not be able to keep it from reporting.
        guard !CurrentProcess.isPrivileged, TestingTypes.loaded != nil || XCTestLibrary.isLoaded else { return false }
        return isAnnounced(
            executable: CurrentProcess.executable, arguments: CommandLine.arguments, variable: { Environment[$0] })
    }()

    /// Whether a process is started as those are that run tests.
    ///
    /// Only the executable's own name counts: a program may be given a file
    /// that ends in .xctest.
    static func isAnnounced(executable: String?, arguments: [String], variable: (String) -> String?) -> Bool {
        if let name = executable?.split(separator: "/").last,
            name.hasSuffix(".xctest") || name == "xctest" || name == "swiftpm-testing-helper"
        {
            return true
        }
        if arguments.dropFirst().contains(where: { $0 == "--testing-library" || $0.hasPrefix("--testing-library=") }) {
            return true
        }
        // Set by other test runners.
        let variables = [
            "BAZEL_TEST", "XCTestBundlePath", "XCTestBundleInjectPath", "XCTestConfigurationFilePath",
            "XCTestSessionIdentifier",
        ]
        return variables.contains { variable($0) != nil }
    }
}
