internal import IssueWire

/// Assertions that also report in release builds.
///
/// A failure is reported first, with its source location, in every build. Then the behaviour is the same as in Swift:
/// `assert` traps in debug builds only; preconditions and fatal errors trap in release builds, too. With
/// `ErrorResponders.root = [.discard]`, `assert` and `assertionFailure` neither report nor trap.
///
/// To use an assertion under Swift's own name, define the function in one file of the application:
///
/// ```swift
/// func assert(
///     _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String = "",
///     fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
/// ) {
///     Reported.assert(condition(), message(), fileID: fileID, filePath: filePath, line: line, column: column)
/// }
/// ```
///
/// The functions are members of a type, because a global `assert` would silently replace Swift's in every file that
/// imports this library.
public enum Reported {
    /// Reports a failure if a condition is false, and then traps in debug builds.
    ///
    /// Unlike Swift's `assert`, this function evaluates the condition in release builds too.
    ///
    /// - Parameters:
    ///   - condition: The condition to check.
    ///   - message: The reason to report. Evaluated only if the condition is false.
    ///   - fileID: The file ID of the reported location. Defaults to the caller's.
    ///   - filePath: The file path of the reported location. Defaults to the caller's.
    ///   - line: The line of the reported location. Defaults to the caller's.
    ///   - column: The column of the reported location. Defaults to the caller's.
    public static func assert(
        _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> IssueText,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        guard !condition() else { return }
        assertionFailure(message(), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports a failure if a condition is false, and then traps in debug builds.
    ///
    /// This version is for a call without a message, or with a message that is not a literal.
    /// Otherwise the same as the version with an ``IssueText``.
    @_disfavoredOverload
    public static func assert(
        _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        guard !condition() else { return }
        assertionFailure(
            IssueText(plain: message() ?? ""), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports a failure if a condition is false, and then traps in debug builds.
    ///
    /// This version is for a condition that is a closure. Otherwise the same as the version with an expression.
    public static func assert(
        _ message: @autoclosure () -> IssueText,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
        condition: () -> Bool
    ) {
        guard !condition() else { return }
        assertionFailure(message(), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports a failure if a condition is false, and then traps in debug builds.
    ///
    /// This version is for a call without a message, or with a message that is not a literal.
    /// Otherwise the same as the version with an ``IssueText``.
    @_disfavoredOverload
    public static func assert(
        _ message: @autoclosure () -> String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
        condition: () -> Bool
    ) {
        guard !condition() else { return }
        assertionFailure(
            IssueText(plain: message() ?? ""), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports that unreachable code was reached, and then traps in debug builds.
    ///
    /// - Parameters:
    ///   - message: The reason to report.
    ///   - fileID: The file ID of the reported location. Defaults to the caller's.
    ///   - filePath: The file path of the reported location. Defaults to the caller's.
    ///   - line: The line of the reported location. Defaults to the caller's.
    ///   - column: The column of the reported location. Defaults to the caller's.
    public static func assertionFailure(
        _ message: @autoclosure () -> IssueText,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        let message = message()
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
        let outcome = Reported.Failure.report(.assertion, message, at: site)
        guard outcome != .discarded, Reported.Failure.traps else { return }
        ShutdownFlush.run()
        // Sanitised, since Swift writes the message verbatim to standard error.
        Swift.assertionFailure(TerminalSanitizer.line(RedactionHook.text(message.text)), file: fileID, line: line)
    }

    /// Reports that unreachable code was reached, and then traps in debug builds.
    ///
    /// This version is for a call without a message, or with a message that is not a literal.
    /// Otherwise the same as the version with an ``IssueText``.
    @_disfavoredOverload
    public static func assertionFailure(
        _ message: @autoclosure () -> String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        assertionFailure(
            IssueText(plain: message() ?? ""), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports a failure and traps if a condition is false.
    ///
    /// - Parameters:
    ///   - condition: The condition to check.
    ///   - message: The reason to report. Evaluated only if the condition is false.
    ///   - fileID: The file ID of the reported location. Defaults to the caller's.
    ///   - filePath: The file path of the reported location. Defaults to the caller's.
    ///   - line: The line of the reported location. Defaults to the caller's.
    ///   - column: The column of the reported location. Defaults to the caller's.
    public static func precondition(
        _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> IssueText,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        guard !condition() else { return }
        preconditionFailure(message(), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports a failure and traps if a condition is false.
    ///
    /// This version is for a call without a message, or with a message that is not a literal.
    /// Otherwise the same as the version with an ``IssueText``.
    @_disfavoredOverload
    public static func precondition(
        _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        guard !condition() else { return }
        preconditionFailure(
            IssueText(plain: message() ?? ""), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports that unreachable code was reached, and traps.
    ///
    /// - Parameters:
    ///   - message: The reason to report.
    ///   - fileID: The file ID of the reported location. Defaults to the caller's.
    ///   - filePath: The file path of the reported location. Defaults to the caller's.
    ///   - line: The line of the reported location. Defaults to the caller's.
    ///   - column: The column of the reported location. Defaults to the caller's.
    public static func preconditionFailure(
        _ message: @autoclosure () -> IssueText,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> Never {
        let message = message()
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
        _ = Reported.Failure.report(.precondition, message, at: site)
        ShutdownFlush.run()
        Swift.preconditionFailure(TerminalSanitizer.line(RedactionHook.text(message.text)), file: fileID, line: line)
    }

    /// Reports that unreachable code was reached, and traps.
    ///
    /// This version is for a call without a message, or with a message that is not a literal.
    /// Otherwise the same as the version with an ``IssueText``.
    @_disfavoredOverload
    public static func preconditionFailure(
        _ message: @autoclosure () -> String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> Never {
        preconditionFailure(
            IssueText(plain: message() ?? ""), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports that the program cannot continue, and traps.
    ///
    /// - Parameters:
    ///   - message: The reason to report.
    ///   - fileID: The file ID of the reported location. Defaults to the caller's.
    ///   - filePath: The file path of the reported location. Defaults to the caller's.
    ///   - line: The line of the reported location. Defaults to the caller's.
    ///   - column: The column of the reported location. Defaults to the caller's.
    public static func fatalError(
        _ message: @autoclosure () -> IssueText,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> Never {
        let message = message()
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
        _ = Reported.Failure.report(.fatalError, message, at: site)
        ShutdownFlush.run()
        Swift.fatalError(TerminalSanitizer.line(RedactionHook.text(message.text)), file: fileID, line: line)
    }

    /// Reports that the program cannot continue, and traps.
    ///
    /// This version is for a call without a message, or with a message that is not a literal.
    /// Otherwise the same as the version with an ``IssueText``.
    @_disfavoredOverload
    public static func fatalError(
        _ message: @autoclosure () -> String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> Never {
        fatalError(IssueText(plain: message() ?? ""), fileID: fileID, filePath: filePath, line: line, column: column)
    }
}

extension Reported {
    /// The error that is reported for a failed assertion.
    public struct Failure: ReportableError, Hashable, CustomStringConvertible {
        /// The kind of an assertion.
        public enum Kind: String, Hashable, Sendable {
            /// `Reported.assert` or `Reported.assertionFailure`.
            case assertion
            /// `Reported.precondition` or `Reported.preconditionFailure`.
            case precondition
            /// `Reported.fatalError`.
            case fatalError
        }

        /// The domain of these errors, `Issues.AssertionFailure`.
        public static var domain: String { "Issues.AssertionFailure" }

        /// The kind of the assertion.
        public var kind: Kind
        /// The reason for the failure, or "no reason" if none was given.
        public var message: String {
            didSet { values = IssueText.Values(isKnown: false) }
        }
        /// The line and the file name, for example `42_Cart.swift`.
        public var name: String

        /// The values that the reason contains.
        private var values: IssueText.Values

        /// Metadata with the name.
        public var userInfo: IssueMetadata { ["name": .init(name)] }

        /// The kind and the reason.
        public var description: String {
            switch kind {
            case .assertion: "Assertion failed: \(message)"
            case .precondition: "Precondition failed: \(message)"
            case .fatalError: "Fatal error: \(message)"
            }
        }
    }
}

extension Reported.Failure {
    public static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.message == right.message && left.name == right.name
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(message)
        hasher.combine(name)
    }

    /// Returns the values in a text that ends with the reason.
    func values(in text: String) -> IssueText.Values {
        values.shifted(by: text.utf8.count - message.utf8.count)
    }

    /// The message of a failure without a reason.
    static let noReason = "no reason"

    /// Whether Swift's `assert` traps in this build.
    static var traps: Bool { _isDebugAssertConfiguration() }

    /// Reports a failed assertion.
    fileprivate static func report(_ kind: Kind, _ message: IssueText, at site: IssueSite) -> ReportOutcome {
        let message = message.text.isEmpty ? IssueText(stringLiteral: noReason) : message
        let error = Self(kind: kind, message: message.text, name: site.name, values: message.values)
        let level: IssueLevel = kind == .assertion ? .error : .critical
        return Reporting.report(error, { nil }, level: level, at: site)
    }
}
