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

/// Turns a report into a failure of the test that runs.
enum TestFailure {
    /// Records the report, or answers false if no test library could be told.
    static func record(_ report: IssueReport) -> Bool {
        let isWarning = report.level.severity == .warning
        if TestRun.usesSwiftTesting {
            if let error = report.error, !isWarning {
                return TestingLibrary.record(error, CaughtError.words(error, words(of: report)), at: report.site)
            }
            return TestingLibrary.record(text(of: report), isWarning: isWarning, at: report.site)
        }
        // XCTest knows no warnings, and a warning fails no test.
        guard !isWarning else { return false }
        return XCTestLibrary.fail(text(of: report) ?? "", at: report.site)
    }

    /// All that is said, the error's words included.
    private static func text(of report: IssueReport) -> String? {
        guard let error = report.error else { return words(of: report) }
        return CaughtError.text(error, words(of: report))
    }

    /// What the caller said; nil if that is nothing.
    private static func words(of report: IssueReport) -> String? {
        let words = report.error == nil ? report.ownMessage : report.note
        guard !report.metadata.isEmpty else { return words }
        return [words, report.metadata.description].compactMap(\.self).joined(separator: " ")
    }
}

extension IssueReport {
    /// The message, unless nobody gave one.
    fileprivate var ownMessage: String? {
        note == nil && message == Self.defaultMessage ? nil : message
    }
}

/// XCTest as this process has loaded it, by its public functions.
enum XCTestLibrary {
    private static let failName = "$s6XCTest7XCTFail_4file4lineySS_s12StaticStringVSutF"

    /// Whether this process has it.
    static var isLoaded: Bool {
        // A program that is linked statically has the type, and names no functions to those who ask.
        LoadedSymbols.has(failName) || _typeByName("6XCTest10XCTestCaseC") != nil
    }

    /// Fails the test that runs; false if the library cannot be reached.
    static func fail(_ message: String, at site: IssueSite) -> Bool {
        guard
            let fail = unsafe LoadedSymbols.function(
                failName, as: (@convention(thin) (String, StaticString, UInt) -> Void).self)
        else { return false }
        fail(message, site.filePath, site.line)
        return true
    }
}
