internal import UnixIO

/// Whether this process runs tests.
///
/// The value is determined once, from the test libraries that are loaded and from how the process was started: its
/// executable's name, its arguments, and the variables that Bazel and other runners set. It is always `false` in a
/// process with more privileges than its caller, such as a setuid program. For the test that the current task runs,
/// see ``TestContext/current``.
public let isTesting: Bool = TestRun.isActive

/// The kind of test that is running.
public enum TestContext: Equatable, Sendable {
    /// A test of Swift Testing. The associated value is nil outside the test's task, for example in a detached task.
    case swiftTesting(Testing?)
    /// A test of XCTest.
    case xcTest

    /// The kind of test that is running. Nil if this process does not run tests.
    ///
    /// Outside the task of a test of Swift Testing, this is `xcTest` unless the option `--testing-library` of the
    /// process selects Swift Testing.
    public static var current: Self? {
        guard isTesting else { return nil }
        if let test = TestingLibrary.currentTest {
            let id = Testing.Test.ID(rawValue: test.id)
            return .swiftTesting(Testing(test: Testing.Test(id: id, traits: test.traits)))
        }
        return TestRun.isOfSwiftTesting ? .swiftTesting(nil) : .xcTest
    }

    /// Whether Swift Testing runs the test.
    public var isSwiftTesting: Bool { self != .xcTest }

    /// The information that Swift Testing provides about a test.
    public struct Testing: Equatable, Sendable {
        /// The test that is running.
        public let test: Test

        /// A test of Swift Testing. Two tests are equal if their ids are.
        public struct Test: Equatable, Hashable, Identifiable, Sendable {
            /// The id of the test.
            public let id: ID
            /// The traits of the test.
            public let traits: [any Sendable]

            public static func == (left: Self, right: Self) -> Bool { left.id == right.id }

            public func hash(into hasher: inout Hasher) { hasher.combine(id) }

            /// The id of a test in Swift Testing.
            public struct ID: Equatable, Hashable, @unchecked Sendable {
                // Testing's own ids are Sendable, but AnyHashable does not show it.
                /// The id as a value of Swift Testing's own type `Test.ID`.
                public let rawValue: AnyHashable
            }
        }
    }
}

/// Determines whether this process runs tests, and with which library.
enum TestRun {
    /// Whether SwiftPM started this process to run tests of Swift Testing.
    ///
    /// SwiftPM runs the same executable once for each library, and each run loads both libraries. Code outside a test's
    /// task cannot see the current test, so this property describes the process instead of the task.
    static let isOfSwiftTesting: Bool = {
        let arguments = CommandLine.arguments
        guard let index = arguments.firstIndex(where: isLibraryOption) else { return false }
        let option = arguments[index].split(separator: "=", maxSplits: 1)
        let value = option.count > 1 ? String(option[1]) : arguments.dropFirst(index + 1).first
        return value?.lowercased() == "swift-testing"
    }()

    /// Returns `true` for the option that names the library, with or without its value.
    private static func isLibraryOption(_ argument: String) -> Bool {
        argument == "--testing-library" || argument.hasPrefix("--testing-library=")
    }

    /// Whether an issue that is recorded now belongs to Swift Testing rather than XCTest.
    ///
    /// Test runners other than SwiftPM do not pass `--testing-library`. There, only the current task shows that a test
    /// of Swift Testing is running.
    static var usesSwiftTesting: Bool {
        isOfSwiftTesting || TestingLibrary.currentTest != nil
    }

    /// Whether this process runs tests: it has loaded a test library, and was started to run tests. Always `false` in a
    /// process with more privileges than its caller.
    ///
    /// A loaded library is not enough, since a production program loads one as soon as it links any package that
    /// contains test helpers.
    static let isActive: Bool = {
        // The caller of a setuid program must not be able to prevent it from reporting.
        guard !CurrentProcess.isPrivileged, TestingTypes.loaded != nil || XCTestLibrary.isLoaded else { return false }
        return isStartedAsTest(
            executable: CurrentProcess.executable, arguments: CommandLine.arguments,
            variable: { ProcessEnvironment[$0] })
    }()

    /// Returns `true` if a process was started as a test run.
    ///
    /// The suffix .xctest counts only in the executable's name: a program may be given such a file as an argument.
    static func isStartedAsTest(executable: String?, arguments: [String], variable: (String) -> String?) -> Bool {
        if let name = executable?.split(separator: "/").last,
            name.hasSuffix(".xctest") || name == "xctest" || name == "swiftpm-testing-helper"
        {
            return true
        }
        if arguments.dropFirst().contains(where: isLibraryOption) { return true }
        // Variables of other test runners.
        let variables = [
            "BAZEL_TEST", "XCTestBundlePath", "XCTestBundleInjectPath", "XCTestConfigurationFilePath",
            "XCTestSessionIdentifier",
        ]
        return variables.contains { variable($0) != nil }
    }
}

/// Records reports as failures or warnings of the running test.
enum TestFailure {
    /// Records the report as a warning if its level is `warning` or lower, otherwise as a failure. Returns false if it
    /// could not be recorded: no test library could be called, or the report is a warning and the library is XCTest.
    static func record(_ report: IssueReport) -> Bool {
        let isWarning = report.level.severity == .warning
        if TestRun.usesSwiftTesting {
            if let error = report.error, !isWarning {
                return TestingLibrary.record(error, CaughtError.detail(error, callerText(of: report)), at: report.site)
            }
            return TestingLibrary.record(text(of: report), isWarning: isWarning, at: report.site)
        }
        // XCTest has no warnings, and a warning must not fail a test.
        guard !isWarning else { return false }
        return XCTestLibrary.fail(text(of: report) ?? "", at: report.site)
    }

    /// Returns the whole text of the report, including the error's. Nil if there is none.
    private static func text(of report: IssueReport) -> String? {
        guard let error = report.error else { return callerText(of: report) }
        return RedactionHook.text(CaughtError.text(error, callerText(of: report)))
    }

    /// Returns the caller's message and the report's metadata; nil if there is neither.
    private static func callerText(of report: IssueReport) -> String? {
        let isDefault = report.note == nil && report.message == IssueReport.defaultMessage
        let message = report.error != nil ? report.note : isDefault ? nil : report.message
        guard !report.metadata.isEmpty else { return message }
        return [message, report.metadata.description].compactMap(\.self).joined(separator: " ")
    }
}

/// Calls public functions of XCTest if this process has loaded it.
enum XCTestLibrary {
    private static let failName = "$s6XCTest7XCTFail_4file4lineySS_s12StaticStringVSutF"

    /// Whether this process has loaded XCTest.
    static var isLoaded: Bool {
        // A statically linked program contains the type, but does not export the functions.
        LoadedSymbols.has(failName) || _typeByName("6XCTest10XCTestCaseC") != nil
    }

    /// Fails the running test. Returns false if the library cannot be called.
    static func fail(_ message: String, at site: IssueSite) -> Bool {
        guard
            let fail = unsafe LoadedSymbols.function(
                failName, as: (@convention(thin) (String, StaticString, UInt) -> Void).self)
        else { return false }
        fail(message, site.filePath, site.line)
        return true
    }
}
