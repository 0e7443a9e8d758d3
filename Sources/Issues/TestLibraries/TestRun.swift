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

    /// Whether a test library is loaded, or a variable says so.
    static let isThere: Bool = {
        if TestingTypes.loaded != nil || XCTestLibrary.isLoaded { return true }
        // Set by those who run tests that are linked in other ways. An argument
        // never counts: a program may be given a file that ends in .xctest.
        let variables = [
            "BAZEL_TEST", "XCTestBundlePath", "XCTestBundleInjectPath", "XCTestConfigurationFilePath",
            "XCTestSessionIdentifier",
        ]
        return variables.contains { Environment[$0] != nil }
    }()
}
